// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// problem_of(): a key is words between blanks, the operator's name and then `name=value`. They are read by name, so a
// key with its fields in another order is the same key.
#include "runtime/engine/selector/read_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "vocabulary/layouts.h"

namespace qgen {
namespace {

// The next part of `text`, from `begin`, which moves past its end; false: there is none.
bool next_part(std::string_view text, char separator, size_t& begin, std::string_view& part) {
  if (begin > text.size()) return false;
  const size_t end = std::min(text.find(separator, begin), text.size());
  part = text.substr(begin, end - begin);
  begin = end + 1;
  return true;
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
  size_t count = 0, begin = 0;
  for (std::string_view value; next_part(text, ',', begin, value); ++count) {
    if (count == field.count || !set(count, value)) return false;
  }
  return count == field.count;
}

// "f16:channels_packed", "i8:weight_q8_4k4n|weight_q8_rows", "f16:texture3d:strided", "none". Of several layouts, those
// that this version does not have are left out: a weight can no longer be had in them.
std::optional<OperandDesc> operand_of(std::string_view text) {
  if (text == "none") return OperandDesc::left_out();
  const size_t first = text.find(':'), last = text.rfind(':');
  const auto dtype = find_dtype(text.substr(0, first));
  if (!dtype || last == text.npos) return std::nullopt;
  OperandDesc desc{.dtype = *dtype};
  size_t count = 0, begin = last + 1;
  for (std::string_view word; next_part(text, '|', begin, word); ++count) {
    if (word.empty()) return std::nullopt;
    const auto layout = find_layout(word);
    if (!layout) continue;
    if (desc.other_layouts == 0) desc.layout = *layout;
    desc.other_layouts |= bit(*layout);
  }
  if (desc.other_layouts == 0) return std::nullopt;
  if (count == 1) desc.other_layouts = 0;
  desc.storage = info(desc.layout).storage;
  if (first == last) return desc;
  const auto storage = find_storage(text.substr(first + 1, last - first - 1));
  if (!storage) return std::nullopt;
  desc.storage = *storage;
  return desc;
}

// The words of a key after the operator. Each is read once, mostly in order, so a repeated name remains.
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
    if (sign == word.npos) return false;
    words_.push_back({word.substr(0, sign), word.substr(sign + 1)});
    return true;
  }
  // The first that nobody took.
  std::optional<std::string_view> left() const {
    const auto word = std::ranges::find(words_, false, &Word::is_taken);
    return word == words_.end() ? std::nullopt : std::optional(word->name);
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

Error of_other_version(const OperatorInfo& op, std::string_view message) {
  return {Error::Kind::unsupported, fmt::format("the key of a problem of '{}' {}", op.name, message),
          std::string(kOtherVersion)};
}

Error of_no_version(const OperatorInfo& op, std::string_view message) {
  return refused(fmt::format("the key of a problem of '{}' {}", op.name, message));
}

Done set_fields(const OperatorInfo& op, Words& words, Problem& problem) {
  for (const FieldInfo& field : op.fields) {
    const auto value = words.take(field.name);
    if (!value && field.is_data) continue;
    if (!value) return of_other_version(op, fmt::format("lacks its field '{}'", field.name));
    if (set_field(field, *value, problem.fields)) continue;
    const std::string message = fmt::format("has an invalid value of '{}': '{}'", field.name, *value);
    return field.words.empty() ? of_no_version(op, message) : of_other_version(op, message);
  }
  return std::monostate{};
}

// "i8:weight_q2_rows", which another version may have.
bool is_of_unknown_layouts(std::string_view format) {
  const size_t sign = format.find(':');
  if (sign == format.npos || !find_dtype(format.substr(0, sign))) return false;
  const std::string_view layouts = format.substr(sign + 1);
  return !layouts.empty() && std::ranges::all_of(layouts, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '|';
  });
}

Done set_operands(const OperatorInfo& op, Words& words, Problem& problem) {
  problem.operands.reserve(op.operands.size());
  for (const OperandInfo& operand : op.operands) {
    const auto value = words.take(operand.name);
    if (!value) return of_other_version(op, fmt::format("lacks its operand '{}'", operand.name));
    const auto desc = operand_of(*value);
    if (!desc) {
      const std::string message = fmt::format("has an invalid format of '{}': '{}'", operand.name, *value);
      return is_of_unknown_layouts(*value) ? of_other_version(op, message) : of_no_version(op, message);
    }
    problem.operands.push_back(*desc);
  }
  return std::monostate{};
}

// From the first word in which two texts differ to the last; equal texts: empty.
struct Differing {
  std::string_view a, b;
};
Differing differing_words(std::string_view a, std::string_view b) {
  const size_t least = std::min(a.size(), b.size());
  auto begin = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  if (begin == least && a.size() == b.size()) return {};
  begin = begin == 0 ? 0 : a.rfind(' ', begin - 1) + 1;
  size_t end = 0;  // how many letters of both ends are equal
  while (end < least - begin && a[a.size() - end - 1] == b[b.size() - end - 1]) ++end;
  while (end > 0 && a[a.size() - end] != ' ') --end;
  return {a.substr(begin, a.size() - end - begin), b.substr(begin, b.size() - end - begin)};
}

// "name=value"; without a sign the value is empty.
std::pair<std::string_view, std::string_view> halves(std::string_view word) {
  const size_t sign = std::min(word.find('='), word.size());
  return {word.substr(0, sign), word.substr(std::min(sign + 1, word.size()))};
}

bool set(Problem& problem, std::string_view name, std::string_view value) {
  const auto& fields = problem.op->fields;
  if (const auto field = std::ranges::find(fields, name, &FieldInfo::name); field != fields.end()) {
    return set_field(*field, value, problem.fields);
  }
  const auto& operands = problem.op->operands;
  const auto operand = std::ranges::find(operands, name, &OperandInfo::name);
  if (operand == operands.end()) return false;
  const auto desc = operand_of(value);
  if (desc) problem.operands[static_cast<size_t>(operand - operands.begin())] = *desc;
  return desc.has_value();
}

}  // namespace

