// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The product is walked depth first, one axis a level, and each condition of `require` is checked at the level of the
// last axis it reads: a condition on the first two of six axes cuts whole subtrees.
//
// The choices of a level are taken in the order of their text in ids. '.' sorts before every letter and digit, so the
// walk meets ids in byte order and nothing is sorted afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "codegen/expand/variant.h"
#include "codegen/spec/axes.h"

namespace qgen::expand {
namespace {

using expression::Value;
using spec::AxisGroup;
using spec::Condition;

// Past this many steps of the walk it is refused: it would take a second, and more variants than anyone can compile. A
// step is one choice, or so many parts of the conditions that are then checked.
constexpr size_t kMaxSteps = 4'000'000;
constexpr size_t kPartsPerStep = 16;
constexpr int64_t kLargestSubgroup = 128;  // of Vulkan's maxSubgroupSize

struct LevelChoice {
  size_t choice = 0;  // of the group
  std::string id_part;
  bool survives = false;  // in at least one variant
};

struct Level {
  AxisGroup group;
  std::vector<LevelChoice> choices;          // by id_part
  std::vector<const Condition*> conditions;  // whose last parameter is one of the group
  size_t parts = 0;                          // of the conditions
  size_t steps() const { return 1 + parts / kPartsPerStep; }
};

class Product {
 public:
  Product(const spec::Spec& spec, size_t max_variants) : spec_(spec), max_variants_(max_variants) {
    environment_.resize(spec.parameters.size());
    for (const AxisGroup& group : spec::groups_of(spec.parameters)) add_level(group);
    for (const Condition& condition : spec.require) add_condition(condition);
  }

  Result<std::vector<Variant>> run() {
    if (all_hold(constants_)) walk(0, spec_.name.value);
    if (count_ > max_variants_ || steps_ > kMaxSteps) return Diagnostics{too_many()};
    if (count_ == 0) return Diagnostics{none_left()};
    Diagnostics errors = unused_values();
    append(errors, check_identifiers());
    append(errors, set_subgroup_sizes());
    if (!errors.empty()) return errors;
    assert(std::is_sorted(variants_.begin(), variants_.end(),
                          [](const Variant& a, const Variant& b) { return a.id < b.id; }) &&
           "the walk meets ids in byte order");
    return std::move(variants_);
  }

 private:
  void add_level(const AxisGroup& group) {
    Level& level = levels_.emplace_back(Level{group, {}, {}});
    for (size_t i = 0; i < group.size(); ++i) level.choices.push_back({i, spec::id_part(group, i)});
    std::sort(level.choices.begin(), level.choices.end(),
              [](const LevelChoice& a, const LevelChoice& b) { return a.id_part < b.id_part; });
  }

  // check_spec guarantees that `require` reads parameters only, and they are the first symbols of the scope.
  void add_condition(const Condition& condition) {
    const auto symbols = expression::symbols_of(condition.expression);
    if (symbols.empty()) {
      constants_.push_back(&condition);
      return;
    }
    assert(symbols.back() < environment_.size() && "require reads parameters only");
    const auto level = std::find_if(levels_.begin(), levels_.end(), [&](const Level& one) {
      return symbols.back() < one.group.first + one.group.axes.size();
    });
    level->conditions.push_back(&condition);
    level->parts += expression::size_of(condition.expression);
  }

  bool all_hold(const std::vector<const Condition*>& conditions) const {
    return std::all_of(conditions.begin(), conditions.end(), [&](const Condition* condition) {
      return std::get<bool>(expression::evaluate(condition->expression, environment_));
    });
  }

  // All variants below what is chosen so far; whether there is one.
  bool walk(size_t depth, const std::string& id) {
    if (depth == levels_.size()) return add(id);
    bool has_variant = false;
    Level& level = levels_[depth];
    for (LevelChoice& one : level.choices) {
      steps_ += level.steps();
      if (steps_ > kMaxSteps) return has_variant;
      choose(level.group, one.choice);
      if (!all_hold(level.conditions)) continue;
      const bool survives = walk(depth + 1, count_ < max_variants_ ? id + '.' + one.id_part : id);
      one.survives |= survives;
      has_variant |= survives;
    }
    return has_variant;
  }

  void choose(const AxisGroup& group, size_t choice) {
    for (size_t i = 0; i < group.axes.size(); ++i) environment_[group.first + i] = group.axes[i].values[choice].value;
  }

  // Past the limit variants are counted and no longer kept.
  bool add(const std::string& id) {
    if (++count_ <= max_variants_) variants_.push_back({id, environment_, 0});
    return true;
  }

  // ---- refusals ----------------------------------------------------------------------------------------------------

  static Diagnostic error_at(const SourceLocation& where, std::string message) {
    Diagnostic error;
    error.where = where;
    error.message = std::move(message);
    return error;
  }

