// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of kernels that write keys and values into caches.
$include "lib/cache_rows.glsl"
$needs uint workgroup_index()
$needs Move move_of(uint element, uint width)
$needs uint first_row(uint batch)

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index < problem.batches) lengths_data[index] = int(min(first_row(index) + problem.rows, problem.capacity));
  if (index < problem.keys_count) {
    const Move move = move_of(index, problem.width);
    if (move.place == kNowhere) return;
    if (move.from != kNowhere) keys_bits[move.place] = key_bits[move.from];
    else keys_bits[move.place] = key_cache_bits[move.place];
  } else if (index < problem.items) {
    const Move move = move_of(index - problem.keys_count, problem.value_width);
    if (move.place == kNowhere) return;
    if (move.from != kNowhere) values_bits[move.place] = value_bits[move.from];
    else values_bits[move.place] = value_cache_bits[move.place];
  }
}
