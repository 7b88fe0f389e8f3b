// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/subset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/spec/signature.h"
#include "common/diagnostic.h"
#include "vocabulary/dtypes.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> names_of(const spec::Spec& spec) {
  std::vector<std::string> names = {spec.name.value};
  for (const spec::Signature& signature : spec::signatures_of(spec)) {
    names.push_back(signature.name);
    for (const spec::Alias& alias : signature.aliases) names.push_back(alias.name.value);
  }
  return names;
}

size_t find(const std::vector<spec::Spec>& specs, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(specs, name, [](const auto& spec) { return spec.name.value; }) -
                             specs.begin());
}

// Keeps a spec, and the kernels that its recipes launch.
void keep(const std::vector<spec::Spec>& specs, size_t index, std::vector<bool>& kept) {
  if (kept[index]) return;
  kept[index] = true;
  for (const spec::Recipe& recipe : specs[index].recipes) {
    for (const spec::Step& step : recipe.steps) keep(specs, find(specs, step.kernel.value), kept);
  }
}

Diagnostic unknown_operator(const std::string& name, const std::vector<spec::Spec>& specs) {
  std::vector<std::string> known;
  for (const spec::Spec& spec : specs) {
    if (spec.is_internal) continue;
    const auto names = names_of(spec);
    known.insert(known.end(), names.begin(), names.end());
  }
  Diagnostic error;
  error.message = fmt::format("no spec has an operator '{}'", name);
  error.hint = suggest(name, known);
  return error;
}

bool is_dtype(std::string_view word) { return find_dtype(word).has_value(); }
bool is_layout(std::string_view word) { return find_layout(word).has_value(); }

Diagnostic unknown_word(std::string_view option, std::string_view noun, const std::string& word,
                        const std::vector<std::string>& known) {
  Diagnostic error;
  error.message = fmt::format("{}: there is no {} '{}'", option, noun, word);
  error.hint = suggest(word, known);
  if (error.hint.empty()) error.expected = one_of(known);
  return error;
}

// --dtypes and --layouts take words of the vocabulary.
Diagnostics unknown_words(const Subset& subset) {
  Diagnostics errors;
  std::vector<std::string> dtypes, layouts;
  for (const auto& row : kDTypes) dtypes.emplace_back(row.name);
  for (const auto& row : kLayouts) layouts.emplace_back(row.name);
  for (const std::string& word : subset.dtypes)
    if (!is_dtype(word)) errors.push_back(unknown_word("--dtypes", "dtype", word, dtypes));
  for (const std::string& word : subset.layouts)
    if (!is_layout(word)) errors.push_back(unknown_word("--layouts", "layout", word, layouts));
  return errors;
}

// Whether a parameter with a choice of such words is one of those that are wanted.
bool fits(const spec::Axis& axis, const std::string& value, const std::vector<std::string>& wanted,
          bool (*is_word)(std::string_view)) {
  if (wanted.empty() || axis.values.size() < 2 || !is_word(value)) return true;
  return holds(wanted, value);
}

}  // namespace

Result<std::vector<bool>> kept_specs(const Subset& subset, const std::vector<spec::Spec>& specs) {
  Diagnostics errors = unknown_words(subset);
  if (!errors.empty()) return errors;
  if (subset.operators.empty()) return std::vector<bool>(specs.size(), true);
  std::vector<bool> kept(specs.size());
  for (const std::string& name : subset.operators) {
    const auto spec = std::ranges::find_if(specs, [&](const auto& one) { return holds(names_of(one), name); });
    if (spec == specs.end()) errors.push_back(unknown_operator(name, specs));
    else keep(specs, static_cast<size_t>(spec - specs.begin()), kept);
  }
  if (!errors.empty()) return errors;
  return kept;
}

bool keeps(const Subset& subset, const spec::Spec& spec, const expand::Variant& variant) {
  const auto names = names_of(spec);
  const bool is_asked_for = subset.operators.empty() || std::ranges::any_of(names, [&](const std::string& name) {
                              return holds(subset.operators, name);
                            });
  if (!is_asked_for) return true;
  for (size_t i = 0; i < spec.parameters.size(); ++i) {
    const std::string value = expression::to_text(variant.values[i]);
    const spec::Axis& axis = spec.parameters[i];
    if (!fits(axis, value, subset.dtypes, is_dtype) || !fits(axis, value, subset.layouts, is_layout)) return false;
  }
  return true;
}

bool runs_somewhere(const Subset& subset, const reflect::Interface& interface) {
  const auto runs = [&](const DeviceProfile& device) { return device.missing(interface.needs) == 0; };
  return subset.devices.empty() || std::ranges::any_of(subset.devices, runs);
}

std::string to_text(const Subset& subset) {
  std::string text = fmt::format("operators {} dtypes {} layouts {}", fmt::join(subset.operators, ","),
                                 fmt::join(subset.dtypes, ","), fmt::join(subset.layouts, ","));
  for (const DeviceProfile& device : subset.devices) text += "\n" + to_json(device);
  return text;
}

}  // namespace qgen
