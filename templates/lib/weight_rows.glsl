// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of a weight in 16-byte loads, whatever their form: the part `q8` reads integers of eight bits, and `q4` of four.
// The part `form` is the one of these that the parameter `form` names. Products of groups need `groups`, and cooperative
// matrices of f16 `halves`. The weight is operand 1.
$needs const uint kPerLoad   // weights in a load
$gives K_SIZE
$gives N_SIZE
$gives uint loads_per_row()
$gives uint float_bits(uint bits)

// `word & mask | bits` inserts a bit field of an integer into a float whose other bits are `bits`. GPUs do that in one
// instruction, which holds one constant. Of two, compilers make two instructions: so `bits` is made a number that they
// cannot know. The includer's problem has a k, below 2^31.
uint float_bits(uint bits) { return bits | problem.k >> 31; }

layout(set = 0, binding = 1, std430) readonly restrict buffer WeightWords { uint weight_words[]; };
layout(set = 0, binding = 1, std430) readonly restrict buffer WeightLoads { uvec4 weight_loads[]; };

#ifndef K_SIZE  // lib/fixed_sizes.glsl
#define K_SIZE problem.k
#define N_SIZE problem.n
#endif
uint loads_per_row() { return (K_SIZE + kPerLoad - 1u) / kPerLoad; }

$part q8
// Reads a weight in the form weight_q8_rows: rows of 16-byte loads, four integers in a word.
//
// Kernels that take either form of rows use these names:
//
//   kPerWord, kPerLoad     weights in a word, and in a load
//   weight_at(n, k)        one weight
//   weight_quad(word, i)   quad i of the word's kQuads: four weights as f32, exactly, each divided by its kQuadScale
//   quad_element(i, lane)  which weight of the word lane `lane` of quad i is; quad_of() and lane_of() are its inverse
//   weight_bytes(word, i)  four neighbouring weights from i * 4 on, for dot products, each divided by kByteFactor
//   offset_bytes(word, i)  the same four, each plus kOffset instead
//
// Bytes become f32 without a conversion, which GPUs do at a quarter of their rate or less: an integer u below 2^23 in
// the mantissa of 2^23 is the float 2^23 + u. A field of bits stays in place, which multiplies it by a power of two.
// The activation is multiplied by kQuadScale instead, once for all its weights.
$gives const uint kPerWord
$gives const uint kPerLoad
$gives int weight_at(uint n, uint k)
$gives vec4 weight_quad(uint word, uint quad)
$gives const uint kQuads
$gives const vec4 kQuadScale
$gives uint quad_element(uint quad, uint lane)
$gives uint weight_bytes(uint word, uint i)
$gives const float kByteFactor
$gives const int kOffset
$gives uint offset_bytes(uint word, uint i)

const uint kPerWord = 4u;
const uint kPerLoad = 16u;
const uint kQuads = 1u;
const vec4 kQuadScale = vec4(1.0, 1.0 / 256.0, 1.0, 1.0 / 256.0);

$include "lib/weight_rows.glsl"

int weight_at(uint n, uint k) {
  const uint word = weight_words[4u * n * loads_per_row() + k / kPerWord];
  return bitfieldExtract(int(word), int(k % kPerWord * 8u), 8);
}

vec4 weight_quad(uint word, uint quad) {
  const uint offset = word ^ 0x80808080u;  // plus 128
  const uvec4 fields = uvec4(offset, offset, offset >> 16, offset >> 16) & uvec4(0xffu, 0xff00u, 0xffu, 0xff00u);
  return uintBitsToFloat(fields | float_bits(0x4b000000u)) - vec4(8388736.0, 8421376.0, 8388736.0, 8421376.0);
}

uint quad_element(uint quad, uint lane) { return lane; }
uint quad_of(uint element) { return 0u; }
uint lane_of(uint element) { return element; }

const float kByteFactor = 1.0;
uint weight_bytes(uint word, uint i) { return word; }

const int kOffset = 0;
uint offset_bytes(uint word, uint i) { return word; }

$part q4
// Reads a weight in the form weight_q4_rows: rows of 16-byte loads, eight integers plus 8 in a word. Byte j of a word
// holds weight j in its low nibble and weight j + 4 in its high one, so that either half of all nibbles is a packed
// vector of four neighbours. The names are those of the part `q8`, which explains how fields become floats.
$gives const uint kPerWord
$gives const uint kPerLoad
$gives const uint kQuads
$gives const vec4 kQuadScale
$gives int weight_at(uint n, uint k)
$gives vec4 weight_quad(uint word, uint quad)
$gives uint quad_element(uint quad, uint lane)
$gives const float kByteFactor
$gives uint weight_bytes(uint word, uint i)
$gives const int kOffset
$gives uint offset_bytes(uint word, uint i)

const uint kPerWord = 8u;
const uint kPerLoad = 32u;
const uint kQuads = 2u;
const vec4 kQuadScale = vec4(1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 4096.0);

$include "lib/weight_rows.glsl"

int weight_at(uint n, uint k) {
  const uint word = weight_words[4u * n * loads_per_row() + k / kPerWord];
  return int(bitfieldExtract(word, int(k % 4u * 8u + k / 4u % 2u * 4u), 4)) - 8;
}

