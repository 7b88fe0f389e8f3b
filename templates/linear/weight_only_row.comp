// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The sum of linear/weight_only_fragments.comp for one row of activations, four blocks of k at once. Each subgroup puts
// the activations of its four blocks into shared memory, in the order of the matrices. So no subgroup waits for another
// one, and the shared memory does not depend on k. For 1 x 4096 x 14336 in int4 from memory, this takes 12.9 us on an
// H200, and weight_only_fragments takes 13.6 us.
#version 450
${extensions()}
$include "lib/weight_fragments.glsl" extensions
${local_size(team.workgroup)}
$include "lib/weight_only_operands.glsl"

const bool kIsOneRow = true;
const bool kByFour = true;
#define BEGIN_BLOCKS(block) stage_blocks(block)  // in lib/weight_fragments.glsl
void stage_blocks(uint block);
$include "lib/weight_fragments.glsl"

const uint kLoads = 4u * kAtOnce;  // of four blocks
const uint kStagedVectors = kLoads * kVectors;
#define STAGED_VECTORS kSubgroups * kStagedVectors
$include "lib/staged_row.glsl"

void begin_rows(uint first_m) {}

uint staged_place(uint load, uint i) { return gl_SubgroupID * kStagedVectors + staged_at(load % kLoads, i); }

void stage_blocks(uint block) {
  subgroupBarrier();  // the blocks before have been read
  [[unroll]] for (uint first = 0u; first < kStagedVectors; first += 32u) {
    const uint i = first + gl_SubgroupInvocationID;
    const uvec4 words = input_vectors[4u * block * kVectors + i];
    staged_row[staged_place(i / kVectors, i % kVectors)] = uvec4(pairs_of(words.xy), pairs_of(words.zw));
  }
  subgroupMemoryBarrierShared();
  subgroupBarrier();
}

uvec4 activation_vector(uint row, uint load, uint i) { return staged_row[staged_place(load, i)]; }

$include "lib/staged_row.glsl" pairs
$include "lib/weight_only_operands.glsl" activation
