// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/operators/families.h"
#include "runtime/operators/packed.h"
#include "runtime/operators/prepare.h"

namespace qgen {
namespace {

// ---- q8ta_clone --------------------------------------------------------------------------------------------------------

constexpr TensorInfo kCloneInputs[] = {{"input", false, "i8 or u8"}};
constexpr TensorInfo kCloneOutputs[] = {{"output", false, "the same elements"}};

Expected<PreparedCall> prepare_clone(Context& context, const Request& request) {
  PreparedCall prepared;
  const auto input = upload_input(context, request, "input", prepared);
  if (!input) return input.error();
  return finished(std::move(prepared), q8ta_clone_call(desc_of(**input), place_of(request, "output").layout), {*input, {}});
}

constexpr OperatorEntry kEntries[] = {
    {"q8ta_clone", "a tensor of bytes from one layout to another", kCloneInputs, kCloneOutputs, {}, prepare_clone},
};

}  // namespace

std::span<const OperatorEntry> packed_entries() { return kEntries; }

}  // namespace qgen
