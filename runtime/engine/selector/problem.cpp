// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/selector/problem.h"

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

// The standard says which digits these are, in any locale.
template <typename Number>
void append(Number number, std::string& text) {
  char digits[32];
  text.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

void append_value(const FieldInfo& field, std::span<const std::byte> fields, size_t index, std::string& text) {
  const size_t offset = field.offset + index * sizeof(uint32_t);  // whatever its kind
  const auto number = number_at<uint32_t>(fields, offset);
  if (number < field.words.size()) {
    text += field.words[number];
    return;
  }
  switch (field.kind) {
    case FieldInfo::Kind::u32: return append(number, text);
    case FieldInfo::Kind::i32: return append(number_at<int32_t>(fields, offset), text);
    case FieldInfo::Kind::f32: {
      const float real = number_at<float>(fields, offset);
      if (!std::isnan(real)) return append(real, text);
      text += "nan";  // whose sign machines choose
    }
  }
}

// A layout says the storage too.
void append_operand(const OperandDesc& desc, std::string& text) {
  if (!desc.is_present) {
    text += "none";
    return;
  }
  text += name(desc.dtype);
  if (info(desc.layout).storage != desc.storage) text.append(":").append(name(desc.storage));
  char before = ':';
  for (const LayoutInfo& row : kLayouts) {
    if (((desc.other_layouts | bit(desc.layout)) & bit(row.layout)) == 0) continue;
    text += before;
    text += row.name;
    before = '|';
  }
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
  std::string text;
  append_value(field, fields, index, text);
  return text;
}

// Appended word by word: a problem without a choice is looked up by its key.
std::string key_of(const Problem& problem) {
  const OperatorInfo& op = *problem.op;
  std::string text;
  text.reserve(512);
  text += op.name;
  for (const FieldInfo& field : op.fields) {
    if (field.is_data) continue;
    text += ' ';
    text += field.name;
    for (size_t i = 0; i < field.count; ++i) {
      text += i == 0 ? '=' : ',';
      append_value(field, problem.fields, i, text);
    }
  }
  for (size_t i = 0; i < op.operands.size(); ++i) {
    text += ' ';
    text += op.operands[i].name;
    text += '=';
    append_operand(problem.operands[i], text);
  }
  return text;
}

}  // namespace qgen
