// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/selector/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cassert>
#include <charconv>
#include <cmath>
#include <cstring>

#include "vocabulary/layouts.h"

namespace qgen {
namespace {

template <typename T>
T number_at(std::span<const std::byte> fields, size_t offset) {
  T number;
  assert(offset + sizeof(T) <= fields.size() && "the problem is its operator's");
  std::memcpy(&number, fields.data() + offset, sizeof(T));
  return number;
}

// The standard says which digits these are, in any locale; of NaN, whose sign machines choose, one word.
std::string real_text(float number) {
  if (std::isnan(number)) return "nan";
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  return {digits, end};
}

std::string field_text(const FieldInfo& field, std::span<const std::byte> fields) {
  std::vector<std::string> values;
  for (size_t i = 0; i < field.count; ++i) values.push_back(value_text(field, fields, i));
  return fmt::format("{}={}", field.name, fmt::join(values, ","));
}

// A layout says the storage too.
std::string operand_text(const OperandInfo& operand, const OperandDesc& desc) {
  if (!desc.is_present) return fmt::format("{}=none", operand.name);
  std::vector<std::string_view> layouts;
  for (const LayoutInfo& row : kLayouts) {
    if (((desc.other_layouts | bit(desc.layout)) & bit(row.layout)) != 0) layouts.push_back(row.name);
  }
  const bool is_said = info(desc.layout).storage == desc.storage;
  return fmt::format("{}={}:{}{}", operand.name, name(desc.dtype),
                     is_said ? "" : fmt::format("{}:", name(desc.storage)), fmt::join(layouts, "|"));
}

}  // namespace

// std::vector compares bytes one by one, which takes longer than all else that a look into DecisionCache does.
bool operator==(const Problem& a, const Problem& b) {
  return a.op == b.op && a.fields.size() == b.fields.size() &&
         (a.fields.empty() || std::memcmp(a.fields.data(), b.fields.data(), a.fields.size()) == 0) &&
         a.operands == b.operands;
}

Problem make_problem(const OperatorInfo& op, std::span<const std::byte> fields, std::vector<OperandDesc> operands) {
  return {&op, {fields.begin(), fields.end()}, std::move(operands)};
}

std::string value_text(const FieldInfo& field, std::span<const std::byte> fields, size_t index) {
  const size_t offset = field.offset + index * sizeof(uint32_t);  // whatever its kind
  const auto number = number_at<uint32_t>(fields, offset);
  if (number < field.words.size()) return std::string(field.words[number]);
  switch (field.kind) {
    case FieldInfo::Kind::u32: return std::to_string(number);
    case FieldInfo::Kind::i32: return std::to_string(number_at<int32_t>(fields, offset));
    case FieldInfo::Kind::f32: return real_text(number_at<float>(fields, offset));
  }
  return "";
}

std::string key_of(const Problem& problem) {
  const OperatorInfo& op = *problem.op;
  std::vector<std::string> words = {std::string(op.name)};
  for (const FieldInfo& field : op.fields) {
    if (!field.is_data) words.push_back(field_text(field, problem.fields));
  }
  for (size_t i = 0; i < op.operands.size(); ++i) words.push_back(operand_text(op.operands[i], problem.operands[i]));
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace qgen
