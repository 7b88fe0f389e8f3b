// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The steps of pointwise chains on floats: docs/pointwise.md has the definition and the bound of each. Needs the
// constants has_divisions, has_exponentials, has_logarithms, has_rare and has_bits, truths() and lib/float32.glsl.
//
// The polynomials are Cephes' (Moshier), and N. Juffa's of the error function. Every function was compared with double
// arithmetic at millions of values: 2^-22 relative to the result, and 2^-23 for sine and cosine up to 8192.
$include "lib/float32.glsl"
$needs uvec4 truths(bvec4 b)
$gives uvec4 operate(uint operation, uvec4 a, uvec4 b, uvec4 c)

bvec4 are_nan(vec4 x) { return greaterThan(floatBitsToUint(x) & kMagnitude, uvec4(kInfinity)); }
vec4 with_sign_of(vec4 magnitude, vec4 x) {
  return uintBitsToFloat((floatBitsToUint(magnitude) & kMagnitude) | (floatBitsToUint(x) & ~kMagnitude));
}
vec4 polynomial(vec4 p, vec4 x, float next) {
  precise const vec4 product = p * x;
  precise const vec4 sum = product + next;
  return sum;
}

vec4 quotients(vec4 x, vec4 y) {
  return vec4(divide(x.x, y.x), divide(x.y, y.y), divide(x.z, y.z), divide(x.w, y.w));
}

// Of negative numbers NaN.
vec4 roots(vec4 x) {
  const uvec4 bits = floatBitsToUint(x);
  const bvec4 are_as_they_are =
      bvec4(uvec4(equal(bits & kMagnitude, uvec4(0u))) | uvec4(greaterThanEqual(bits, uvec4(kInfinity))));
  const bvec4 are_negative = greaterThan(bits, uvec4(~kMagnitude));
  const vec4 root = mix(sqrt(mix(x, vec4(1.0), are_as_they_are)), x, are_as_they_are);
  return uintBitsToFloat(mix(floatBitsToUint(root), uvec4(kNan), are_negative));
}

// exp(x) as lib/exponential.glsl has it, of any x: 0 below -87, and the last doubling may give infinity.
vec4 exponentials(vec4 x) {
  const vec4 bounded = clamp(x, -87.0, 89.0);
  precise const vec4 product = bounded * 1.44269502162933349609375;
  precise const vec4 shifted = product + kRoundingShift;
  precise const vec4 k = shifted - kRoundingShift;
  precise const vec4 high = bounded - k * 0.693359375;
  precise const vec4 r = high - k * -2.12194440e-4;
  vec4 p = polynomial(vec4(1.9875691500e-4), r, 1.3981999507e-3);
  p = polynomial(p, r, 8.3334519073e-3);
  p = polynomial(p, r, 4.1665795894e-2);
  p = polynomial(p, r, 1.6666665459e-1);
  p = polynomial(p, r, 5.0000001201e-1);
  precise const vec4 series = (p * (r * r) + r) + 1.0;
  const vec4 half_power = uintBitsToFloat((floatBitsToUint(shifted) << 23) + 0x3f000000u);
  vec4 result = series * half_power * 2.0;
  result = mix(result, vec4(0.0), lessThan(x, vec4(-87.0)));
  return mix(result, x, are_nan(x));
}

// exp(x) - 1, which is near x where x is small.
vec4 exponentials_less_1(vec4 x) {
  vec4 p = polynomial(vec4(1.0 / 40320.0), x, 1.0 / 5040.0);
  p = polynomial(p, x, 1.0 / 720.0);
  p = polynomial(p, x, 1.0 / 120.0);
  p = polynomial(p, x, 1.0 / 24.0);
  p = polynomial(p, x, 1.0 / 6.0);
  p = polynomial(p, x, 0.5);
  precise const vec4 near = p * (x * x) + x;
  return mix(exponentials(x) - 1.0, near, lessThan(abs(x), vec4(0.5)));
}

vec4 sigmoids(vec4 x) { return mix(quotients(vec4(1.0), exponentials(-x) + 1.0), x, are_nan(x)); }

vec4 tanhs(vec4 x) {
  precise const vec4 z = x * x;
  vec4 p = polynomial(vec4(-5.70498872745e-3), z, 2.06390887954e-2);
  p = polynomial(p, z, -5.37397155531e-2);
  p = polynomial(p, z, 1.33314422036e-1);
  p = polynomial(p, z, -3.33332819422e-1);
  precise const vec4 near = p * z * x + x;
  const vec4 far = 1.0 - 2.0 / (exponentials(min(2.0 * abs(x), vec4(40.0))) + 1.0);
  const vec4 result = mix(with_sign_of(far, x), near, lessThan(abs(x), vec4(0.625)));
  return mix(result, x, are_nan(x));
}

