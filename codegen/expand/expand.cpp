// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The product is traversed depth first, one axis a level. Each condition of `require` is checked at the level of the
// last axis that it reads. A condition on the first two of six axes therefore cuts whole subtrees.
//
// There are two traversals. The first counts, and multiplies below the last condition, so that a product of any size is
// refused before it takes memory. The second keeps the variants.
//
// The choices of a level are visited in the order of their text in ids. '.' sorts ahead of every letter and digit, so
// ids come in byte order and need no sorting afterwards.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <unordered_map>

#include "codegen/expand/variant.h"
#include "codegen/spec/axes.h"
#include "codegen/spec/make_error.h"
#include "codegen/support/storage_access.h"

namespace qgen::expand {
namespace {

using expression::Value;
using spec::AxisGroup;
using spec::Condition;

// After this many steps the product is refused: it would take a second, and more variants than anyone can compile. A
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
  uint64_t free_below = 0;                   // combinations from here on, if no condition is left to check; else 0
  size_t steps() const { return 1 + parts / kPartsPerStep; }
};

class Product {
 public:
  Product(const spec::Spec& spec, size_t max_variants) : spec_(spec), max_variants_(max_variants) {
    environment_.resize(spec.parameters.size());
    for (const AxisGroup& group : spec::groups_of(spec.parameters)) add_level(group);
    for (const Condition& condition : spec.require) add_condition(condition);
    set_free_levels();
  }

  Result<std::vector<Variant>> run() {
    if (Diagnostics errors = check_storage_access(); !errors.empty()) return errors;
    if (all_hold(constants_)) count(0);
    if (count_ > most() || steps_ > kMaxSteps) return Diagnostics{too_many()};
    if (count_ == 0) return Diagnostics{none_left()};
    variants_.reserve(count_);
    walk(0, spec_.name.value);
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

  static constexpr uint64_t kManyVariants = 1'000'000'000'000'000'000;  // counts stop here

  void set_free_levels() {
    uint64_t below = 1;
    for (size_t depth = levels_.size(); depth-- > 0;) {
      Level& level = levels_[depth];
      if (!level.conditions.empty()) return;
      below = level.choices.size() > kManyVariants / below ? kManyVariants : below * level.choices.size();
      level.free_below = below;
    }
  }

  // Counts all variants below the current choices; returns whether there is one.
  bool count(size_t depth) {
    if (depth == levels_.size()) return add(1);
    Level& level = levels_[depth];
    if (level.free_below != 0) return add_free(depth);
    bool has_variant = false;
    for (LevelChoice& one : level.choices) {
      steps_ += level.steps();
      if (steps_ > kMaxSteps) return has_variant;
      choose(level.group, one.choice);
      if (!all_hold(level.conditions)) continue;
      const bool survives = count(depth + 1);
      one.survives |= survives;
      has_variant |= survives;
    }
    return has_variant;
  }

  // Every choice from this level on survives.
  bool add_free(size_t depth) {
    if (depth < first_free_seen_) {
      for (size_t i = depth; i < levels_.size(); ++i) {
        for (LevelChoice& one : levels_[i].choices) one.survives = true;
      }
      first_free_seen_ = depth;
    }
    return add(levels_[depth].free_below);
  }

  bool add(uint64_t variants) {
    count_ = std::min(count_ + variants, kManyVariants);
    return true;
  }

  // `native` has no part of the id, so that an id is the same with and without this axis. The order of ids is right if
  // nothing follows it.
  Diagnostics check_storage_access() const {
    for (const spec::Axis& axis : spec_.parameters) {
      if (axis.name.value != kStorageAccess) continue;
      for (const auto& value : axis.values) {
        const std::string word = expression::to_text(value.value);
        if (word == kNativeAccess || word == kWordAccess) continue;
        return {spec::make_error(value.where, fmt::format("unknown {} '{}'", kStorageAccess, word),
                                 fmt::format("{} or {}", kNativeAccess, kWordAccess))};
      }
      if (&axis != &spec_.parameters.back()) {
        return {spec::make_error(axis.name.where, fmt::format("'{}' is not the last parameter", kStorageAccess))};
      }
    }
    return {};
  }

  // After count() has found them to be few.
  void walk(size_t depth, const std::string& id) {
    if (depth == levels_.size()) {
      variants_.push_back({id, environment_, 0});
      return;
    }
    const Level& level = levels_[depth];
    for (const LevelChoice& one : level.choices) {
      choose(level.group, one.choice);
      if (all_hold(level.conditions)) walk(depth + 1, one.id_part.empty() ? id : id + '.' + one.id_part);
    }
  }

  void choose(const AxisGroup& group, size_t choice) {
    for (size_t i = 0; i < group.axes.size(); ++i) environment_[group.first + i] = group.axes[i].values[choice].value;
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

  // Whatever the user allows, each variant that is kept is a step too.
  size_t most() const { return std::min(max_variants_, kMaxSteps); }

  Diagnostic too_many() const {
    const bool is_cut_short = steps_ > kMaxSteps;
    if (is_cut_short && count_ <= most()) {
      Diagnostic error = error_at(parameters_place(), fmt::format("trying the combinations of '{}' takes more than {} "
                                                                  "steps",
                                                                  spec_.name.value, kMaxSteps));
      error.hint = "conditions on the first parameters only remove many combinations in one step";
      return error;
    }
    Diagnostic error = error_at(parameters_place(), fmt::format("'{}' expands to {}{} variants", spec_.name.value,
                                                                is_cut_short ? "more than " : "", count_));
    error.expected = fmt::format("at most {}", most());
    error.hint = "move numbers to 'specialization', which makes no modules";
    if (most() == max_variants_) error.hint += "; or raise --max-variants";
    return error;
  }

  Diagnostic none_left() const {
    assert(!spec_.require.empty() && "without conditions every combination is left");
    Diagnostic error =
        error_at(spec_.require.front().expression.where(),
                 fmt::format("no combination of the parameters of '{}' meets 'require'", spec_.name.value));
    for (size_t i = 1; i < spec_.require.size(); ++i) {
      error.notes.push_back({spec_.require[i].expression.where(), "this condition removes some of them"});
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
    Diagnostic error = error_at(group.where(choice), fmt::format("no variant has the value {} of parameter '{}': "
                                                                 "'require' removes all",
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
      Diagnostic error = error_at(parameters_place(), fmt::format("'{}' and '{}' become the same identifier in C++",
                                                                  first->second->id, variant.id));
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
        Diagnostic error = error_at(spec_.subgroup_size->where(), fmt::format("a subgroup has {} invocations", size));
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
  uint64_t count_ = 0;
  size_t steps_ = 0;
  size_t first_free_seen_ = std::numeric_limits<size_t>::max();
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
