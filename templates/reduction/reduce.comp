// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Each output is a reduction of the elements along some axes: docs/reduction.md. Floats are added in f32.
//
//   by invocations   an invocation computes an output: many outputs, of few elements each
//   by workgroups    the members of a workgroup take every workgroup-th element, and then agree
#version 450
${local_size(workgroup)}
${declare_words(input)}
${declare_words(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/quotient.glsl"
$include "lib/float32.glsl"
$include "lib/float16.glsl"
$include "lib/exponential.glsl"

// ---- places ---------------------------------------------------------------------------------------------------------

uint kept_place(uint element) {
  uint place = 0u;
  for (uint d = 0u; d < problem.kept_rank; ++d) {
    const uint whole = quotient(element, problem.kept_dividers[3u * d + 1u], problem.kept_dividers[3u * d + 2u]);
    place += (element - whole * problem.kept_dividers[3u * d]) * problem.kept_strides[d];
    element = whole;
  }
  return place;
}

uint reduced_place(uint term) {
  if (problem.reduced_rank == 1u) return term * problem.reduced_strides[0];
  uint place = 0u;
  for (uint d = 0u; d < problem.reduced_rank; ++d) {
    const uint whole = quotient(term, problem.reduced_dividers[3u * d + 1u], problem.reduced_dividers[3u * d + 2u]);
    place += (term - whole * problem.reduced_dividers[3u * d]) * problem.reduced_strides[d];
    term = whole;
  }
  return place;
}

$if is_float(dtype)
#define Element float
$if dtype == f32
float element_at(uint place) { return uintBitsToFloat(input_words[place]); }
$else
float element_at(uint place) { return f16_to_f32(input_words[place / 2u] >> (16u * (place & 1u)) & 0xffffu); }
$end
const float kLowest = -1.0 / 0.0;
const float kHighest = 1.0 / 0.0;
bool is_undefined(float x) { return is_nan(x); }
$else
#define Element int
int element_at(uint place) { return int(input_words[place]); }
const int kLowest = kSmallestInt;
const int kHighest = kLargestInt;
bool is_undefined(int x) { return false; }
$end

// ---- what is reduced ------------------------------------------------------------------------------------------------

bool is_largest() { return problem.operation == kReductionMaximum || problem.operation == kReductionArgMax; }
bool is_least() { return problem.operation == kReductionMinimum || problem.operation == kReductionArgMin; }

struct Part {
  Element value;
  uint term;   // of an extreme
};

Part nothing() {
  Element value = Element(0);
  if (problem.operation == kReductionProduct) value = Element(1);
  if (is_largest()) value = kLowest;
  if (is_least()) value = kHighest;
  return Part(value, 0xffffffffu);
}

// Of equal elements the first, or the last; NaN comes before every number.
Part extreme_of(Part a, Part b) {
  if (a.term == 0xffffffffu) return b;
  if (b.term == 0xffffffffu) return a;
  const bool a_first = (a.term < b.term) != (problem.takes_last != 0u);
  if (is_undefined(a.value) != is_undefined(b.value)) return is_undefined(a.value) ? a : b;
  if (is_undefined(a.value) || a.value == b.value) {
    if (a_first) return a;
    return b;
  }
  if ((a.value > b.value) == is_largest()) return a;
  return b;
}

Part both(Part a, Part b) {
  if (is_largest() || is_least()) return extreme_of(a, b);
  if (problem.operation == kReductionProduct) return Part(a.value * b.value, 0u);
  return Part(a.value + b.value, 0u);
}

Element term_of(Element x) {
  if (problem.operation == kReductionL1) return abs(x);
  if (problem.operation == kReductionL2 || problem.operation == kReductionSumOfSquares) return x * x;
  return x;
}

$if by == workgroups
shared Element shared_values[${workgroup}];
shared uint shared_terms[${workgroup}];
uint first_term() { return gl_LocalInvocationIndex; }
uint term_stride() { return ${workgroup}; }

// The parts of all members; all of them must call it.
Part agreed(Part mine) {
  const uint place = gl_LocalInvocationIndex;
  shared_values[place] = mine.value;
  shared_terms[place] = mine.term;
  barrier();
  for (uint distance = ${workgroup} / 2u; distance > 0u; distance /= 2u) {
    if (place < distance) {
      const Part a = Part(shared_values[place], shared_terms[place]);
      const Part b = Part(shared_values[place + distance], shared_terms[place + distance]);
      const Part sum = both(a, b);
      shared_values[place] = sum.value;
      shared_terms[place] = sum.term;
    }
    barrier();
  }
  const Part all = Part(shared_values[0], shared_terms[0]);
  barrier();   // before another call writes there
  return all;
}
$else
uint first_term() { return 0u; }
uint term_stride() { return 1u; }
Part agreed(Part mine) { return mine; }
$end

Part reduced(uint first) {
  Part mine = nothing();
  for (uint t = first_term(); t < problem.terms; t += term_stride()) {
    mine = both(mine, Part(term_of(element_at(first + reduced_place(t))), t));
  }
  return agreed(mine);
}

$if is_float(dtype)
// By bits: drivers take `a > b ? a : b` for a maximum that leaves NaN out.
float more(float a, float b) { return is_nan(a) ? a : is_nan(b) ? b : max(a, b); }

// A greatest element that is infinite is not subtracted.
float log_sum_exp(uint first) {
  float greatest = kLowest;
  for (uint t = first_term(); t < problem.terms; t += term_stride()) {
    const float x = element_at(first + reduced_place(t));
    greatest = more(greatest, x);
  }
$if by == workgroups
  shared_values[gl_LocalInvocationIndex] = greatest;
  barrier();
  for (uint i = 0u; i < ${workgroup}; ++i) {
    greatest = more(greatest, shared_values[i]);
  }
  barrier();
$end
  const bool is_finite_one = is_finite(greatest);
  Part sum = Part(0.0, 0u);
  for (uint t = first_term(); t < problem.terms; t += term_stride()) {
    const float difference = element_at(first + reduced_place(t)) - (is_finite_one ? greatest : 0.0);
    sum.value += difference < -87.0 ? 0.0 : exponential(min(difference, 0.0));
  }
  const float all = agreed(sum).value;
  return is_finite_one ? greatest + log(all) : greatest;
}

float finished(Part part, uint first) {
  switch (problem.operation) {
    case kReductionMean: return part.value * problem.inverse_terms;
    case kReductionL2: return part.value > 0.0 ? sqrt(part.value) : part.value;
    case kReductionLogSum:
      return part.value > 0.0 && is_finite(part.value) ? log(part.value)
             : part.value == 0.0                       ? kLowest
             : part.value > 0.0                        ? part.value
                                                       : uintBitsToFloat(kNan);
  }
  return part.value;
}
$end

// Elements of 16 bits share words, which two invocations must not write at once: an invocation writes both.
uint result_bits(uint index) {
  const uint first = kept_place(min(index, problem.outputs - 1u));
$if is_float(dtype)
  if (problem.operation == kReductionLogSumExp) {
$if output_dtype == f32
    return floatBitsToUint(log_sum_exp(first));
$elif output_dtype == f16
    return f32_to_f16(log_sum_exp(first));
$else
    return 0u;
$end
  }
$end
  const Part part = reduced(first);
$if output_dtype == f32
  return floatBitsToUint(finished(part, first));
$elif output_dtype == f16
  return f32_to_f16(finished(part, first));
$elif dtype == i32
  if (problem.operation == kReductionArgMax || problem.operation == kReductionArgMin) return part.term;
  return uint(part.value);
$else
  return part.term;
$end
}

void main() {
$if by == workgroups
  const uint word = workgroup_index();
  const bool is_writer = gl_LocalInvocationIndex == 0u;
$else
  const uint word = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  const bool is_writer = true;
$end
$if output_dtype == f16
  if (word >= (problem.outputs + 1u) / 2u) return;   // the same for all members of a workgroup
  const uint low = result_bits(2u * word), high = result_bits(2u * word + 1u);
  if (is_writer) output_words[word] = low | high << 16;
$else
  if (word >= problem.outputs) return;
  const uint bits = result_bits(word);
  if (is_writer) output_words[word] = bits;
$end
}
