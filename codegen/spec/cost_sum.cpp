// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/cost_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/expression/terms.h"
#include "codegen/spec/axes.h"
#include "codegen/spec/device_names.h"
#include "codegen/spec/make_error.h"
#include "common/number.h"

namespace qgen::spec {
namespace {

using expression::Expression;
using expression::Symbol;
using expression::Type;
using expression::Value;

constexpr std::string_view kDevice = "device.";

double number_of(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  if (const auto* integer = std::get_if<Integer>(&value)) return static_cast<double>(integer->value);
  const auto* real = std::get_if<Real>(&value);
  return real ? real->value : 0;
}

std::optional<Value> value_of(const Symbol& symbol, const std::string& text) {
  switch (symbol.type) {
    case Type::boolean: return text == "true" || text == "false" ? std::optional<Value>(text == "true") : std::nullopt;
    case Type::integer: {
      const auto number = read_number<int64_t>(text);
      return number ? std::optional<Value>(Integer(*number)) : std::nullopt;
    }
    case Type::real: {
      const auto number = read_number<double>(text);
      return number ? std::optional<Value>(Real(*number)) : std::nullopt;
    }
    case Type::word:
      return std::ranges::find(symbol.words, text) != symbol.words.end() ? std::optional<Value>(expression::Word{text})
                                                                         : std::nullopt;
    case Type::text: break;
  }
  return std::nullopt;
}

// Values of all symbols of a spec, as far as they are known.
class KnownValues {
 public:
  KnownValues(const Spec& spec, const NamedValues& given, const DeviceNumbers& device)
      : spec_(spec), values_(spec.scope.symbols().size()) {
    for (const DeviceName& number : device_names())
      set(fmt::format("{}{}", kDevice, number.name), number.value(device));
    for (const FitConstant& constant : spec.fit) set(constant.name.value, Real(constant.value));
    for (const auto& [name, text] : given) read(name, text);
  }

  Diagnostics errors;

  void need(const Expression& expression) {
    std::vector<std::string> missing;
    for (const size_t symbol : expression::symbols_of(expression)) {
      if (!values_[symbol]) missing.push_back(spec_.scope.symbols()[symbol].name);
    }
    if (missing.empty()) return;
    errors.push_back(make_error(expression.where(),
                                fmt::format("the cost of '{}' reads names that have no value here", spec_.name.value),
                                fmt::format("values of {}", join_sorted(missing))));
  }

  double of(const Expression& expression) const {
    std::vector<Value> environment;
    for (const auto& value : values_) environment.push_back(value.value_or(Integer(0)));
    return number_of(expression::evaluate(expression, environment));
  }

 private:
  void set(const std::string& name, Value value) {
    if (const auto index = spec_.scope.index_of(name)) values_[*index] = std::move(value);
  }

  void read(const std::string& name, const std::string& text) {
    const Symbol* symbol = spec_.scope.find(name);
    const bool is_ours = symbol != nullptr && !name.starts_with(kDevice);
    if (!is_ours) {
      std::vector<std::string> names;
      for (const Symbol& known : spec_.scope.symbols()) {
        if (!known.name.starts_with(kDevice)) names.push_back(known.name);
      }
      errors.push_back(make_error(spec_.name.where, fmt::format("'{}' has no '{}'", spec_.name.value, name), "",
                                  suggest(name, names)));
      return;
    }
    auto value = value_of(*symbol, text);
    if (std::string expected = expected_of(*symbol, text, value); !expected.empty()) {
      errors.push_back(make_error(spec_.name.where,
                                  fmt::format("'{}' of '{}' cannot be '{}'", name, spec_.name.value, text), expected));
      return;
    }
    set(name, *std::move(value));
  }

  // What `text` should be; empty if it can be a value of the symbol. `value`: what it is read as.
  std::string expected_of(const Symbol& symbol, const std::string& text, const std::optional<Value>& value) const {
    if (const Axis* axis = axis_named(symbol.name)) {
      std::vector<std::string> different;
      for (const std::string& known : texts_of(*axis)) {
        if (std::ranges::find(different, known) == different.end()) different.push_back(known);
      }
      return std::ranges::find(different, text) != different.end() ? "" : one_of(different);
    }
    if (!value && !symbol.words.empty()) return one_of(symbol.words);
    const auto field =
        std::ranges::find(spec_.problem, symbol.name, [](const ProblemField& f) { return f.name.value; });
    const bool is_number = text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0) == text.npos;
    if (symbol.type != Type::integer || !is_number || field == spec_.problem.end())
      return value ? "" : std::string(expression::name(symbol.type));
    const bool is_signed = field->kind == FieldKind::i32;
    const int64_t low = is_signed ? INT32_MIN : 0, high = is_signed ? INT32_MAX : int64_t{UINT32_MAX};
    const auto* number = value ? std::get_if<Integer>(&*value) : nullptr;
    const bool is_inside = number != nullptr && number->value >= low && number->value <= high;
    return is_inside ? "" : fmt::format("an integer from {} to {}", low, high);
  }

  const Axis* axis_named(std::string_view name) const {
    for (const auto* axes : {&spec_.parameters, &spec_.specialization}) {
      const auto axis = std::ranges::find(*axes, name, [](const Axis& a) { return a.name.value; });
      if (axis != axes->end()) return &*axis;
    }
    return nullptr;
  }

  const Spec& spec_;
  std::vector<std::optional<Value>> values_;
};

CostPart part_of(std::string name, const Expression& expression, const KnownValues& values) {
  CostPart part{std::move(name), values.of(expression), {}};
  for (const expression::Term& term : expression::terms_of(expression)) {
    part.terms.push_back({term.text, values.of(term.value), term.is_subtracted});
  }
  return part;
}

}  // namespace

Result<std::vector<CostPart>> cost_sum(const Spec& spec, const NamedValues& given, const DeviceNumbers& device) {
  if (!spec.cost) {
    return Diagnostics{
        make_error(spec.name.where, fmt::format("'{}' has no cost", spec.name.value), "",
                   "an operator that consists of recipes has no cost of its own: name a kernel of a step")};
  }
  KnownValues values(spec, given, device);
  if (values.errors.empty()) values.need(*spec.cost);
  if (!values.errors.empty()) return std::move(values.errors);
  std::vector<CostPart> parts = {part_of("cost", *spec.cost, values)};
  std::vector<std::string> names = expression::definitions_named(*spec.cost);
  for (size_t i = 0; i < names.size(); ++i) {
    const Expression* meaning = spec.scope.find_definition(names[i]);
    if (meaning == nullptr) continue;
    parts.push_back(part_of(names[i], *meaning, values));
    for (std::string& name : expression::definitions_named(*meaning)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  return parts;
}

std::string to_text(const std::vector<CostPart>& parts) {
  std::string text;
  for (const CostPart& part : parts) {
    text += fmt::format("{}: {:.4g}{}\n", part.name, part.value, part.name == "cost" ? " us" : "");
    for (size_t i = 0; i < part.terms.size(); ++i) {
      const CostTerm& term = part.terms[i];
      text += fmt::format("  {} {:<10.4g} {}\n", i == 0 ? "=" : term.is_subtracted ? "-" : "+", term.value, term.text);
    }
  }
  return text;
}

}  // namespace qgen::spec
