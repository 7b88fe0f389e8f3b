// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Conversion between four consecutive elements and the 32-bit words that contain them, element 0 in the lowest bits. A
// vectorised kernel loads and stores whole words of any element type. So most of its code needs no 8- or 16-bit
// access. The part `moved` is for kernels that only move elements.
$include "lib/float16.glsl"
$gives vec4 unpack_f32(uvec4 words)
$gives uvec4 pack_f32(vec4 x)
$gives vec4 unpack_f16(uvec2 words)
$gives uvec2 pack_f16(vec4 x)
$gives ivec4 unpack_i8(uint word)
$gives uint pack_i8(ivec4 q)
$gives ivec4 unpack_u8(uint word)
$gives uint pack_u8(ivec4 q)
$gives ivec4 unpack_i16(uvec2 words)
$gives uvec2 pack_i16(ivec4 q)
$gives ivec4 unpack_i32(uvec4 words)
$gives uvec4 pack_i32(ivec4 q)

vec4 unpack_f32(uvec4 words) { return uintBitsToFloat(words); }
uvec4 pack_f32(vec4 x) { return floatBitsToUint(x); }

vec4 unpack_f16(uvec2 words) {
  return vec4(f16_to_f32(words.x & 0xffffu), f16_to_f32(words.x >> 16),
              f16_to_f32(words.y & 0xffffu), f16_to_f32(words.y >> 16));
}
uvec2 pack_f16(vec4 x) {
  return uvec2(f32_to_f16(x.x) | (f32_to_f16(x.y) << 16), f32_to_f16(x.z) | (f32_to_f16(x.w) << 16));
}

ivec4 unpack_i8(uint word) {
  const int w = int(word);
  return ivec4(bitfieldExtract(w, 0, 8), bitfieldExtract(w, 8, 8), bitfieldExtract(w, 16, 8), w >> 24);
}
ivec4 unpack_u8(uint word) {
  return ivec4(word & 0xffu, (word >> 8) & 0xffu, (word >> 16) & 0xffu, word >> 24);
}
uint pack_i8(ivec4 q) {
  return (uint(q.x) & 0xffu) | ((uint(q.y) & 0xffu) << 8) | ((uint(q.z) & 0xffu) << 16) | (uint(q.w) << 24);
}
uint pack_u8(ivec4 q) { return pack_i8(q); }

ivec4 unpack_i16(uvec2 words) {
  const ivec2 w = ivec2(words);
  return ivec4(bitfieldExtract(w.x, 0, 16), w.x >> 16, bitfieldExtract(w.y, 0, 16), w.y >> 16);
}
uvec2 pack_i16(ivec4 q) {
  return uvec2((uint(q.x) & 0xffffu) | (uint(q.y) << 16), (uint(q.z) & 0xffffu) | (uint(q.w) << 16));
}

ivec4 unpack_i32(uvec4 words) { return ivec4(words); }
uvec4 pack_i32(ivec4 q) { return uvec4(q); }

$part moved
// Elements of any `dtype` as bits in words, whatever they stand for.
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
