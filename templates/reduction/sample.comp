// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A workgroup draws an element of its row: docs/reduction.md. First it finds the top_k-th largest logit, digit by digit
// of 8 bits, with a histogram of each digit (radix select). Then each element that is as large gets a random number,
// and the greatest sum of logit and noise wins (Gumbel-max), so no sums over the row are needed.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_words(logits)}
${declare(top_k)}
${declare(temperature)}
${declare(seed)}
${declare(draws)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/float32.glsl"

shared uint histogram[256];
shared uint prefix, wanted;
shared float scores[${workgroup}];
shared uint places[${workgroup}];

$if dtype == f16
float logit_at(uint place) { return f16_to_f32(logits_words[place / 2u] >> 16u * (place & 1u) & 0xffffu); }
$else
float logit_at(uint place) { return uintBitsToFloat(logits_words[place]); }
$end

// Unsigned integers in the order of the floats; NaN is 0, below all others.
uint key_of(float x) {
  const uint bits = floatBitsToUint(x);
  if ((bits & kMagnitude) > kInfinity) return 0u;
  if ((bits & kMagnitude) == 0u) return ~kMagnitude;   // -0 is 0
  return (bits & ~kMagnitude) != 0u ? ~bits : bits | ~kMagnitude;
}

// The key of the top_k-th largest element; 0 if there are fewer.
uint least_key(uint first) {
  const int asked = top_k_data[0];
  if (asked <= 0 || uint(asked) >= problem.columns) return 0u;
  if (gl_LocalInvocationIndex == 0u) {
    prefix = 0u;
    wanted = uint(asked);
  }
  for (uint shift = 32u; shift > 0u;) {
    shift -= 8u;
    for (uint i = gl_LocalInvocationIndex; i < 256u; i += ${workgroup}) histogram[i] = 0u;
    barrier();
    const uint begun = prefix;
    for (uint i = gl_LocalInvocationIndex; i < problem.columns; i += ${workgroup}) {
      const uint key = key_of(logit_at(first + i));
      const bool is_in = shift == 24u || (key ^ begun) >> (shift + 8u) == 0u;
      if (is_in) atomicAdd(histogram[key >> shift & 0xffu], 1u);
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
      uint digit = 255u, left = wanted;
      while (digit > 0u && histogram[digit] < left) {
        left -= histogram[digit];
        digit -= 1u;
      }
      prefix = begun | digit << shift;
      wanted = left;
    }
    barrier();
  }
  return prefix;
}

// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011): its first word.
uint philox(uvec4 counter, uvec2 key) {
  for (uint round = 0u; round < 10u; ++round) {
    uint high_0, low_0, high_1, low_1;
    umulExtended(0xd2511f53u, counter.x, high_0, low_0);
    umulExtended(0xcd9e8d57u, counter.z, high_1, low_1);
    counter = uvec4(high_1 ^ counter.y ^ key.x, low_1, high_0 ^ counter.w ^ key.y, low_0);
    key += uvec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return counter.x;
}

// The natural logarithm of a normal number above 0 (Cephes' logf), by sums and products that are each rounded once.
float logarithm(float x) {
  const uint bits = floatBitsToUint(x);
  const int e = int(bits - 0x3f3504f3u) >> 23;
  precise const float f = uintBitsToFloat(bits - uint(e << 23)) - 1.0;
  precise const float z = f * f, exponent = float(e);
  precise float p = 7.0376836292e-2;
  p = p * f - 1.1514610310e-1;
  p = p * f + 1.1676998740e-1;
  p = p * f - 1.2420140846e-1;
  p = p * f + 1.4249322787e-1;
  p = p * f - 1.6668057665e-1;
  p = p * f + 2.0000714765e-1;
  p = p * f - 2.4999993993e-1;
  p = p * f + 3.3333331174e-1;
  precise float y = p * f * z;
  y = y + exponent * -2.12194440e-4;
  y = y - 0.5 * z;
  precise const float sum = f + y;
  precise const float result = sum + exponent * 0.693359375;
  return result;
}

// -log(-log u), with u between 0 and 1: an odd multiple of 2^-24.
float noise(uint element, uint row) {
  const uvec4 counter = uvec4(element, draws_data[2u * row + 1u], draws_data[2u * row], 0u);
  const uint word = philox(counter, uvec2(seed_data[0], seed_data[1]));
  const float u = float((word >> 8) | 1u) / 16777216.0;
  return -logarithm(-logarithm(u));
}

// Of two candidates the one with the greater score, and of equal ones the earlier. None is 0xffffffff.
bool is_better(float a, uint a_place, float b, uint b_place) {
  if (a_place == 0xffffffffu || b_place == 0xffffffffu) return b_place == 0xffffffffu;
  return a > b || (a == b && a_place < b_place);
}

void main() {
  const uint row = workgroup_index();
  if (row >= problem.rows) return;
  const uint first = row * problem.columns, least = max(least_key(first), 1u), self = gl_LocalInvocationIndex;
  float best = 0.0;
  uint place = 0xffffffffu;
  for (uint i = self; i < problem.columns; i += ${workgroup}) {
    const float logit = logit_at(first + i);
    if (key_of(logit) < least) continue;
    precise const float score = divide(logit, temperature_data[0]) + noise(i, row);
    if (is_better(score, i, best, place)) {
      best = score;
      place = i;
    }
  }
  scores[self] = best;
  places[self] = place;
  barrier();
  for (uint reach = ${workgroup} / 2u; reach > 0u; reach /= 2u) {
    if (self < reach && is_better(scores[self + reach], places[self + reach], scores[self], places[self])) {
      scores[self] = scores[self + reach];
      places[self] = places[self + reach];
    }
    barrier();
  }
  if (self == 0u) output_data[row] = places[0] == 0xffffffffu ? 0 : int(places[0]);
}
