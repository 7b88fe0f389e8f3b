// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/compile/exact_arithmetic.h"

#include <array>
#include <set>
#include <span>

#include "codegen/compile/instructions.h"

namespace qgen::compile {
namespace {

bool is_decoration(const Instruction& instruction) {
  return instruction.op == spv::Op::OpDecorate && instruction.words.size() == 3 &&
         instruction.words[2] == static_cast<uint32_t>(spv::Decoration::NoContraction);
}

std::set<uint32_t> exact_results(const Spirv& spirv) {
  std::set<uint32_t> results;
  for_each_instruction(spirv, [&](const Instruction& instruction) {
    if (is_decoration(instruction)) results.insert(instruction.words[1]);
  });
  return results;
}

// Of floating-point numbers; the third word of each is its result.
bool is_arithmetic(spv::Op op) { return op >= spv::Op::OpSNegate && op <= spv::Op::OpDot; }

// Strings stand before names and decorations, decorations before types.
bool is_behind_strings(spv::Op op) {
  return op == spv::Op::OpSource || op == spv::Op::OpSourceExtension || op == spv::Op::OpName ||
         op == spv::Op::OpMemberName || op == spv::Op::OpDecorate || op == spv::Op::OpMemberDecorate;
}
bool is_type(spv::Op op) { return op >= spv::Op::OpTypeVoid && op <= spv::Op::OpTypeForwardPointer; }

void append(Spirv& spirv, std::span<const uint32_t> words) { spirv.insert(spirv.end(), words.begin(), words.end()); }

}  // namespace

bool has_exact_arithmetic(const Spirv& spirv) { return !exact_results(spirv).empty(); }

Spirv marked(const Spirv& spirv) {
  const std::set<uint32_t> exact = exact_results(spirv);
  Spirv result(spirv.begin(), spirv.begin() + kHeaderWords);
  const uint32_t file = result[kBoundWord]++;
  bool has_file = false;
  for_each_instruction(spirv, [&](const Instruction& instruction) {
    if (!has_file && is_behind_strings(instruction.op)) {
      append(result, std::array{head(3, spv::Op::OpString), file, uint32_t{0}});
      has_file = true;
    }
    const bool is_marked = is_arithmetic(instruction.op) && exact.contains(instruction.words[2]);
    if (is_marked) append(result, std::array{head(4, spv::Op::OpLine), file, uint32_t{1}, uint32_t{1}});
    append(result, instruction.words);
    if (is_marked) append(result, std::array{head(1, spv::Op::OpNoLine)});
  });
  return result;
}

Spirv unmarked(const Spirv& spirv) {
  std::set<uint32_t> missing;
  bool is_marked = false;
  for_each_instruction(spirv, [&](const Instruction& instruction) {
    // A line also ends with its block.
    if (instruction.op == spv::Op::OpLine) is_marked = true;
    if (instruction.op == spv::Op::OpNoLine || instruction.op == spv::Op::OpLabel) is_marked = false;
    if (is_marked && is_arithmetic(instruction.op)) missing.insert(instruction.words[2]);
  });
  for (const uint32_t known : exact_results(spirv)) missing.erase(known);

  Spirv result(spirv.begin(), spirv.begin() + kHeaderWords);
  bool are_given = false;
  for_each_instruction(spirv, [&](const Instruction& instruction) {
    if (instruction.op == spv::Op::OpLine || instruction.op == spv::Op::OpNoLine ||
        instruction.op == spv::Op::OpString) {
      return;
    }
    if (!are_given && is_type(instruction.op)) {
      for (const uint32_t id : missing) {
        append(result,
               std::array{head(3, spv::Op::OpDecorate), id, static_cast<uint32_t>(spv::Decoration::NoContraction)});
      }
      are_given = true;
    }
    append(result, instruction.words);
  });
  return result;
}

}  // namespace qgen::compile
