// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// f32 arithmetic that gives the same bits on every device.
//
// Vulkan rounds +, - and * correctly, but allows 2.5 ulp for division. It lets subnormals be flushed or kept, and lets
// a device without signed-zero-inf-nan-preserve fold a comparison with NaN. So here division is exact, a subnormal
// counts as zero, and NaN is found by its bits. A caller marks products `precise`, so that no compiler fuses them into
// a sum.
//
// Of the operations only a product can be below 2^-126 and round up to it: docs/affine.md says why, and which do.
// Kernels that only convert small integers include the part `rounding_shift` alone.
$include "lib/float32.glsl" rounding_shift
$gives const uint kInfinity
$gives const uint kNan
$gives const uint kMagnitude
$gives const uint kSmallestNormal
$gives const int kLargestInt
$gives const int kSmallestInt
$gives bool is_finite(float x)
$gives bool is_nan(float x)
$gives float flush_subnormal(float x)
$gives float flush_product(float x)
$gives float divide(float numerator, float denominator)
$gives float divide_by_six(float x)
$gives float reciprocal(float x)
$gives float to_float(int x)
$gives int round_to_int(float x)
$gives uint round_to_uint(float x)
$gives int saturating_add(int a, int b)
$gives int saturating_subtract(int a, int b)

const uint kInfinity = 0x7f800000u;
const uint kNan = 0x7fc00000u;
const uint kMagnitude = 0x7fffffffu;
const uint kSmallestNormal = 0x00800000u;  // 2^-126
const int kLargestInt = 0x7fffffff;
const int kSmallestInt = -0x7fffffff - 1;

bool is_finite(float x) { return (floatBitsToUint(x) & kMagnitude) < kInfinity; }
bool is_nan(float x) { return (floatBitsToUint(x) & kMagnitude) > kInfinity; }

// For loaded values, and for sums. mix() of a boolean selects, where ?: may branch.
float flush_subnormal(float x) {
  const uint bits = floatBitsToUint(x);
  return uintBitsToFloat(mix(bits, bits & ~kMagnitude, (bits & kInfinity) == 0u));
}

vec4 flush_subnormal(vec4 x) {
  const uvec4 bits = floatBitsToUint(x);
  return uintBitsToFloat(mix(bits, bits & ~kMagnitude, equal(bits & kInfinity, uvec4(0u))));
}

// For a product of two floats. A product just below 2^-126 becomes 2^-126 on a device that rounds before it detects
// subnormals, or keeps them, and zero elsewhere. So 2^-126 counts as zero too.
float flush_product(float x) {
  const uint bits = floatBitsToUint(x);
  return uintBitsToFloat(mix(bits, bits & ~kMagnitude, (bits & kMagnitude) <= kSmallestNormal));
}

// a / b where one of them is zero, infinite or NaN; subnormals have become zero.
float divide_special(uint a, uint b, uint sign) {
  const bool is_undefined = (a == 0u && b == 0u) || (a == kInfinity && b == kInfinity);
  const uint magnitude =
      is_undefined || a > kInfinity || b > kInfinity ? kNan : (a == kInfinity || b == 0u) ? kInfinity : 0u;
  return uintBitsToFloat(sign | magnitude);
}