vec4 error_functions(vec4 x) {
  precise const vec4 t = abs(x), s = x * x;
  vec4 p = polynomial(vec4(-5.96761703e-4), s, 4.99119423e-3);
  p = polynomial(p, s, -2.67681349e-2);
  p = polynomial(p, s, 1.12819925e-1);
  p = polynomial(p, s, -3.76125336e-1);
  p = polynomial(p, s, 1.28379166e-1);
  precise const vec4 near = p * x + x;
  precise const vec4 u = polynomial(vec4(-3.88396438e-3), t, 2.42546219e-2);
  precise vec4 r = polynomial(vec4(-1.72853470e-5), t, 3.83197126e-4) * s + u;
  r = polynomial(r, t, -1.06777877e-1);
  r = polynomial(r, t, -6.34846687e-1);
  r = polynomial(r, t, -1.28717512e-1);
  r = r * t - t;
  const vec4 far = with_sign_of(1.0 - exponentials(mix(r, vec4(-87.0), greaterThan(t, vec4(9.0)))), x);
  return mix(mix(near, far, greaterThan(t, vec4(0.927734375))), x, are_nan(x));
}

// Of x above 0 and finite: x = m * 2^e with m around 1.
vec4 finite_logarithms(vec4 x) {
  const uvec4 bits = floatBitsToUint(x);
  const ivec4 e = ivec4(bits - 0x3f3504f3u) >> 23;
  precise const vec4 f = uintBitsToFloat(bits - uvec4(e << 23)) - 1.0;
  precise const vec4 z = f * f, exponent = vec4(e);
  vec4 p = polynomial(vec4(7.0376836292e-2), f, -1.1514610310e-1);
  p = polynomial(p, f, 1.1676998740e-1);
  p = polynomial(p, f, -1.2420140846e-1);
  p = polynomial(p, f, 1.4249322787e-1);
  p = polynomial(p, f, -1.6668057665e-1);
  p = polynomial(p, f, 2.0000714765e-1);
  p = polynomial(p, f, -2.4999993993e-1);
  p = polynomial(p, f, 3.3333331174e-1);
  precise vec4 y = p * f * z;
  y = y + exponent * -2.12194440e-4;
  y = y - 0.5 * z;
  precise const vec4 sum = f + y;
  precise const vec4 result = sum + exponent * 0.693359375;
  return result;
}

vec4 logarithms(vec4 x) {
  const uvec4 bits = floatBitsToUint(x);
  const bvec4 are_finite = bvec4(uvec4(greaterThanEqual(bits, uvec4(kSmallestNormal))) & uvec4(lessThan(bits, uvec4(kInfinity))));
  const bvec4 are_zero = lessThan(bits & kMagnitude, uvec4(kSmallestNormal));
  // Infinity and NaN stay, and values below zero become NaN.
  uvec4 special = mix(uvec4(kNan), bits, equal(bits, uvec4(kInfinity)));
  special = mix(special, uvec4(0xff800000u), are_zero);
  return uintBitsToFloat(mix(special, floatBitsToUint(finite_logarithms(mix(vec4(1.0), x, are_finite))), are_finite));
}

// log(1 + x), including the part of x that 1 + x rounds away.
vec4 logarithms_plus_1(vec4 x) {
  precise const vec4 sum = 1.0 + x;
  precise const vec4 lost = x - (sum - 1.0);
  const bvec4 are_small = equal(sum, vec4(1.0));
  const bvec4 are_exact = bvec4(uvec4(lessThanEqual(sum, vec4(0.0))) | uvec4(greaterThan(sum, vec4(1e9))));
  const vec4 rest = mix(lost / mix(sum, vec4(1.0), are_exact), vec4(0.0), are_exact);
  return mix(mix(logarithms(sum) + rest, x, are_small), x, are_nan(x));
}

