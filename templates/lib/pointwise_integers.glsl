// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The steps of pointwise chains on integers of 32 bits, which wrap: docs/pointwise.md. Needs the constants of
// lib/pointwise_reals.glsl and truths().
$needs uvec4 truths(bvec4 b)
$gives uvec4 operate(uint operation, uvec4 a, uvec4 b, uvec4 c)

// Towards zero; a quotient by zero is 0.
int quotient_of(int x, int y) { return y == 0 ? 0 : y == -1 ? int(0u - uint(x)) : x / y; }
ivec4 quotients(ivec4 x, ivec4 y) {
  return ivec4(quotient_of(x.x, y.x), quotient_of(x.y, y.y), quotient_of(x.z, y.z), quotient_of(x.w, y.w));
}
ivec4 remainders(ivec4 x, ivec4 y) { return x - quotients(x, y) * y; }
// With the sign of y.
ivec4 modulos(ivec4 x, ivec4 y) {
  const ivec4 rest = remainders(x, y);
  const bvec4 are_other = bvec4(uvec4(notEqual(rest, ivec4(0))) & uvec4(notEqual(lessThan(rest, ivec4(0)), lessThan(y, ivec4(0)))));
  return mix(rest, rest + y, are_other);
}

// By squares; of a negative exponent 1 / x^-y, towards zero.
ivec4 powers(ivec4 x, ivec4 y) {
  ivec4 result = ivec4(1), square = x, left = max(y, ivec4(0));
  for (int i = 0; i < 31; ++i) {
    result = mix(result, result * square, equal(left & 1, ivec4(1)));
    square = square * square;
    left >>= 1;
  }
  ivec4 inverse = mix(ivec4(0), mix(ivec4(1), x, equal(y & 1, ivec4(1))), equal(abs(x), ivec4(1)));
  return mix(result, inverse, lessThan(y, ivec4(0)));
}

bvec4 are_true(ivec4 x) { return notEqual(x, ivec4(0)); }

uvec4 operate(uint operation, uvec4 a, uvec4 b, uvec4 c) {
  const ivec4 x = ivec4(a), y = ivec4(b);
  switch (operation) {
    case kPointwiseStepAdd: return a + b;
    case kPointwiseStepSubtract: return a - b;
    case kPointwiseStepMultiply: return a * b;
    case kPointwiseStepMinimum: return uvec4(min(x, y));
    case kPointwiseStepMaximum: return uvec4(max(x, y));
    case kPointwiseStepLess: return truths(lessThan(x, y));
    case kPointwiseStepLessOrEqual: return truths(lessThanEqual(x, y));
    case kPointwiseStepEqual: return truths(equal(x, y));
    case kPointwiseStepLogicalAnd: return truths(bvec4(uvec4(are_true(x)) & uvec4(are_true(y))));
    case kPointwiseStepLogicalOr: return truths(bvec4(uvec4(are_true(x)) | uvec4(are_true(y))));
    case kPointwiseStepLogicalXor: return truths(notEqual(are_true(x), are_true(y)));
    case kPointwiseStepLogicalNot: return truths(not(are_true(x)));
    case kPointwiseStepChoose: return mix(c, b, are_true(x));
    case kPointwiseStepNegate: return uvec4(0u) - a;
    case kPointwiseStepAbsolute: return mix(a, uvec4(0u) - a, lessThan(x, ivec4(0)));
    case kPointwiseStepSignOf: return uvec4(sign(x));
    case kPointwiseStepIsNan: return uvec4(0u);
    case kPointwiseStepIsInfinite: return uvec4(0u);
  }
  if (${has_divisions} && operation == kPointwiseStepDivide) return uvec4(quotients(x, y));
  if (${has_logarithms} && operation == kPointwiseStepPower) return uvec4(powers(x, y));
  if (${has_bits}) {
    switch (operation) {
      case kPointwiseStepRemainder: return uvec4(remainders(x, y));
      case kPointwiseStepModulo: return uvec4(modulos(x, y));
      case kPointwiseStepBitAnd: return a & b;
      case kPointwiseStepBitOr: return a | b;
      case kPointwiseStepBitXor: return a ^ b;
      case kPointwiseStepBitNot: return ~a;
      case kPointwiseStepShiftLeft: return mix(a << (b & 31u), uvec4(0u), greaterThan(b, uvec4(31u)));
      case kPointwiseStepShiftRight: return mix(a >> (b & 31u), uvec4(0u), greaterThan(b, uvec4(31u)));
    }
  }
  if (${has_exponentials} || ${has_rare}) return a;   // floating-point chains only
  return a;
}
