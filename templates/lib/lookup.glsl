// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A lookup table for a function of an int8 value: problem.table has its 256 values, four a word, by the bits of the
// argument. In shared memory that is 64 words, which few of a subgroup's loads meet in one bank.
$gives void load_lookup_table()
$gives uint looked_up(uint byte)
$gives uvec4 looked_up_words(uvec4 words)

shared uint lookup_table[64];

// All invocations of the workgroup call this before the first lookup.
void load_lookup_table() {
  for (uint i = gl_LocalInvocationIndex; i < 64u; i += ${workgroup}) lookup_table[i] = problem.table[i];
  barrier();
}

uint looked_up(uint byte) { return lookup_table[byte / 4u] >> (8u * (byte % 4u)) & 0xffu; }

uint looked_up_word(uint word) {
  return looked_up(word & 0xffu) | looked_up(word >> 8 & 0xffu) << 8 | looked_up(word >> 16 & 0xffu) << 16 |
         looked_up(word >> 24) << 24;
}

uvec4 looked_up_words(uvec4 words) {
  return uvec4(looked_up_word(words.x), looked_up_word(words.y), looked_up_word(words.z), looked_up_word(words.w));
}
