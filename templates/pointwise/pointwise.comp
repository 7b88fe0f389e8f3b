// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A chain of element-wise steps on up to six tensors and a mask, which are broadcast: docs/pointwise.md.
//
// An invocation makes four neighbouring outputs. All invocations run the same steps, which the problem has as numbers.
// A register is four elements as their bits: floats, or integers of 32 bits. Groups of functions that the steps lack
// are left out when the pipeline is made, so that a short chain is a short kernel.
#version 450
${local_size(workgroup)}
${declare_words(input_1)}
${declare_words(input_2)}
${declare_words(input_3)}
${declare_words(input_4)}
${declare_words(input_5)}
${declare_words(input_6)}
${declare_words(mask)}
${declare_words(output, bytes(output_dtype))}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/quotient.glsl"
$include "lib/words.glsl"
$include "lib/float32.glsl"

const uint kPerWord = ${4 / bytes(dtype)}u;

// ---- operands -------------------------------------------------------------------------------------------------------

// Where an operand has the four elements from 4 * quad on; past the last one, that one's.
uvec4 places_of(uint operand, uint quad) {
  const uint mode = problem.modes[operand];
  uvec4 element = min(4u * quad + uvec4(0u, 1u, 2u, 3u), uvec4(problem.numel - 1u));
  if (mode == 0u) return element;
  uvec4 place = uvec4(0u);
  if (!${by_strides} || mode == 1u) return place;
  for (uint d = 0u; d < problem.rank; ++d) {
    const uvec4 whole = quotient(element, problem.dividers[3u * d + 1u], problem.dividers[3u * d + 2u]);
    place += (element - whole * problem.dividers[3u * d]) * problem.strides[8u * operand + d];
    element = whole;
  }
  return place;
}

// An element's bits, of the word that has it, as a register has them.
$if dtype == f32
uvec4 registers(uvec4 words, uvec4 places) { return floatBitsToUint(flush_subnormal(uintBitsToFloat(words))); }
$elif dtype == f16
uint half_at(uint word, uint place) { return word >> (16u * (place & 1u)) & 0xffffu; }
uvec4 registers(uvec4 words, uvec4 places) {
  return floatBitsToUint(vec4(f16_to_f32(half_at(words.x, places.x)), f16_to_f32(half_at(words.y, places.y)),
                              f16_to_f32(half_at(words.z, places.z)), f16_to_f32(half_at(words.w, places.w))));
}
$elif dtype == i32
uvec4 registers(uvec4 words, uvec4 places) { return words; }
$elif dtype == i8
uvec4 registers(uvec4 words, uvec4 places) {
  return uvec4(ivec4(words >> 8u * (places & 3u)) << 24 >> 24);
}
$else
uvec4 registers(uvec4 words, uvec4 places) { return words >> 8u * (places & 3u) & 0xffu; }
$end

$for i in (1, 2, 3, 4, 5, 6)
uvec4 load_${i}(uint quad) {
  const uvec4 places = places_of(${i - 1}u, quad), at = places / kPerWord;
  return registers(uvec4(input_${i}_words[at.x], input_${i}_words[at.y], input_${i}_words[at.z],
                         input_${i}_words[at.w]), places);
}
$end

$if is_float(dtype)
uvec4 truths(bvec4 b) { return floatBitsToUint(vec4(b)); }
$else
uvec4 truths(bvec4 b) { return uvec4(b); }
$end

uvec4 load_mask(uint quad) {
  const uvec4 places = places_of(6u, quad), at = places / 4u;
  const uvec4 words = uvec4(mask_words[at.x], mask_words[at.y], mask_words[at.z], mask_words[at.w]);
  return truths(notEqual(words >> 8u * (places & 3u) & 0xffu, uvec4(0u)));
}

// ---- the chain ------------------------------------------------------------------------------------------------------

const uint kMask = 7u, kFirstKept = 8u, kFirstConstant = 16u;

uvec4 previous;
uvec4 kept[8];

uvec4 value_of(uint source, uint quad) {
  if (source == 0u) return previous;
  if (source >= kFirstConstant) return uvec4(problem.constants[min(source - kFirstConstant, 63u)]);
  if (${has_kept} && source >= kFirstKept) return kept[source - kFirstKept];
  if (${with_mask} && source == kMask) return load_mask(quad);
  if (${has_second} && source == 2u) return load_2(quad);
  if (${has_third} && source == 3u) return load_3(quad);
  if (${has_others}) {
    if (source == 4u) return load_4(quad);
    if (source == 5u) return load_5(quad);
    if (source == 6u) return load_6(quad);
  }
  return load_1(quad);
}

$if is_float(dtype)
$include "lib/pointwise_reals.glsl"
$else
// The steps of pointwise chains on integers of 32 bits, which wrap: docs/pointwise.md. Needs the constants of
// lib/pointwise_reals.glsl and truths().
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
$end

$include "lib/pointwise_steps.glsl"

// ---- the output -----------------------------------------------------------------------------------------------------

$if is_float(dtype)
vec4 reals_of(uvec4 x) { return uintBitsToFloat(x); }
// Towards zero; outside of their range the nearest, and NaN is 0.
ivec4 integers_of(uvec4 bits) {
  const vec4 x = uintBitsToFloat(bits);
  ivec4 result = ivec4(clamp(x, -2147483648.0, 2147483520.0));
  result = mix(result, ivec4(kLargestInt), greaterThanEqual(x, vec4(2147483648.0)));
  return mix(result, ivec4(0), greaterThan(bits & kMagnitude, uvec4(kInfinity)));
}
$else
vec4 reals_of(uvec4 x) { return vec4(to_float(int(x.x)), to_float(int(x.y)), to_float(int(x.z)), to_float(int(x.w))); }
ivec4 integers_of(uvec4 x) { return ivec4(x); }
$end

void main() {
  const uint quad = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (quad >= problem.numel / 4u + uint(problem.numel % 4u != 0u)) return;
  run_steps(quad);
$if is_float(output_dtype)
  output_words[quad] = pack_${output_dtype}(reals_of(previous));
$else
  output_words[quad] = pack_${output_dtype}(integers_of(previous));
$end
}
