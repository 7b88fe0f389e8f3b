// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/reflect/module.h"

#define SPV_ENABLE_UTILITY_CODE
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <spirv/unified1/spirv.hpp>

#include "codegen/reflect/fault.h"

namespace qgen::reflect {
namespace {

constexpr uint32_t kLargestBound = 0x3fffff;  // SPIR-V's universal limit

Diagnostics damaged(std::string what) { return fault("the SPIR-V is damaged: " + what); }

// The result of a 32-bit integer operation of OpSpecConstantOp; a division by zero is undefined there, and 0 here.
std::optional<uint32_t> apply(spv::Op op, uint32_t a, uint32_t b) {
  const auto signed_a = static_cast<int32_t>(a);
  const auto signed_b = static_cast<int32_t>(b);
  const bool divides = b != 0 && !(a == 0x80000000u && signed_b == -1);
  const uint32_t shift = b & 31;
  switch (op) {
    case spv::OpUConvert:
    case spv::OpSConvert: return a;
    case spv::OpSNegate: return 0 - a;
    case spv::OpNot: return ~a;
    case spv::OpLogicalNot: return a == 0;
    case spv::OpIAdd: return a + b;
    case spv::OpISub: return a - b;
    case spv::OpIMul: return a * b;
    case spv::OpUDiv: return b == 0 ? 0 : a / b;
    case spv::OpUMod: return b == 0 ? 0 : a % b;
    case spv::OpSDiv: return divides ? static_cast<uint32_t>(signed_a / signed_b) : 0;
    case spv::OpSRem: return divides ? static_cast<uint32_t>(signed_a % signed_b) : 0;
    case spv::OpSMod: return divides ? static_cast<uint32_t>((signed_a % signed_b + signed_b) % signed_b) : 0;
    case spv::OpShiftRightLogical: return a >> shift;
    case spv::OpShiftRightArithmetic: return static_cast<uint32_t>(signed_a >> shift);
    case spv::OpShiftLeftLogical: return a << shift;
    case spv::OpBitwiseOr:
    case spv::OpLogicalOr: return a | b;
    case spv::OpBitwiseAnd:
    case spv::OpLogicalAnd: return a & b;
    case spv::OpBitwiseXor:
    case spv::OpLogicalNotEqual: return a ^ b;
    case spv::OpLogicalEqual:
    case spv::OpIEqual: return a == b;
    case spv::OpINotEqual: return a != b;
    case spv::OpULessThan: return a < b;
    case spv::OpULessThanEqual: return a <= b;
    case spv::OpUGreaterThan: return a > b;
    case spv::OpUGreaterThanEqual: return a >= b;
    case spv::OpSLessThan: return signed_a < signed_b;
    case spv::OpSLessThanEqual: return signed_a <= signed_b;
    case spv::OpSGreaterThan: return signed_a > signed_b;
    case spv::OpSGreaterThanEqual: return signed_a >= signed_b;
    default: return std::nullopt;
  }
}

bool is_small_integer_or_boolean(const Instruction& type) {
  if (type.opcode == spv::OpTypeBool) return true;
  return type.opcode == spv::OpTypeInt && Module::has(type, 2) && type.operands[0] <= 32;
}

}  // namespace

Result<Module> Module::read(Words words) {
  if (words.size() < kHeaderWords) return damaged("it ends within the header");
  if (words[0] != spv::MagicNumber) return damaged(fmt::format("it starts with {:#010x}", words[0]));
  if (words[kBoundWord] > kLargestBound) return damaged(fmt::format("{} ids", words[kBoundWord]));

  Module module;
  module.words_ = words;
  module.definitions_.resize(words[kBoundWord]);
  for (size_t at = kHeaderWords; at < words.size();) {
    const size_t length = words[at] >> spv::WordCountShift;
    if (length == 0 || length > words.size() - at) return damaged(fmt::format("the instruction at word {}", at));
    Instruction instruction;
    instruction.opcode = words[at] & spv::OpCodeMask;
    instruction.words = words.subspan(at, length);
    bool has_result = false, has_type = false;
    spv::HasResultAndType(static_cast<spv::Op>(instruction.opcode), &has_result, &has_type);
    const size_t prefix = 1 + (has_type ? 1 : 0) + (has_result ? 1 : 0);
    if (length < prefix) return damaged(fmt::format("the instruction at word {}", at));
    if (has_type) instruction.type = words[at + 1];
    if (has_result) instruction.result = words[at + prefix - 1];
    instruction.operands = instruction.words.subspan(prefix);
    if (has_result) {
      if (instruction.result == 0 || instruction.result >= module.id_bound()) {
        return damaged(fmt::format("id {} at word {}", instruction.result, at));
      }
      uint32_t& defined = module.definitions_[instruction.result];
      if (defined != 0) return damaged(fmt::format("id {} is defined twice", instruction.result));
      defined = static_cast<uint32_t>(module.instructions_.size()) + 1;
    }
    module.instructions_.push_back(instruction);
    at += length;
  }
  const auto function = std::ranges::find(module.instructions_, spv::OpFunction, &Instruction::opcode);
  module.declarations_ = static_cast<size_t>(function - module.instructions_.begin());
  return module;
}

const Instruction& Module::definition(uint32_t id) const {
  static const Instruction kNothing;
  if (id >= definitions_.size() || definitions_[id] == 0) return kNothing;
  return instructions_[definitions_[id] - 1];
}

Constants::Constants(const Module& module, const Specialization& specialization) : values_(module.id_bound()) {
  std::map<uint32_t, uint32_t> given;  // by id of the constant
  for (const Instruction& instruction : module.declarations()) {
    if (instruction.opcode == spv::OpDecorate && Module::has(instruction, 3) &&
        instruction.operands[1] == spv::DecorationSpecId) {
      for (size_t i = 0; i < specialization.ids.size(); ++i) {
        if (specialization.ids[i] == instruction.operands[2]) given[instruction.operands[0]] = specialization.values[i];
      }
    }
    if (instruction.result == 0) continue;
    Value& value = values_[instruction.result] = evaluate(module, instruction);
    const auto chosen = given.find(instruction.result);
    if (value.scalar && chosen != given.end()) value.scalar = chosen->second;
  }
}

Constants::Value Constants::evaluate(const Module& module, const Instruction& instruction) const {
  Value value;
  switch (instruction.opcode) {
    case spv::OpConstantTrue:
    case spv::OpSpecConstantTrue: value.scalar = 1; break;
    case spv::OpConstantFalse:
    case spv::OpSpecConstantFalse:
    case spv::OpConstantNull: value.scalar = 0; break;
    case spv::OpConstant:
    case spv::OpSpecConstant:
      if (is_small_integer_or_boolean(module.definition(instruction.type)) && Module::has(instruction, 1)) {
        value.scalar = instruction.operands[0];
      }
      break;
    case spv::OpConstantComposite:
    case spv::OpSpecConstantComposite: value.parts = instruction.operands; break;
    case spv::OpSpecConstantOp: value.scalar = compute(module, instruction); break;
    default: break;
  }
  return value;
}

std::optional<uint32_t> Constants::compute(const Module& module, const Instruction& instruction) const {
  if (!Module::has(instruction, 2) || !is_small_integer_or_boolean(module.definition(instruction.type))) return {};
  const auto op = static_cast<spv::Op>(instruction.operands[0]);
  const Words operands = instruction.operands.subspan(1);
  if (op == spv::OpCompositeExtract && operands.size() == 2) {
    const auto composite = parts(operands[0]);
    return operands[1] < composite.size() ? scalar(composite[operands[1]]) : std::nullopt;
  }
  if (op == spv::OpSelect && operands.size() == 3) {
    const auto condition = scalar(operands[0]);
    return condition ? scalar(operands[*condition ? 1 : 2]) : std::nullopt;
  }
  const auto a = scalar(operands[0]);
  const auto b = operands.size() > 1 ? scalar(operands[1]) : std::optional<uint32_t>(0);
  return a && b ? apply(op, *a, *b) : std::nullopt;
}

const Constants::Value& Constants::value(uint32_t id) const {
  static const Value kNothing;
  return id < values_.size() ? values_[id] : kNothing;
}
std::optional<uint32_t> Constants::scalar(uint32_t id) const { return value(id).scalar; }
std::span<const uint32_t> Constants::parts(uint32_t id) const { return value(id).parts; }

}  // namespace qgen::reflect
