// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The names of kernels, operands and conditions in texts for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/selector/fit.h"

namespace qgen::selector {
namespace {

// "tile.m": the field m of a record, whose fields follow each other in ids: "m64n32".
struct ConstantName {
  explicit ConstantName(std::string_view name) : own(name) {
    const size_t dot = name.find('.');
    if (dot == name.npos) return;
    record = name.substr(0, dot);
    own = name.substr(dot + 1);
  }
  std::string_view record;  // empty: a constant that belongs to no record
  std::string_view own;
};

// The text before a constant's value: a dot, unless it continues a record or is the first, and its name.
struct Before {
  std::string_view dot, name;
};
Before before_value(const OperatorInfo& op, size_t constant) {
  const ConstantName name(op.specialization_names[constant]);
  const bool goes_on = constant != 0 && !name.record.empty() &&
                       ConstantName(op.specialization_names[constant - 1]).record == name.record;
  return {constant == 0 || goes_on ? "" : ".", name.own};
}

// Takes `start` off the text.
bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}
// As specialization_id() writes it.
bool take(std::string_view& text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<size_t>(end - text.data());
  if (error != std::errc() || (digits > 1 && text.front() == '0')) return false;
  text.remove_prefix(digits);
  return true;
}

}  // namespace

std::string specialization_id(const OperatorInfo& op, size_t row) {
  std::string text;
  const uint32_t* values = op.specialization(row);
  for (size_t i = 0; i < op.specialization_names.size(); ++i) {
    const auto [dot, name] = before_value(op, i);
    text.append(dot).append(name).append(std::to_string(values[i]));
  }
  return text;
}

std::optional<size_t> specialization_row(const OperatorInfo& op, std::string_view id) {
  std::vector<uint32_t> values(op.specialization_names.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto [dot, name] = before_value(op, i);
    if (!take(id, dot) || !take(id, name) || !take(id, values[i])) return std::nullopt;
  }
  if (!id.empty()) return std::nullopt;
  for (size_t row = 0; row < op.specialization_count(); ++row) {
    if (std::ranges::equal(values, std::span(op.specialization(row), values.size()))) return row;
  }
  return std::nullopt;
}

std::string kernel_id(const OperatorInfo& op, const KernelInfo& kernel, size_t row) {
  if (op.specialization_names.empty()) return std::string(kernel.id);
  return std::string(kernel.id).append("/").append(specialization_id(op, row));
}

}  // namespace qgen::selector

namespace qgen {

std::string operand_text(const OperandDesc& operand) {
  if (!operand.shape) return selector::to_text(operand);
  const bool is_plain = operand.layout == Layout::strided || info(operand.layout).is_weight;
  return fmt::format("{} {}[{}]", name(operand.dtype), is_plain ? "" : fmt::format("{} ", name(operand.layout)),
                     fmt::join(*operand.shape, ", "));
}

}  // namespace qgen

namespace qgen::selector {

std::string to_text(const OperandDesc& desc) {
  if (desc.layout == Layout::strided) return fmt::format("{} {}", name(desc.dtype), name(desc.storage));
  return fmt::format("{} {} {}", name(desc.dtype), name(desc.storage), name(desc.layout));
}

namespace {

std::string value_text(const OperatorInfo& op, size_t name_index, const SelectionScope& scope) {
  const int64_t value = op.value(name_index, scope).value;
  const auto words = op.names[name_index].words;
  const bool is_word = value >= 0 && static_cast<size_t>(value) < words.size();
  return is_word ? std::string(words[static_cast<size_t>(value)]) : std::to_string(value);
}

// The two sides of `a % b == 0` where both are single words; nullopt of any other condition.
struct Multiple {
  std::string_view of, by;
};
std::optional<Multiple> as_multiple(std::string_view text) {
  constexpr std::string_view kPercent = " % ", kIsZero = " == 0";
  const size_t percent = text.find(kPercent);
  if (percent == std::string_view::npos || !text.ends_with(kIsZero)) return std::nullopt;
  const Multiple multiple{text.substr(0, percent), text.substr(percent + kPercent.size())};
  const std::string_view by = multiple.by.substr(0, multiple.by.size() - kIsZero.size());
  constexpr std::string_view kNotInAWord = " ()+-*/%=<>,";
  if (multiple.of.find_first_of(kNotInAWord) != std::string_view::npos ||
      by.find_first_of(kNotInAWord) != std::string_view::npos) {
    return std::nullopt;
  }
  return Multiple{multiple.of, by};
}

}  // namespace

std::string failed_condition(std::string_view keyword, const ConditionInfo& condition, const OperatorInfo& op,
                             const SelectionScope& scope) {
  // "width" -> "width 1023", "4" -> "4"; nullopt of a definition.
  const auto with_value = [&](std::string_view word) -> std::optional<std::string> {
    if (word.find_first_not_of("0123456789") == std::string_view::npos) return std::string(word);
    for (uint16_t i : condition.names) {
      if (op.names[i].name == word) return fmt::format("{} {}", word, value_text(op, i, scope));
    }
    return std::nullopt;
  };
  if (const auto multiple = as_multiple(condition.text)) {
    const auto of = with_value(multiple->of), by = with_value(multiple->by);
    if (of && by) return fmt::format("{} is not a multiple of {}", *of, *by);
  }
  std::vector<std::string> values;
  for (uint16_t i : condition.names)
    values.push_back(fmt::format("{} = {}", op.names[i].name, value_text(op, i, scope)));
  return fmt::format("{} `{}` does not hold{}{}", keyword, condition.text, values.empty() ? "" : ": ",
                     fmt::join(values, ", "));
}

}  // namespace qgen::selector