// a / b rounded half to even; subnormal operands and quotients count as zero.
//
// The significands are integers n, d in [2^23, 2^24), n doubled where it is the smaller. q = floor(n * 2^24 / d) has 25
// bits: 24 to keep and one to round by. The remainder decides whether that one is exactly a half. The device's own
// quotient is within 6 of q. So the remainder n * 2^24 - q * d is below 2^28 in magnitude, and its low 32 bits are all
// of it: no wide product is needed, and one correction makes q exact.
//
// No quotient rounds up to a power of two: it is at most 2 - 2 / d < 2 - 2^-23, the last float before 2. So flushing a
// subnormal quotient before it is rounded and after are one thing.
float divide(float numerator, float denominator) {
  const uint a = floatBitsToUint(flush_subnormal(numerator)) & kMagnitude;
  const uint b = floatBitsToUint(flush_subnormal(denominator)) & kMagnitude;
  const uint sign = (floatBitsToUint(numerator) ^ floatBitsToUint(denominator)) & ~kMagnitude;
  if (a == 0u || b == 0u || a >= kInfinity || b >= kInfinity) return divide_special(a, b, sign);

  uint n = (a & 0x007fffffu) | 0x00800000u;
  const uint d = (b & 0x007fffffu) | 0x00800000u;
  int exponent = int(a >> 23) - int(b >> 23) + 127;
  if (n < d) {
    n <<= 1;
    exponent -= 1;
  }
  uint q = uint(float(n) / float(d) * 16777216.0);
  int remainder = int((n << 24) - q * d);
  const int correction = int(floor(float(remainder) / float(d)));
  q += uint(correction);
  remainder -= correction * int(d);
  if (remainder < 0) {  // the correction was itself a quotient near an integer
    q -= 1u;
    remainder += int(d);
  } else if (remainder >= int(d)) {
    q += 1u;
    remainder -= int(d);
  }

  const uint kept = q >> 1;
  const bool rounds_up = (q & 1u) != 0u && (remainder != 0 || (kept & 1u) != 0u);
  if (exponent <= 0) return uintBitsToFloat(sign);
  if (exponent >= 255) return uintBitsToFloat(sign | kInfinity);
  return uintBitsToFloat(sign | ((uint(exponent) << 23) + (kept - 0x00800000u) + (rounds_up ? 1u : 0u)));
}

// divide(x, 6.0), in a quarter of the steps: the product with 1 / 6, and its remainder from x. Each difference is
// exact, since its terms are within a factor of two of each other. Adding a sixth of that rounds to the nearest: it was
// compared with x / 6 for every x. Below 2^-90, of 2^96 times x, so that no step meets a subnormal.
float divide_by_six(float x) {
  const float kSixth = 1.0 / 6.0;
  const uint magnitude = floatBitsToUint(x) & kMagnitude;
  const bool is_small = magnitude < 0x12800000u;
  precise const float scaled = uintBitsToFloat(magnitude) * (is_small ? 79228162514264337593543950336.0 : 1.0);
  precise const float near = scaled * kSixth;
  precise const float rest = (scaled - 4.0 * near) - 2.0 * near;
  precise const float quotient = near + rest * kSixth;
  const bool is_subnormal = is_small && quotient < 9.31322574615478515625e-10;  // 2^(96 - 126)
  const float result = quotient * (is_small ? 1.262177448353618888658765704452e-29 : 1.0);
  const uint bits = is_subnormal ? 0u : magnitude >= kInfinity ? magnitude : floatBitsToUint(result);
  return uintBitsToFloat((floatBitsToUint(x) & ~kMagnitude) | bits);
}

// 1 / x, as divide(1.0, x), in a third of the steps and without a branch, so that several may be made at once. k, the
// quotient of 2^47 by the significand d, has 24 bits, so only the nearest integer is needed, and a tie would need d to
// be a power of two. The device's own quotient of 1 by a number in [1, 2), with an error of up to 4 ulp, has k in its
// low bits except for that error. 2^47 - k * d is below 2^27 in magnitude, and its low 32 bits are all of it.
float reciprocal(float x) {
  const uint magnitude = floatBitsToUint(x) & kMagnitude;
  const uint fraction = magnitude & 0x007fffffu;
  const int d = int(fraction | 0x00800000u);
  const float near = 1.0 / uintBitsToFloat(0x3f800000u | fraction);
  int k = floatBitsToInt(near) - 0x3e800000;
  int remainder = -(k * d);
  // remainder / d as remainder / 2^5 * near / 2^18, converted as `rounding_shift` says.
  const float units = intBitsToFloat(kRoundingShiftBits + (remainder >> 5)) - kRoundingShift;
  const int correction = floatBitsToInt(units * (near * (1.0 / 262144.0)) + kRoundingShift) - kRoundingShiftBits;
  k += correction;
  remainder -= correction * d;
  k += int(2 * remainder > d) - int(2 * remainder < -d);

  // Of a power of two k is 2^24, which carries into the exponent. Below the least normal there is only zero.
  const int quotient_bits = ((253 - int(magnitude >> 23)) << 23) + (k - 0x00800000);
  uint result = mix(uint(quotient_bits), 0u, quotient_bits < 0x00800000);
  result = mix(result, kInfinity, magnitude < kSmallestNormal);
  result = mix(result, kNan, magnitude > kInfinity);
  return uintBitsToFloat((floatBitsToUint(x) & ~kMagnitude) | result);
}

