// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A weight packed on the device (runtime/tensor/weight_form.h has the forms), byte for byte as the host packs it.
//
//   auto packed = pack_weight(context, codes, Layout::weight_q4_rows);    // codes: i8 [N, K] in a plain buffer
//   weight.keep(*std::move(packed));                                      // and no kernel makes it again
//
// Nobody looks at integers on the device: of four bits, those below -8 and above 7 become -8 and 7.
#pragma once

#include "runtime/operators/call.h"

namespace qgen {

Expected<Call> pack_weight_call(const TensorDesc& source, Layout form);
Expected<DeviceTensor> pack_weight(Context& context, const DeviceTensor& source, Layout form);

}  // namespace qgen
