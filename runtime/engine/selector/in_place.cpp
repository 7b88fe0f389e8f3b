// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/in_place.h"

namespace qgen {
namespace {

bool stands_for(const Launch& launch, size_t operand, size_t whole) {
  return !launch.operands[operand].is_scratch && launch.operands[operand].index == whole;
}

// The operand of a launch that writes this operand of the whole; nullptr: none does.
const OperandInfo* writer_of(const Launch& launch, size_t whole) {
  for (size_t i = 0; i < launch.operands.size(); ++i) {
    const OperandInfo& operand = launch.op->operands[i];
    if (stands_for(launch, i, whole) && operand.access != Access::read) return &operand;
  }
  return nullptr;
}

}  // namespace

bool may_be_in_place(const Choice& choice, size_t output, size_t input) {
  bool is_written = false;
  for (const Launch& launch : choice.launches) {
    const OperandInfo* writer = writer_of(launch, output);
    for (size_t i = 0; i < launch.operands.size(); ++i) {
      if (!stands_for(launch, i, input)) continue;
      if (is_written || (writer && !writer->may_lie_in(i))) return false;
    }
    is_written = is_written || writer;
  }
  return is_written;
}

}  // namespace qgen