// x^y by exp(y * log |x|), with the sign of an odd power of a negative number.
vec4 powers(vec4 x, vec4 y) {
  const vec4 whole = floor(y);
  const bvec4 are_whole = equal(whole, y);
  const bvec4 are_odd = bvec4(uvec4(are_whole) & uvec4(equal(whole - 2.0 * floor(whole * 0.5), vec4(1.0))));
  const uvec4 x_bits = floatBitsToUint(x);
  const bvec4 are_negative =   // and finite: -infinity to any power has a limit
      bvec4(uvec4(greaterThan(x_bits, uvec4(~kMagnitude))) & uvec4(lessThan(x_bits, uvec4(0xff800000u))));
  const bvec4 are_zero = equal(x_bits & kMagnitude, uvec4(0u));
  const vec4 of_zero = mix(uintBitsToFloat(uvec4(kInfinity)), vec4(0.0), greaterThan(y, vec4(0.0)));
  vec4 result = mix(exponentials(y * logarithms(abs(x))), of_zero, are_zero);
  result = mix(result, -result, bvec4(uvec4(are_odd) & (x_bits >> 31)));
  uvec4 bits = floatBitsToUint(result);
  bits = mix(bits, uvec4(kNan), bvec4(uvec4(are_negative) & uvec4(not(are_whole))));
  bits = mix(bits, floatBitsToUint(x), are_nan(x));
  bits = mix(bits, floatBitsToUint(y), are_nan(y));
  const uvec4 are_minus_one =   // to an infinite power, which is even
      uvec4(equal(x_bits, uvec4(0xbf800000u))) & uvec4(equal(floatBitsToUint(y) & kMagnitude, uvec4(kInfinity)));
  const bvec4 are_one =
      bvec4(uvec4(equal(y, vec4(0.0))) | uvec4(equal(x_bits, uvec4(0x3f800000u))) | are_minus_one);
  return uintBitsToFloat(mix(bits, uvec4(0x3f800000u), are_one));
}

// Sine if `quarter` is 0, cosine if it is 1: x minus a multiple of pi / 2, which has three parts, so that each product
// with a small integer is exact.
vec4 waves(vec4 x, int quarter) {
  const vec4 a = abs(x);
  ivec4 j = ivec4(min(a, vec4(1e9)) * 1.27323954473516);
  j += j & 1;
  const vec4 y = vec4(j);
  precise const vec4 rest = ((a - y * 0.78515625) - y * 2.4187564849853515625e-4) - y * 3.77489497744594108e-8;
  const vec4 r = clamp(rest, -0.79, 0.79);   // for large x, where no bit remains: some number of the range
  precise const vec4 z = r * r;
  vec4 p = polynomial(vec4(-1.9515295891e-4), z, 8.3321608736e-3);
  p = polynomial(p, z, -1.6666654611e-1);
  precise const vec4 of_sine = p * z * r + r;
  vec4 q = polynomial(vec4(2.443315711809948e-5), z, -1.388731625493765e-3);
  q = polynomial(q, z, 4.166664568298827e-2);
  precise const vec4 of_cosine = (q * z * z - 0.5 * z) + 1.0;
  const ivec4 place = ((j >> 1) + quarter) & 3;
  vec4 result = mix(of_sine, of_cosine, equal(place & 1, ivec4(1)));
  result = mix(result, -result, greaterThanEqual(place, ivec4(2)));
  if (quarter == 0) result = mix(result, -result, lessThan(x, vec4(0.0)));
  const bvec4 are_undefined = greaterThanEqual(floatBitsToUint(x) & kMagnitude, uvec4(kInfinity));
  return uintBitsToFloat(mix(floatBitsToUint(result), uvec4(kNan), are_undefined));
}

vec4 arc_tangents(vec4 x) {
  const vec4 a = abs(x);
  const bvec4 are_large = greaterThan(a, vec4(2.414213562373095));
  const bvec4 are_middle = greaterThan(a, vec4(0.4142135623730950));
  const vec4 bounded = min(a, vec4(1e30));
  const vec4 t = mix(mix(a, (bounded - 1.0) / (bounded + 1.0), are_middle), -1.0 / max(bounded, vec4(1.0)), are_large);
  precise const vec4 z = t * t;
  vec4 p = polynomial(vec4(8.05374449538e-2), z, -1.38776856032e-1);
  p = polynomial(p, z, 1.99777106478e-1);
  p = polynomial(p, z, -3.33329491539e-1);
  precise const vec4 of_t = p * z * t + t;
  const vec4 begin = mix(mix(vec4(0.0), vec4(0.785398163397448), are_middle), vec4(1.570796326794897), are_large);
  return mix(with_sign_of(begin + of_t, x), x, are_nan(x));
}

// x - y * trunc(x / y), with the sign of x, as C's fmod(): by subtracting y times powers of two, each difference exact.
float remainder_of(float x, float y) {
  const uint a = floatBitsToUint(x) & kMagnitude, b = floatBitsToUint(y) & kMagnitude;
  if (a >= kInfinity || b > kInfinity || b == 0u) return uintBitsToFloat(kNan);
  float rest = abs(x);
  const float divisor = abs(y);
  for (int e = int(a >> 23) - int(b >> 23); e >= 0; --e) {
    const float step = ldexp(divisor, e);
    if (rest >= step) rest -= step;
  }
  return uintBitsToFloat((floatBitsToUint(rest) & kMagnitude) | (floatBitsToUint(x) & ~kMagnitude));
}
vec4 remainders(vec4 x, vec4 y) {
  return vec4(remainder_of(x.x, y.x), remainder_of(x.y, y.y), remainder_of(x.z, y.z), remainder_of(x.w, y.w));
}
// With the sign of y.
vec4 modulos(vec4 x, vec4 y) {
  const vec4 rest = remainders(x, y);
  const bvec4 are_other = bvec4(uvec4(notEqual(rest, vec4(0.0))) & uvec4(notEqual(lessThan(rest, vec4(0.0)), lessThan(y, vec4(0.0)))));
  return mix(rest, rest + y, are_other);
}