// An integer as f32, rounded half to even: both halves are exact, so the one sum rounds once.
float to_float(int x) {
  precise float sum = float(x >> 16) * 65536.0 + float(x & 0xffff);
  return sum;
}

// A real as an integer, rounded half to even, saturating; NaN is 0.
int round_to_int(float x) {
  if (is_nan(x)) return 0;
  if (x >= 2147483648.0) return kLargestInt;
  if (x < -2147483648.0) return kSmallestInt;
  return int(roundEven(x));
}

// The same as an unsigned integer, of a real that is not negative.
uint round_to_uint(float x) {
  if (is_nan(x)) return 0u;
  return x >= 4294967296.0 ? 0xffffffffu : uint(roundEven(x));
}

int saturating_add(int a, int b) {
  return b > 0 ? min(a, kLargestInt - b) + b : max(a, kSmallestInt - b) + b;
}

int saturating_subtract(int a, int b) {
  return b > 0 ? max(a, kSmallestInt + b) - b : min(a, kLargestInt + b) - b;
}

$part rounding_shift
// Conversion between floats and small integers by adding 1.5 * 2^23. A float of magnitude up to 2^22 is rounded half to
// even, and the integer is in the low bits of the sum. This takes one addition; rounding and converting are two slower
// instructions. The bits of such a sum also turn small integers into floats: this makes differences of integers floats.
$gives const float kRoundingShift
$gives const int kRoundingShiftBits
$gives bool is_in_short_reach(int x)
$gives vec4 exact_difference(ivec4 a, ivec4 b)
$gives vec4 short_difference(ivec4 a, ivec4 b)

const float kRoundingShift = 12582912.0;
const int kRoundingShiftBits = 0x4b400000;

// Whether an integer is so small that the shift can convert the sum of two such integers.
const int kShortReach = 1 << 21;

// No abs(): it would be negative for the least integer.
bool is_in_short_reach(int x) { return -kShortReach <= x && x <= kShortReach; }
bool is_in_short_reach(ivec4 x) { return clamp(x, -kShortReach, kShortReach) == x; }

// a - b rounded once, although it may not fit an int. The differences of the halves become floats by their bits. The
// low ones still contain the shift, which was removed from the high ones in advance: only the last sum rounds.
vec4 exact_difference(ivec4 a, ivec4 b) {
  const vec4 high = intBitsToFloat((a >> 16) - (b >> 16) + kRoundingShiftBits);
  const vec4 low = intBitsToFloat((a & 0xffff) - (b & 0xffff) + kRoundingShiftBits);
  precise const vec4 difference = (high * 65536.0 - kRoundingShift * 65537.0) + low;
  return difference;
}

// The same of a difference that fits an int.
vec4 short_difference(ivec4 a, ivec4 b) {
  const ivec4 difference = a - b;
  const vec4 high = intBitsToFloat((difference >> 12) + kRoundingShiftBits);
  const vec4 low = intBitsToFloat((difference & 0xfff) | kRoundingShiftBits);
  precise const vec4 real = fma(high, vec4(4096.0), vec4(-kRoundingShift * 4097.0)) + low;  // fused or not: exact
  return real;
}
