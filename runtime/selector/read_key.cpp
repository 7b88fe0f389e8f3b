// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// problem_of(): a key is words between blanks, the operator's name and then `name=value`. They are taken by name, so a
// key with its fields in another order is the same key.
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <map>

#include "runtime/selector/problem.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Nullopt: `text` is no such number, or more than one.
template <typename Number>
std::optional<uint32_t> bits_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  uint32_t bits;
  static_assert(sizeof(number) == sizeof(bits));
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

std::optional<uint32_t> bits_of(const FieldInfo& field, std::string_view text) {
  const auto word = std::ranges::find(field.words, text);
  if (word != field.words.end()) return static_cast<uint32_t>(word - field.words.begin());
  switch (field.kind) {
    case FieldInfo::Kind::u32: return bits_of<uint32_t>(text);
    case FieldInfo::Kind::i32: return bits_of<int32_t>(text);
    case FieldInfo::Kind::f32: return bits_of<float>(text);
  }
  return std::nullopt;
}

// False: the text is no value of the field.
bool set_field(const FieldInfo& field, std::string_view text, std::vector<std::byte>& fields) {
  const auto values = split(text, ',');
  if (values.size() != field.count) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = bits_of(field, values[i]);
    if (!bits) return false;
    std::memcpy(fields.data() + field.offset + i * sizeof(*bits), &*bits, sizeof(*bits));
  }
  return true;
}

// "f16:channels_packed", "i8:weight_q8_rows|weight_q8_panels", "f16:texture3d:strided", "none".
std::optional<OperandDesc> operand_of(std::string_view text) {
  if (text == "none") return OperandDesc{.is_present = false};
  const auto parts = split(text, ':');
  if (parts.size() != 2 && parts.size() != 3) return std::nullopt;
  const auto dtype = find_dtype(parts.front());
  if (!dtype) return std::nullopt;
  OperandDesc desc{.dtype = *dtype};
  const auto words = split(parts.back(), '|');
  for (const std::string_view word : words) {
    const auto layout = find_layout(word);
    if (!layout) return std::nullopt;
    if (word == words.front()) desc.layout = *layout;
    if (words.size() > 1) desc.other_layouts |= bit(*layout);
  }
  desc.storage = info(desc.layout).storage;
  if (parts.size() == 2) return desc;
  const auto storage = find_storage(parts[1]);
  if (!storage) return std::nullopt;
  desc.storage = *storage;
  return desc;
}

// The words of a key behind the operator; each is taken once.
class Words {
 public:
  // Nullopt: there is none of this name.
  std::optional<std::string_view> take(std::string_view name) {
    const auto found = values_.find(name);
    if (found == values_.end()) return std::nullopt;
    const std::string_view value = found->second;
    values_.erase(found);
    return value;
  }
  bool add(std::string_view word) {
    const size_t sign = word.find('=');
    return sign != word.npos && values_.emplace(word.substr(0, sign), word.substr(sign + 1)).second;
  }
  // The first that nobody took, or empty.
  std::string_view left() const { return values_.empty() ? std::string_view() : values_.begin()->first; }

 private:
  std::map<std::string_view, std::string_view> values_;
};

constexpr std::string_view kOtherVersion = "another version of the spec wrote the key: measure the problem again";

Error fault(const OperatorInfo& op, std::string message) {
  return refused(fmt::format("the key of a problem of '{}' {}", op.name, message), std::string(kOtherVersion));
}

// Empty: done.
std::string set_fields(const OperatorInfo& op, Words& words, Problem& problem) {
  for (const FieldInfo& field : op.fields) {
    const auto value = words.take(field.name);
    if (!value && field.is_data) continue;
    if (!value) return fmt::format("lacks its field '{}'", field.name);
    if (!set_field(field, *value, problem.fields)) return fmt::format("has no value of '{}': '{}'", field.name, *value);
  }
  return "";
}

std::string set_operands(const OperatorInfo& op, Words& words, Problem& problem) {
  for (const OperandInfo& operand : op.operands) {
    const auto value = words.take(operand.name);
    if (!value) return fmt::format("lacks its operand '{}'", operand.name);
    const auto desc = operand_of(*value);
    if (!desc) return fmt::format("has no form of '{}': '{}'", operand.name, *value);
    problem.operands.push_back(*desc);
  }
  return "";
}

}  // namespace

Expected<Problem> problem_of(std::string_view key, const KernelLibrary& library) {
  const auto parts = split(key, ' ');
  const OperatorInfo* op = library.find(parts.front());
  if (!op) return refused(fmt::format("no operator is named '{}', whose problem the key is of", parts.front()));
  Words words;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!words.add(parts[i])) return fault(*op, fmt::format("has '{}', which is no value or a second one", parts[i]));
  }
  Problem problem{.op = op, .fields = std::vector<std::byte>(op->problem_bytes)};
  if (std::string message = set_fields(*op, words, problem); !message.empty()) return fault(*op, std::move(message));
  if (std::string message = set_operands(*op, words, problem); !message.empty()) return fault(*op, std::move(message));
  if (!words.left().empty()) return fault(*op, fmt::format("has '{}', which is no field or operand", words.left()));
  return problem;
}

}  // namespace qgen
