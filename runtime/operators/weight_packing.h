// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A weight packed on the device (runtime/tensor/weight_form.h has the forms), byte for byte as the host packs it.
//
//   auto packed = pack_weight(context, codes, Layout::weight_q4_rows);    // codes: i8 [N, K] in a plain buffer
//   weight.keep(*std::move(packed));                                      // and no kernel makes it again
//
//   auto weight = quantize_q4gsw(context, reals, scales, {});             // f32 or f16 [N, K]; scales [N, K / group]
//   auto y = linear_q4gsw(context, x, *weight, scales, nullptr, {});      // and the host never sees it
//
// Nobody looks at integers on the device: of four bits, those below -8 and above 7 become -8 and 7.
// docs/linear_weights.md says what quantize_q4gsw computes, to the bit.
#pragma once

#include "runtime/operators/affine.h"

namespace qgen {

Expected<Call> pack_weight_call(const TensorDesc& source, Layout form);
Expected<DeviceTensor> pack_weight(Context& context, const DeviceTensor& source, Layout form);

struct QuantizeQ4gswOptions {
  IntegerRange range{-8, 7};  // within
  Layout form = Layout::weight_q4_rows;
};
Expected<Call> quantize_q4gsw_call(const TensorDesc& input, const TensorDesc& scales,
                                   const QuantizeQ4gswOptions& options);
Expected<Weight> quantize_q4gsw(Context& context, const DeviceTensor& input, const DeviceTensor& scales,
                                const QuantizeQ4gswOptions& options);

}  // namespace qgen
