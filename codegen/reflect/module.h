// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A SPIR-V module as instructions, with the values of its constants.
//
// Instructions define ids before they use them (except for pointers that are declared ahead). So one pass forward is
// enough: nothing recurses, and damaged words give a message instead of an endless loop.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/diagnostic.h"

namespace qgen::reflect {

using Words = std::span<const uint32_t>;

struct Instruction {
  uint32_t opcode = 0;
  uint32_t type = 0;    // 0: none
  uint32_t result = 0;  // 0: none
  Words operands;       // after type and result
  Words words;          // all of them, the one with opcode and length included
};

class Module {
 public:
  // The words must outlive the Module. Errors: no SPIR-V, an instruction past the end, an id out of bounds or defined
  // twice.
  static Result<Module> read(Words words);

  Words header() const { return words_.first(kHeaderWords); }
  uint32_t id_bound() const { return words_[kBoundWord]; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  // Those before the first function: entry points, decorations, types, constants and variables.
  std::span<const Instruction> declarations() const { return {instructions_.begin(), declarations_}; }
  // The instruction that defines an id; one of opcode 0 for an undefined id.
  const Instruction& definition(uint32_t id) const;

  // The first `count` operands exist: every reader of an instruction checks this first.
  static bool has(const Instruction& instruction, size_t count) { return instruction.operands.size() >= count; }

 private:
  static constexpr size_t kHeaderWords = 5;
  static constexpr size_t kBoundWord = 3;

  Words words_;
  std::vector<Instruction> instructions_;
  size_t declarations_ = 0;            // how many instructions are before the first function
  std::vector<uint32_t> definitions_;  // by id: index into instructions_ + 1, or 0
};

// A value per specialization constant id; others have their default.
struct Specialization {
  Words ids;
  Words values;
};

// Every constant of a module that is a boolean or an integer of at most 32 bits, and vectors of such.
class Constants {
 public:
  Constants(const Module& module, const Specialization& specialization);

  // nullopt: not such a constant, or computed by an operation that is not integer arithmetic.
  std::optional<uint32_t> scalar(uint32_t id) const;
  // The parts of a composite constant; empty if it is none.
  std::span<const uint32_t> parts(uint32_t id) const;

 private:
  struct Value {
    std::optional<uint32_t> scalar;
    std::span<const uint32_t> parts;
  };
  Value evaluate(const Module& module, const Instruction& instruction) const;
  std::optional<uint32_t> compute(const Module& module, const Instruction& instruction) const;
  const Value& value(uint32_t id) const;

  std::vector<Value> values_;  // by id
};

}  // namespace qgen::reflect