  const SourceLocation& parameters_place() const {
    return spec_.parameters.empty() ? spec_.name.where : spec_.parameters.front().name.where;
  }

  Diagnostic too_many() const {
    const bool is_cut_short = steps_ > kMaxSteps;
    if (is_cut_short && count_ <= max_variants_) {
      Diagnostic error = error_at(parameters_place(), fmt::format("to try the combinations of '{}' takes more than {} "
                                                                  "steps",
                                                                  spec_.name.value, kMaxSteps));
      error.hint = "conditions on the first parameters alone remove many combinations in one step";
      return error;
    }
    Diagnostic error = error_at(parameters_place(), fmt::format("'{}' expands to {}{} variants", spec_.name.value,
                                                                is_cut_short ? "more than " : "", count_));
    error.expected = fmt::format("at most {}", max_variants_);
    error.hint = "what is a number moves to 'specialization', which makes no modules; or raise --max-variants";
    return error;
  }

  Diagnostic none_left() const {
    assert(!spec_.require.empty() && "without conditions every combination is left");
    Diagnostic error =
        error_at(spec_.require.front().expression.where(),
                 fmt::format("no combination of the parameters of '{}' meets 'require'", spec_.name.value));
    for (size_t i = 1; i < spec_.require.size(); ++i) {
      error.notes.push_back({spec_.require[i].expression.where(), "together with this"});
    }
    return error;
  }

  Diagnostics unused_values() const {
    Diagnostics errors;
    for (const Level& level : levels_) {
      for (const LevelChoice& one : level.choices) {
        if (!one.survives) errors.push_back(unused(level.group, one.choice));
      }
    }
    return errors;
  }

  Diagnostic unused(const AxisGroup& group, size_t choice) const {
    Diagnostic error = error_at(group.where(choice), fmt::format("value {} of parameter '{}' never survives 'require'",
                                                                 spec::value_text(group, choice), group.name()));
    error.hint = "remove the value, or loosen a condition";
    for (const Condition& condition : spec_.require) {
      const auto symbols = expression::symbols_of(condition.expression);
      const auto first = std::lower_bound(symbols.begin(), symbols.end(), group.first);
      if (first == symbols.end() || *first >= group.first + group.axes.size()) continue;
      error.notes.push_back({condition.expression.where(), fmt::format("'{}' is read here", group.name())});
    }
    return error;
  }

  // Ids become C++ identifiers with '_' for '.', and then "x.y_z" and "x_y.z" are one. The first such pair is enough.
  Diagnostics check_identifiers() const {
    std::unordered_map<std::string, const Variant*> seen;
    seen.reserve(variants_.size());
    for (const Variant& variant : variants_) {
      std::string identifier = variant.id;
      std::replace(identifier.begin(), identifier.end(), '.', '_');
      const auto [first, is_new] = seen.emplace(std::move(identifier), &variant);
      if (is_new) continue;
      Diagnostic error = error_at(
          parameters_place(), fmt::format("'{}' and '{}' are one identifier in C++", first->second->id, variant.id));
      error.hint = "rename a word";
      return {error};
    }
    return {};
  }

  // The first variant without a possible size is enough.
  Diagnostics set_subgroup_sizes() {
    if (!spec_.subgroup_size) return {};
    for (Variant& variant : variants_) {
      const int64_t size = std::get<Integer>(expression::evaluate(*spec_.subgroup_size, variant.values)).value;
      if (size < 1 || size > kLargestSubgroup || (size & (size - 1)) != 0) {
        Diagnostic error = error_at(spec_.subgroup_size->where(), fmt::format("a subgroup of {} invocations", size));
        error.expected = fmt::format("a power of two, at most {}", kLargestSubgroup);
        error.notes.emplace_back().message = "in variant " + variant.id;
        return {error};
      }
      variant.subgroup_size = static_cast<uint8_t>(size);
    }
    return {};
  }

  const spec::Spec& spec_;
  const size_t max_variants_;
  std::vector<Level> levels_;
  std::vector<const Condition*> constants_;  // conditions that read nothing
  std::vector<Value> environment_;
  std::vector<Variant> variants_;
  size_t count_ = 0;
  size_t steps_ = 0;
};

}  // namespace

Result<std::vector<Variant>> expand(const spec::Spec& spec, size_t max_variants) {
  if (!spec.template_path) return std::vector<Variant>();
  return Product(spec, max_variants).run();
}

std::string describe(const spec::Spec& spec, const Variant& variant) {
  std::string text;
  for (size_t i = 0; i < variant.values.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", spec.parameters[i].name.value,
                        expression::to_text(variant.values[i]));
  }
  return text;
}

std::string to_text(const spec::Spec&, const std::vector<Variant>& variants) {
  std::string text;
  for (const Variant& variant : variants) text += variant.id + '\n';
  return text;
}

}  // namespace qgen::expand
