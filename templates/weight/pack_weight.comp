// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Packs plain elements into a weight form, one 32-bit word per invocation. lib/weight_form.glsl has the order of
// elements.
#version 450
${extensions()}
${local_size(workgroup)}
${declare_words(source)}
${declare_words(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/weight_form.glsl"

// Columns are runs of taps, each filled up to whole blocks.
int element_at(uvec2 place) {
  const uint in_run = place.y % problem.run;
  const uint tap = place.y / problem.run * problem.run_taps + in_run / problem.tap_channels;
  const uint channel = in_run % problem.tap_channels;
  const bool is_padding = channel >= problem.channels || in_run >= problem.run_taps * problem.tap_channels;
  if (place.x >= problem.n || is_padding) return 0;
  const uint at = (place.x * problem.channels + channel) * problem.taps + tap;
  return bitfieldExtract(int(source_words[at / 4u]), int(at % 4u * 8u), 8);
}

void main() {
  const uint index = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (index < problem.words) output_words[index] = word_at(index);
}
