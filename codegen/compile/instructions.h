// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The instructions of a SPIR-V module, as words. Private to this room.
#pragma once

#include <span>
#define SPV_ENABLE_UTILITY_CODE  // spv::HasResultAndType()
#include <spirv/unified1/spirv.hpp11>

#include "codegen/compile/compile.h"

namespace qgen::compile {

constexpr size_t kHeaderWords = 5;
constexpr size_t kBoundWord = 3;  // of the header: above all ids

struct Instruction {
  spv::Op op;
  std::span<const uint32_t> words;  // the one with its opcode and length too
};

// Until the end, or until the first word that is no instruction.
template <typename Visit>
void for_each_instruction(const Spirv& spirv, Visit visit) {
  for (size_t at = kHeaderWords; at < spirv.size();) {
    const size_t words = spirv[at] >> spv::WordCountShift;
    if (words == 0 || words > spirv.size() - at) return;
    visit(Instruction{static_cast<spv::Op>(spirv[at] & spv::OpCodeMask), std::span(spirv).subspan(at, words)});
    at += words;
  }
}

// The first word of an instruction.
constexpr uint32_t head(size_t words, spv::Op op) {
  return static_cast<uint32_t>(words << spv::WordCountShift | static_cast<uint32_t>(op));
}

}  // namespace qgen::compile
