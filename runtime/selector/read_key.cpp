// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// problem_of(): a key is words between blanks, the operator's name and then `name=value`. They are taken by name, so a
// key with its fields in another order is the same key.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "runtime/selector/problem.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  parts.reserve(1 + static_cast<size_t>(std::ranges::count(text, separator)));
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
  const auto set = [&](size_t i, std::string_view value) {
    const auto bits = bits_of(field, value);
    if (bits) std::memcpy(fields.data() + field.offset + i * sizeof(*bits), &*bits, sizeof(*bits));
    return bits.has_value();
  };
  if (field.count == 1) return set(0, text);
  const auto values = split(text, ',');
  if (values.size() != field.count) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!set(i, values[i])) return false;
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

// The words of a key behind the operator; each is taken once, mostly in their order.
class Words {
 public:
  explicit Words(size_t count) { words_.reserve(count); }
  // Nullopt: there is none of this name.
  std::optional<std::string_view> take(std::string_view name) {
    for (size_t i = 0; i < words_.size(); ++i) {
      const size_t place = (next_ + i) % words_.size();
      Word& word = words_[place];
      if (word.is_taken || word.name != name) continue;
      word.is_taken = true;
      next_ = place + 1;
      return word.value;
    }
    return std::nullopt;
  }
  bool add(std::string_view word) {
    const size_t sign = word.find('=');
    const std::string_view name = word.substr(0, sign);
    if (sign == word.npos || std::ranges::find(words_, name, &Word::name) != words_.end()) return false;
    words_.push_back({name, word.substr(sign + 1)});
    return true;
  }
  // The first that nobody took, or empty.
  std::string_view left() const {
    const auto word = std::ranges::find(words_, false, &Word::is_taken);
    return word == words_.end() ? std::string_view() : word->name;
  }

 private:
  struct Word {
    std::string_view name, value;
    bool is_taken = false;
  };
  std::vector<Word> words_;
  size_t next_ = 0;
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
  problem.operands.reserve(op.operands.size());
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
  Words words(parts.size());
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
