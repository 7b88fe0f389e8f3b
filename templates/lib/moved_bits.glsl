// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads and stores elements of any `dtype` as bits, in 32-bit words of a buffer: whatever they stand for, and without
// 8- or 16-bit access.
$gives const uint kPerWord
$gives uint bits_in(uint word, uint place)
$gives words_of

const uint kPerWord = ${4 / bytes(dtype)}u;

// An element, of the word that holds it: the word number place / kPerWord.
uint bits_in(uint word, uint place) {
$if bytes(dtype) == 4
  return word;
$elif bytes(dtype) == 2
  return word >> (16u * (place % 2u)) & 0xffffu;
$else
  return word >> (8u * (place % 4u)) & 0xffu;
$end
}

// Four elements as whole words.
$if bytes(dtype) == 4
uvec4 words_of(uvec4 all) { return all; }
$elif bytes(dtype) == 2
uvec2 words_of(uvec4 all) { return all.xz | all.yw << 16; }
$else
uint words_of(uvec4 all) { return all.x | all.y << 8 | all.z << 16 | all.w << 24; }
$end
