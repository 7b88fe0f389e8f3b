// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// output[b, n, pixel] = epilogue(sum over slices of partial[slice, row, n]), the end of a convolution computed as a
// matrix product. `row` is a pixel of image b. A square of sums is transposed in shared memory, so that both loads and
// stores are of adjacent elements.
#version 450
${extensions()}
${local_size(256)}
${declare(partial)}
${declare(bias)}
${declare(output)}
${declare_problem()}
$include "lib/grid.glsl"
$include "lib/float16.glsl"
$include "lib/real_elements.glsl" store
$include "lib/linear_finish.glsl"

const uint kSide = 16u;
shared float square[kSide][kSide + 1u];  // rows begin in different banks

bool is_output(uvec2 at) { return at.x < problem.m && at.y < problem.n; }

void main() {
  const uint across = (problem.n + kSide - 1u) / kSide;
  const uvec2 corner = uvec2(workgroup_index() / across, workgroup_index() % across) * kSide;
  const uvec2 own = uvec2(gl_LocalInvocationIndex / kSide, gl_LocalInvocationIndex % kSide);
  const uvec2 read = corner + own;
  if (is_output(read)) {
    float sum = 0.0;
    for (uint slice = 0u; slice < problem.slices; ++slice) {
      sum += partial_data[(slice * problem.m + read.x) * problem.n + read.y];
    }
    square[own.x][own.y] = finished(sum, read.y);
  }
  barrier();
  const uvec2 written = corner + own.yx;
  if (!is_output(written)) return;
  const uint image = written.x / problem.image_pixels;
  store_real((image * problem.n + written.y) * problem.image_pixels + written.x % problem.image_pixels,
             square[own.y][own.x]);
}
