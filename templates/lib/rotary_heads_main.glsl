// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The main() of kernels that rotate queries and keys and write caches.
void move_pair(Head head, uint pair) {
  const uint at = 2u * pair, count = min(problem.width - at, 2u);
  for (uint i = 0u; i < count; ++i) {
    const uint bits = head.is_new ? new_bits(head.part, head.from + at + i) : cached_bits(head.part, head.to + at + i);
    store(head.part, head.to + at + i, bits);
  }
}

void rotate_pair(Head head, uint pair) {
  float c = 0.0, s = 0.0;
  if (head.position < problem.table_rows) {
    c = real_of(uint(cos_bits[head.position * problem.angles + pair]));
    s = real_of(uint(sin_bits[head.position * problem.angles + pair]));
  }
  const uint at = ${are_neighbours} ? 2u * pair : pair, behind = at + (${are_neighbours} ? 1u : problem.angles);
  const float x = real_of(new_bits(head.part, head.from + at)), other = real_of(new_bits(head.part, head.from + behind));
  precise const float y = x * c - other * s;
  precise const float z = other * c + x * s;
  store(head.part, head.to + at, bits_of(y));
  store(head.part, head.to + behind, bits_of(z));
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index < problem.batches) lengths_data[index] = int(min(first_row(index) + problem.rows, problem.capacity));
  if (index >= problem.items) return;
  Head head;
  uint rest = index;
  if (index < problem.query_pairs) {
    head = query_head(index / problem.half_width);
  } else {
    rest -= problem.query_pairs;
    const uint part = rest < problem.key_pairs ? kKeys : kValues;
    if (part == kValues) rest -= problem.key_pairs;
    if (rest >= problem.key_pairs) return;   // there may be more batches than pairs
    head = key_head(part, rest / problem.half_width);
  }
  if (!head.is_stored) return;
  const uint pair = rest % problem.half_width;
  if (head.is_new && head.part != kValues && pair < problem.angles) rotate_pair(head, pair);
  else move_pair(head, pair);
}
