// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The input of select(): an operator's generated Problem and the formats of its operands; and its problem key, the same
// as text.
//
//   make_problem(scale_rows::Problem{.rows = 4, .width = 1024, .alpha = 0.5}, {.input = x.desc(), .output = y.desc()})
//   key_of(problem)            // "scale_rows rows=4 width=1024 input=f32:strided factor=none output=f32:strided"
//   problem_of(key, library)   // the same with alpha = 0, on which no choice depends
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/library/error.h"
#include "runtime/engine/library/kernel_library.h"

namespace qgen {

// One operand as the caller has it.
struct OperandDesc {
  DType dtype = DType::f32;
  Storage storage = Storage::buffer;
  Layout layout = Layout::strided;
  bool is_present = true;      // false: an optional operand that is left out
  uint32_t other_layouts = 0;  // bit(Layout) each: layouts that it can be had in as well, as a weight in its forms
  // What the Problem's fields were made for. select() does not read it; Executor::record() accepts no other. nullopt:
  // the caller answers for it.
  std::optional<std::vector<int64_t>> shape = std::nullopt;
  static OperandDesc left_out() { return {.is_present = false}; }
  friend bool operator==(const OperandDesc&, const OperandDesc&) = default;
};

// "f32 [3, 4]", or "i8 packed_4c [1, 8, 5, 5]"; of one without a shape "f32 buffer".
std::string operand_text(const OperandDesc& operand);

// The operator's generated Problem struct, held as bytes, and its operands. Typed callers use make_problem().
struct Problem {
  const OperatorInfo* op = nullptr;
  std::vector<std::byte> fields;  // op->problem_bytes
  std::vector<OperandDesc> operands;
  friend bool operator==(const Problem& a, const Problem& b);
};

// `fields`: the bytes of the operator's Problem struct; operands in the operator's order.
Problem make_problem(const OperatorInfo& op, std::span<const std::byte> fields, std::vector<OperandDesc> operands);
// The same of generated structs, where nothing has a place but a name.
template <typename Fields>
Problem make_problem(const Fields& fields, const typename Fields::template Operands<OperandDesc>& operands) {
  return make_problem(*Fields::kOperator, std::as_bytes(std::span(&fields, 1)), in_order(operands));
}

// The problem in words: the operator, each field on which a choice can depend (not FieldInfo::is_data: scales, zero
// points) and each operand, in the spec's order. It is the same on every machine and in every build, wherever a field
// is in the struct. Two problems with one key are one question to select(). Of a problem that has all fields and
// operands of its operator.
//
// An operand is its dtype and the layouts that it can be had in: "i8:weight_q8_4k4n|weight_q8_rows"; or "none".
std::string key_of(const Problem& problem);
// The operator that a key names first.
inline std::string_view operator_of(std::string_view key) { return key.substr(0, key.find(' ')); }

// The problem that has this key; fields that the key leaves out are 0 unless it says them all the same. Of a key that
// another version of the library wrote: which operator, field or operand is unknown, is missing or has no such value.
Expected<Problem> problem_of(std::string_view key, const KernelLibrary& library);
// The same of one operator. The error is of kind unsupported if another version of the spec may have written the key (a
// name or a word that this one lacks). Otherwise it is of kind invalid_argument: no problem of any version has such a
// key.
Expected<Problem> problem_of(std::string_view key, const OperatorInfo& op);

// One number of a field, as in a key: real numbers with as many digits as distinguish them from others.
std::string value_text(const FieldInfo& field, std::span<const std::byte> fields, size_t index = 0);

}  // namespace qgen