std::optional<Problem> problem_beside(std::string_view key, std::string_view other_key, const Problem& other) {
  if (operator_of(key) != operator_of(other_key)) return std::nullopt;
  const Differing differing = differing_words(other_key, key);
  Problem problem = other;
  size_t begin_a = 0, begin_b = 0;
  if (differing.b.empty()) return differing.a.empty() ? std::optional(std::move(problem)) : std::nullopt;
  for (std::string_view a, b; next_part(differing.a, ' ', begin_a, a);) {
    if (!next_part(differing.b, ' ', begin_b, b) || halves(a).first != halves(b).first) return std::nullopt;
    if (!set(problem, halves(b).first, halves(b).second)) return std::nullopt;
  }
  return begin_b > differing.b.size() ? std::optional(std::move(problem)) : std::nullopt;
}

Expected<Problem> problem_of(std::string_view key, const KernelLibrary& library) {
  std::string_view word;
  size_t begin = 0;
  (void)next_part(key, ' ', begin, word);
  const OperatorInfo* op = library.find(word);
  if (!op) return refused(fmt::format("the key names the operator '{}', which does not exist", word));
  return problem_of(key, *op);
}

Expected<Problem> problem_of(std::string_view key, const OperatorInfo& op) {
  std::string_view word;
  size_t begin = 0;
  (void)next_part(key, ' ', begin, word);
  Words words(op.fields.size() + op.operands.size());
  while (next_part(key, ' ', begin, word)) {
    if (!words.add(word)) return of_no_version(op, fmt::format("has '{}', which is not written name=value", word));
  }
  Problem problem{.op = &op, .fields = std::vector<std::byte>(op.problem_bytes)};
  if (Done set = set_fields(op, words, problem); !set) return set.error();
  if (Done set = set_operands(op, words, problem); !set) return set.error();
  if (const auto left = words.left()) {
    return of_other_version(op, fmt::format("has '{}', which is no field or operand, or is given twice", *left));
  }
  return problem;
}

}  // namespace qgen
