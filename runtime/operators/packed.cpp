// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/packed.h"

#include "q8ta_clone.h"
#include "runtime/operators/packed_checks.h"
#include "runtime/operators/packed_walk.h"

namespace qgen {

// ---- clone -------------------------------------------------------------------------------------------------------------

Expected<Call> q8ta_clone_call(const TensorDesc& input, Layout output_layout) {
  const TensorDesc output{input.dtype, input.shape, Storage::buffer, output_layout};
  constexpr DType kBytes[] = {DType::i8, DType::u8};
  if (Done fits = check_packed("input", input, kBytes); !fits) return fits.error();
  if (Done fits = check_packed("output", output, kBytes); !fits) return fits.error();

  generated::q8ta_clone::Problem fields{};
  fill_walk(fields, walk_of(input.shape, {output.layout, input.layout, bytes_in_a_row(output.layout),
                                          bytes_in_a_row(input.layout)}));
  fill_strides(fields.input_strides, input.shape, input.layout);
  fill_strides(fields.output_strides, input.shape, output.layout);
  fields.flat_blocks = input.layout == output.layout ? flat_blocks_of(input.shape, input.layout) : 0;
  return make_call(generated::q8ta_clone::op, fields, {input, output});
}

Expected<DeviceTensor> q8ta_clone(Context& context, const DeviceTensor& input, Layout output) {
  return run_for_one(context, q8ta_clone_call(desc_of(input), output), {&input, {}});
}

}  // namespace qgen
