// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/reflect/stub.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <spirv/unified1/spirv.hpp>

namespace qgen::reflect {
namespace {

// How many of an instruction's first operands to skip, and how many of the rest are ids. The others are literals, which
// may happen to equal the id of a dropped type.
struct IdRange {
  size_t skipped = 0;
  size_t count = SIZE_MAX;
};
constexpr IdRange kNoIds{0, 0};

// Of the instructions before the first function. The type, where there is one, is an id too and not among these.
IdRange ids_among_operands(const Instruction& instruction) {
  switch (instruction.opcode) {
    case spv::OpTypeVector:
    case spv::OpTypeMatrix:
    case spv::OpTypeImage:
    case spv::OpTypeRuntimeArray:
    case spv::OpTypeSampledImage:
    case spv::OpDecorate:
    case spv::OpMemberDecorate:
    case spv::OpDecorateString:
    case spv::OpMemberDecorateString:
    case spv::OpDecorateId:
    case spv::OpName:
    case spv::OpMemberName:
    case spv::OpTypeForwardPointer:
    case spv::OpExecutionMode:
    case spv::OpExecutionModeId: return {0, 1};
    case spv::OpTypePointer:
    case spv::OpVariable:
    case spv::OpSpecConstantOp: return {1, SIZE_MAX};
    case spv::OpTypeArray:
    case spv::OpTypeStruct:
    case spv::OpTypeFunction:
    case spv::OpConstantComposite:
    case spv::OpSpecConstantComposite: return {};
    default: return kNoIds;
  }
}

// Types that SPIRV-Cross does not know and no interface contains.
bool is_foreign_type(uint32_t opcode) {
  return opcode == spv::OpTypeCooperativeMatrixKHR || opcode == spv::OpTypeCooperativeMatrixNV ||
         opcode == spv::OpTypeTensorLayoutNV || opcode == spv::OpTypeTensorViewNV;
}

class StubWriter {
 public:
  explicit StubWriter(const Module& module) : module_(module), is_dropped_(module.id_bound()) {}

  std::vector<uint32_t> write() {
    find_dropped();
    words_.assign(module_.header().begin(), module_.header().end());
    for (const Instruction& instruction : module_.declarations()) {
      if (instruction.opcode == spv::OpEntryPoint) write_entry_point(instruction);
      else if (!names_dropped(instruction)) append(instruction.words);
    }
    write_empty_functions();
    return std::move(words_);
  }

 private:
  void find_dropped() {
    bool is_in_function = false;
    for (const Instruction& instruction : module_.instructions()) {
      is_in_function |= instruction.opcode == spv::OpFunction;
      if (instruction.result == 0) continue;
      const bool is_entry = instruction.opcode == spv::OpFunction && is_entry_point(instruction.result);
      is_dropped_[instruction.result] =
          is_in_function ? !is_entry : is_foreign_type(instruction.opcode) || names_dropped(instruction);
    }
  }

  bool is_entry_point(uint32_t function) const {
    return std::ranges::any_of(module_.declarations(), [&](const Instruction& instruction) {
      return instruction.opcode == spv::OpEntryPoint && Module::has(instruction, 2) &&
             instruction.operands[1] == function;
    });
  }

  bool is_dropped(uint32_t id) const { return id < is_dropped_.size() && is_dropped_[id]; }

  bool names_dropped(const Instruction& instruction) const {
    if (is_dropped(instruction.type) || is_dropped(instruction.result)) return true;
    const IdRange range = ids_among_operands(instruction);
    const Words operands = instruction.operands;
    if (operands.size() <= range.skipped) return false;
    const Words ids = operands.subspan(range.skipped, std::min(range.count, operands.size() - range.skipped));
    return std::ranges::any_of(ids, [this](uint32_t id) { return is_dropped(id); });
  }

  void append(Words words) { words_.insert(words_.end(), words.begin(), words.end()); }

  // The interface of an entry point lists variables; some may have been removed.
  void write_entry_point(const Instruction& instruction) {
    const auto ends_string = [](uint32_t word) {
      return (word & 0xff) == 0 || (word & 0xff00) == 0 || (word & 0xff0000) == 0 || (word & 0xff000000) == 0;
    };
    constexpr size_t kNameStart = 3;  // after the instruction's first word, the execution model and the function
    if (instruction.words.size() <= kNameStart) return append(instruction.words);
    auto name_end = std::find_if(instruction.words.begin() + kNameStart, instruction.words.end(), ends_string);
    if (name_end != instruction.words.end()) ++name_end;
    const size_t start = words_.size();
    words_.insert(words_.end(), instruction.words.begin(), name_end);
    std::copy_if(name_end, instruction.words.end(), std::back_inserter(words_),
                 [this](uint32_t id) { return !is_dropped(id); });
    words_[start] = static_cast<uint32_t>((words_.size() - start) << spv::WordCountShift) | spv::OpEntryPoint;
  }

  void write_empty_functions() {
    uint32_t label = module_.id_bound();
    for (const Instruction& instruction : module_.instructions()) {
      if (instruction.opcode != spv::OpFunction || is_dropped(instruction.result)) continue;
      append(instruction.words);
      append(std::array<uint32_t, 4>{2u << spv::WordCountShift | spv::OpLabel, label++,
                                     1u << spv::WordCountShift | spv::OpReturn,
                                     1u << spv::WordCountShift | spv::OpFunctionEnd});
    }
    constexpr size_t kBoundWord = 3;
    words_[kBoundWord] = label;
  }

  const Module& module_;
  std::vector<bool> is_dropped_;
  std::vector<uint32_t> words_;
};

}  // namespace

std::vector<uint32_t> interface_stub(const Module& module) { return StubWriter(module).write(); }

}  // namespace qgen::reflect
