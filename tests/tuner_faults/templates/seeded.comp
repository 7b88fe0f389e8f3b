// 3 x + 1, with a fault of each kind that kernels have had.
#version 450
${extensions()}
${local_size(workgroup)}
${declare(input, 1)}
${declare(output, 1)}
${declare_problem()}
$include "lib/grid.glsl"

int right(uint i) { return 3 * input_data[i] + 1; }

void main() {
  const uint i = workgroup_index() * ${workgroup} + gl_LocalInvocationIndex;
  if (i >= problem.numel) return;
$if fault == none
  output_data[i] = right(i);
$elif fault == none_in_steps
  int x = input_data[i];
  x += x + x;
  output_data[i] = x + 1;
$elif fault == one_too_many
  output_data[i] = right(i) + 1;
$elif fault == last_too_many
  output_data[i] = right(i) + int(i == problem.numel - 1u);
$elif fault == first_left_out
  if (i != 0u) output_data[i] = right(i);
$elif fault == tail_left_out
  if (i < (problem.numel - 1u) / 4u * 4u) output_data[i] = right(i);
$elif fault == last_group_left_out
  if (workgroup_index() != (problem.numel - 1u) / ${workgroup}) output_data[i] = right(i);
$elif fault == nothing_written
  if (input_data[i] == problem.numel) output_data[i] = 1;
$elif fault == odd_left_out
  if (i % 2u == 0u) output_data[i] = right(i);
$elif fault == written_past_the_end
  output_data[i] = right(i);
  if (i == problem.numel - 1u) output_data[(problem.numel + 3u) / 4u * 4u] = 7;
$elif fault == added_to_what_was_there
  output_data[i] += right(i);
$elif fault == saturated_to_16_bits
  output_data[i] = clamp(right(i), -32768, 32767);
$elif fault == saturated_to_8_bits
  output_data[i] = clamp(right(i), -128, 127);
$elif fault == truncated_to_16_bits
  output_data[i] = right(i) << 16 >> 16;
$elif fault == by_floats
  output_data[i] = int(3.0 * float(input_data[i]) + 1.0);
$elif fault == sign_lost
  output_data[i] = abs(right(i));
$elif fault == neighbours_swapped
  output_data[i] = right(min(i ^ 1u, problem.numel - 1u));
$elif fault == read_past_the_end
  output_data[i] = right(i + 1u);
$elif fault == two_writers
  output_data[i / 2u * 2u] = right(i);
  output_data[i] = right(i / 2u * 2u);
$elif fault == wrong_past_4096
  output_data[i] = right(i) - int(i > 4096u);
$elif fault == wrong_where_odd
  output_data[i] = right(i) + int(problem.numel % 2u == 1u);
$elif fault == zero_at_256
  output_data[i] = i % 256u == 0u ? 0 : right(i);
$end
}