vec4 least(vec4 x, vec4 y) { return mix(mix(y, x, lessThan(x, y)), x, are_nan(x)); }
vec4 greatest(vec4 x, vec4 y) { return mix(mix(y, x, greaterThan(x, y)), x, are_nan(x)); }
bvec4 are_true(vec4 x) { return notEqual(floatBitsToUint(x) & kMagnitude, uvec4(0u)); }
bvec4 are_less(vec4 x, vec4 y, bool or_equal) {
  const bvec4 ordered = not(bvec4(uvec4(are_nan(x)) | uvec4(are_nan(y))));
  return bvec4(uvec4(ordered) & uvec4(or_equal ? lessThanEqual(x, y) : lessThan(x, y)));
}
bvec4 are_equal(vec4 x, vec4 y) {
  return bvec4(uvec4(equal(x, y)) & uvec4(not(bvec4(uvec4(are_nan(x)) | uvec4(are_nan(y))))));
}

uvec4 operate(uint operation, uvec4 a, uvec4 b, uvec4 c) {
  const vec4 x = uintBitsToFloat(a), y = uintBitsToFloat(b), z = uintBitsToFloat(c);
  precise const vec4 sum = x + y, difference = x - y, product = x * y;
  vec4 result = x;
  switch (operation) {
    case kPointwiseStepAdd: result = sum; break;
    case kPointwiseStepSubtract: result = difference; break;
    case kPointwiseStepMultiply: result = product; break;
    case kPointwiseStepMinimum: result = least(x, y); break;
    case kPointwiseStepMaximum: result = greatest(x, y); break;
    case kPointwiseStepLess: return truths(are_less(x, y, false));
    case kPointwiseStepLessOrEqual: return truths(are_less(x, y, true));
    case kPointwiseStepEqual: return truths(are_equal(x, y));
    case kPointwiseStepLogicalAnd: return truths(bvec4(uvec4(are_true(x)) & uvec4(are_true(y))));
    case kPointwiseStepLogicalOr: return truths(bvec4(uvec4(are_true(x)) | uvec4(are_true(y))));
    case kPointwiseStepLogicalXor: return truths(notEqual(are_true(x), are_true(y)));
    case kPointwiseStepLogicalNot: return truths(not(are_true(x)));
    case kPointwiseStepChoose: return mix(c, b, are_true(x));
    case kPointwiseStepNegate: return a ^ ~kMagnitude;
    case kPointwiseStepAbsolute: return a & kMagnitude;
    case kPointwiseStepSignOf: result = mix(sign(x), x, are_nan(x)); break;
    case kPointwiseStepFloor: result = floor(x); break;
    case kPointwiseStepCeil: result = ceil(x); break;
    case kPointwiseStepRound: result = roundEven(x); break;
    case kPointwiseStepTruncate: result = trunc(x); break;
    case kPointwiseStepIsNan: return truths(are_nan(x));
    case kPointwiseStepIsInfinite: return truths(equal(a & kMagnitude, uvec4(kInfinity)));
  }
  if (${has_divisions}) {
    if (operation == kPointwiseStepDivide) result = quotients(x, y);
    if (operation == kPointwiseStepSquareRoot) result = roots(x);
  }
  if (${has_exponentials}) {
    if (operation == kPointwiseStepExponential) result = exponentials(x);
    if (operation == kPointwiseStepExponentialLess1) result = exponentials_less_1(x);
    if (operation == kPointwiseStepSigmoid) result = sigmoids(x);
    if (operation == kPointwiseStepTanh) result = tanhs(x);
  }
  if (${has_logarithms}) {
    if (operation == kPointwiseStepLogarithm) result = logarithms(x);
    if (operation == kPointwiseStepLogarithmPlus1) result = logarithms_plus_1(x);
    if (operation == kPointwiseStepPower) result = powers(x, y);
  }
  if (${has_rare}) {
    if (operation == kPointwiseStepErrorFunction) result = error_functions(x);
    if (operation == kPointwiseStepSine) result = waves(x, 0);
    if (operation == kPointwiseStepCosine) result = waves(x, 1);
    if (operation == kPointwiseStepArcTangent) result = arc_tangents(x);
  }
  if (${has_bits}) {
    if (operation == kPointwiseStepRemainder) result = remainders(x, y);
    if (operation == kPointwiseStepModulo) result = modulos(x, y);
  }
  return floatBitsToUint(result);
}