// Quad 0 is the low half of the word: weights 0, 4, 1, 5; quad 1 the high half: 2, 6, 3, 7.
vec4 weight_quad(uint word, uint quad) {
  const uvec4 fields = uvec4(quad == 0u ? word : word >> 16) & uvec4(0xfu, 0xf0u, 0xf00u, 0xf000u);
  return uintBitsToFloat(fields | float_bits(0x4b000000u)) - vec4(8388616.0, 8388736.0, 8390656.0, 8421376.0);
}

uint quad_element(uint quad, uint lane) { return 2u * quad + lane / 2u + lane % 2u * 4u; }
uint quad_of(uint element) { return element % 4u / 2u; }
uint lane_of(uint element) { return element % 2u * 2u + element / 4u; }

// A nibble in the high half of a byte is the weight times sixteen, once its offset of 8 is gone.
const float kByteFactor = 1.0 / 16.0;
uint weight_bytes(uint word, uint i) {
  const uint signed_nibbles = word ^ 0x88888888u;
  return (i == 0u ? signed_nibbles << 4 : signed_nibbles) & 0xf0f0f0f0u;
}

const int kOffset = 8;
uint offset_bytes(uint word, uint i) { return (i == 0u ? word : word >> 4) & 0x0f0f0f0fu; }

$part form
$if form == weight_q4_rows
$include "lib/weight_rows.glsl" q4
$else
$include "lib/weight_rows.glsl" q8
$end

$part groups
// The index of the group to which a 16-byte load of a row of the weight belongs. A GEMV needs it in its innermost loop,
// where a division took up to 5 % of the time. So the loop multiplies: (load + 1/2) * (2^31 / loads_per_group) / 2^31,
// rounded down. The factor in the middle is rounded down too, by less than 1. This changes no quotient while (2 * load
// + 1) * loads_per_group is below 2^31. The kernels' largest k, 524,288, ensures that.
$needs const uint kPerLoad
$gives uint group_of_load(uint load)

uint group_factor() { return problem.groups > 1u ? 0x80000000u / (problem.group_size / kPerLoad) : 0u; }
uint group_of_load(uint load) {
  uint high, low;
  umulExtended(2u * load + 1u, group_factor(), high, low);
  return high;
}

$part halves
// Converts weights of eight or four bits exactly to f16. 0x6400 is the f16 number 1024. With an integer u below 1024 in
// its mantissa, it is the f16 number 1024 + u. A subtraction removes 1024 again.
$include "lib/weight_rows.glsl"
$gives uvec4 q8_halves(uvec4 load, uint i)
$gives uint byte_halves(uint bytes)
$gives uint low_halves(uint bytes)
$gives uint high_halves(uint bytes)
$gives uvec4 q4_halves(uvec4 load, uint i)

// Two of `even` and two of `odd`, in turns.
uvec2 as_halves(uint even, uint odd, float16_t offset) {
  const f16vec2 a = unpackFloat2x16(even | float_bits(0x64006400u)) - offset;
  const f16vec2 b = unpackFloat2x16(odd | float_bits(0x64006400u)) - offset;
  return uvec2(packFloat2x16(f16vec2(a.x, b.x)), packFloat2x16(f16vec2(a.y, b.y)));
}

// The lower bytes of both halves of a word, each a weight plus 128.
uint byte_halves(uint bytes) {
  return packFloat2x16(unpackFloat2x16(bytes & 0x00ff00ffu | float_bits(0x64006400u)) - float16_t(1152.0));
}

// The eight weights of vector `i` of a load, of the form weight_q8_rows.
uvec4 q8_halves(uvec4 load, uint i) {
  const uvec2 words = uvec2(load[2u * i], load[2u * i + 1u]) ^ 0x80808080u;  // plus 128
  const uint kLow = 0x00ff00ffu;
  return uvec4(as_halves(words.x & kLow, words.x >> 8 & kLow, float16_t(1152.0)),
               as_halves(words.y & kLow, words.y >> 8 & kLow, float16_t(1152.0)));
}

// Two neighbours are in the low nibbles of two bytes, and their neighbours four further in the high ones, as sixteen
// times their value. So two bytes, moved sixteen bits apart, give four halves by two masks.
uint low_halves(uint bytes) {
  return packFloat2x16(unpackFloat2x16(bytes & 0x000f000fu | float_bits(0x64006400u)) - float16_t(1032.0));
}

uint high_halves(uint bytes) {
  const f16vec2 fields = unpackFloat2x16(bytes & 0x00f000f0u | float_bits(0x64006400u));  // 1024 + 16 * u
  return packFloat2x16(fma(fields, f16vec2(1.0 / 16.0), f16vec2(-72.0)));
}

// The eight weights of vector `i` of a load, of the form weight_q4_rows.
uvec4 q4_halves(uvec4 load, uint i) {
  const uint word = load[i];
  const uint first = bitfieldInsert(word, word >> 8, 16, 16), second = bitfieldInsert(word >> 16, word >> 24, 16, 16);
  return uvec4(low_halves(first), low_halves(second), high_halves(first), high_halves(second));
}
