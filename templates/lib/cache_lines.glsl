// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Writes keys and values into int8 caches. The part `codes` quantizes their rows, and `main` is the main() of kernels
// that do nothing else.

$part codes
// Quantizes a row of an int8 cache (docs/movement.md). The invocations of a workgroup share the row.
//
//   scale = RN(the greatest magnitude / 127); NaN if the row has a NaN or an infinity
//   code  = clamp(round_half_even(x * RN(1 / scale)), -127, 127); 0 if the scale is 0 or NaN
$include "lib/float16.glsl"
$include "lib/affine.glsl"
$gives float row_scale(uint magnitude)
$gives float inverse_of(float scale)
$gives uint code_of(float x, float inverse_scale)
$gives float real_of(uint bits)

shared uint greatest_magnitude;

// `magnitude`: the bits of the greatest one that this invocation has. All invocations call this, once.
float row_scale(uint magnitude) {
  if (gl_LocalInvocationIndex == 0u) greatest_magnitude = 0u;
  barrier();
  atomicMax(greatest_magnitude, magnitude);
  barrier();
  if (greatest_magnitude >= kInfinity) return uintBitsToFloat(kNan);
  return divide(uintBitsToFloat(greatest_magnitude), 127.0);
}

float inverse_of(float scale) { return floatBitsToUint(scale) == 0u ? 0.0 : quantizer(scale); }

// As a byte.
uint code_of(float x, float inverse_scale) { return uint(quantize(x, inverse_scale, 0, -127, 127)) & 0xffu; }

// An element of the new rows.
$if dtype == f16
float real_of(uint bits) { return f16_to_f32(bits); }
$else
float real_of(uint bits) { return uintBitsToFloat(bits); }
$end

$part main
// The main() of kernels that quantize keys and values and write them into caches. A workgroup has a row of a head.
$include "lib/cache_lines.glsl" codes
$include "lib/cache_rows.glsl"
$needs uint workgroup_index()
$needs CacheRow cache_row(uint line)

float new_element(bool is_key, uint at) { return real_of(is_key ? uint(key_bits[at]) : uint(value_bits[at])); }

void store(bool is_key, uint at, uint code) {
  if (is_key) keys_bits[at] = uint8_t(code);
  else values_bits[at] = uint8_t(code);
}

void main() {
  const uint group = workgroup_index(), here = gl_LocalInvocationIndex;
  const uint index = group * ${workgroup} + here;
  if (index < problem.batches) lengths_data[index] = int(min(first_row(index) + problem.rows, problem.capacity));
  if (group >= 2u * problem.lines) return;
  const bool is_key = group < problem.lines;
  const CacheRow row = cache_row(is_key ? group : group - problem.lines);
  if (!row.is_stored) return;   // the same for the whole workgroup, as below
  const uint width = is_key ? problem.width : problem.value_width, of_scale = 2u * row.place + (is_key ? 0u : 1u);
  if (!row.is_new) {
    for (uint d = here; d < width; d += ${workgroup}) {
      const uint at = row.place * width + d;
      store(is_key, at, is_key ? uint(key_cache_bits[at]) : uint(value_cache_bits[at]));
    }
    if (here == 0u) scales_bits[of_scale] = scale_cache_bits[of_scale];
    return;
  }
  const uint from = ((row.batch * problem.rows + row.row) * problem.heads + row.head) * width;
  uint magnitude = 0u;
  for (uint d = here; d < width; d += ${workgroup}) {
    magnitude = max(magnitude, floatBitsToUint(new_element(is_key, from + d)) & kMagnitude);
  }
  const float scale = row_scale(magnitude), inverse = inverse_of(scale);
  for (uint d = here; d < width; d += ${workgroup}) {
    store(is_key, row.place * width + d, code_of(new_element(is_key, from + d), inverse));
  }
  if (here == 0u) scales_bits[of_scale] = floatBitsToUint(scale);
}
