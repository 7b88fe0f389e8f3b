// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/weight.h"

namespace qgen {

Expected<const DeviceTensor*> Weight::form(Executor& executor, Layout layout) {
  if (const auto made = forms_.find(layout); made != forms_.end()) return &made->second;
  auto packed = executor.upload(source_, Storage::buffer, layout);
  if (!packed) return packed.error();
  return &forms_.emplace(layout, *std::move(packed)).first->second;
}

}  // namespace qgen
