// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/cost_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/expression/terms.h"
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
    if (auto value = value_of(*symbol, text)) return set(name, *std::move(value));
    errors.push_back(
        make_error(spec_.name.where, fmt::format("'{}' of '{}' cannot be '{}'", name, spec_.name.value, text),
                   symbol->words.empty() ? std::string(expression::name(symbol->type)) : one_of(symbol->words)));
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
  values.need(*spec.cost);
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
