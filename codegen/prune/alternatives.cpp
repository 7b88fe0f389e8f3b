// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A kernel is described by its operands' formats, and by its needs and conditions for each row of its specialization.
// An alternative joins kernels, one for each step: it has the needs and conditions of all of them, in the operator's
// names. Conditions are numbers here, so that each is printed, and each implication is tried, only once.
#include "codegen/prune/alternatives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "codegen/expression/facts.h"
#include "codegen/spec/axes.h"

namespace qgen::prune {
namespace {

using emit::Family;
using emit::Kernel;
using emit::KernelIndex;
using expression::Expression;
using expression::Facts;
using expression::Value;
using spec::Spec;

// The minimum of every Vulkan device, for each demand of a kernel.
constexpr std::array<uint32_t, 3> kWorkgroup = {128, 128, 64};
constexpr uint64_t kInvocations = 128;
constexpr uint32_t kSharedBytes = 16384, kPushConstantsBytes = 128;
constexpr size_t kImages = 4;
// Four are promised, with which few kernels run; of the drivers in devices/ none has fewer than 30.
constexpr size_t kBuffers = 16;

// A size of 65,535 workgroups of 65,536 or more: no binding has so many elements.
constexpr Integer kNoSize = int64_t{65535} * 65536;

// ---- conditions -----------------------------------------------------------------------------------------------------

using Condition = size_t;                     // its place in a Conditions
using ConditionSet = std::vector<Condition>;  // sorted, each once

class Conditions {
 public:
  Condition add(const Expression& condition) {
    const auto [place, is_new] = places_.emplace(to_text(condition), all_.size());
    if (is_new) all_.push_back(condition);
    return place->second;
  }
  const Expression& operator[](Condition condition) const { return all_[condition]; }

  // Whether all of `wanted` hold where all of `known` do.
  bool imply(const ConditionSet& known, const ConditionSet& wanted) {
    return std::ranges::all_of(wanted, [&](Condition condition) {
      return std::ranges::binary_search(known, condition) || is_proven(known, condition);
    });
  }

 private:
  bool is_proven(const ConditionSet& known, Condition wanted) {
    auto& proven = proven_[known];
    const auto [place, is_new] = proven.emplace(wanted, false);
    if (!is_new) return place->second;
    std::vector<Expression> conditions;
    for (const Condition condition : known) conditions.push_back(all_[condition]);
    return place->second = Facts(conditions).imply(all_[wanted]);
  }

  std::vector<Expression> all_;
  std::map<std::string, Condition, std::less<>> places_;
  std::map<ConditionSet, std::map<Condition, bool>> proven_;
};

void add(ConditionSet& conditions, Condition condition) {
  const auto place = std::ranges::lower_bound(conditions, condition);
  if (place == conditions.end() || *place != condition) conditions.insert(place, condition);
}

// Always met by the values that callers can give.
bool is_no_condition(const Expression& condition) {
  if (const auto value = expression::value_of(condition)) return *value == Value(true);
  const auto bound = expression::upper_bound_of(condition);
  return bound && bound->most >= kNoSize;
}

// ---- kernels of a family --------------------------------------------------------------------------------------------

// The properties that an operand has or must have. An empty layout is any, as textures have.
struct Format {
  std::string dtype, storage, layout;
  friend auto operator<=>(const Format&, const Format&) = default;
};

// The device requirements of one specialization.
struct Needs {
  std::array<uint32_t, 3> workgroup = kWorkgroup;
  uint64_t invocations = kInvocations;
  uint32_t shared_bytes = kSharedBytes;
  std::vector<CooperativeMatrixShape> matrices;
};

struct Row {
  Needs needs;
  ConditionSet conditions;
};

struct KernelFacts {
  std::vector<Format> operands;
  std::vector<Row> rows;  // without kernels that fit no problem; conditions are those of FamilyFacts
};

struct FamilyFacts {
  Conditions conditions;
  std::vector<KernelFacts> kernels;
};

bool has_shape(const std::vector<CooperativeMatrixShape>& shapes, const CooperativeMatrixShape& shape) {
  return std::ranges::find(shapes, shape) != shapes.end();
}

void join(Needs& needs, const Needs& other) {
  for (size_t d = 0; d < needs.workgroup.size(); ++d) {
    needs.workgroup[d] = std::max(needs.workgroup[d], other.workgroup[d]);
  }
  needs.invocations = std::max(needs.invocations, other.invocations);
  needs.shared_bytes = std::max(needs.shared_bytes, other.shared_bytes);
  for (const CooperativeMatrixShape& shape : other.matrices) {
    if (!has_shape(needs.matrices, shape)) needs.matrices.push_back(shape);
  }
}

bool are_no_more(const Needs& needs, const Needs& other) {
  for (size_t d = 0; d < needs.workgroup.size(); ++d) {
    if (needs.workgroup[d] > other.workgroup[d]) return false;
  }
  return needs.invocations <= other.invocations && needs.shared_bytes <= other.shared_bytes &&
         std::ranges::all_of(needs.matrices, [&](const auto& shape) { return has_shape(other.matrices, shape); });
}

Needs needs_of(const reflect::Resources& resources) {
  const auto& side = resources.workgroup;
  Needs needs;
  join(needs, {side, uint64_t{side[0]} * side[1] * side[2], resources.shared_bytes, resources.cooperative_matrices});
  return needs;
}

// The value of a parameter of the variant, as text.
std::string word_of(const Spec& spec, std::span<const Value> values, const spec::Choice& choice) {
  if (!choice.is_parameter) return choice.word;
  const auto axis = std::ranges::find(spec.parameters, choice.word, [](const spec::Axis& a) { return a.name.value; });
  return expression::to_text(values[static_cast<size_t>(axis - spec.parameters.begin())]);
}

constexpr std::string_view kBuffer = "buffer", kStrided = "strided";

std::vector<Format> formats_of(const Spec& spec, std::span<const Value> values) {
  std::vector<Format> formats;
  for (const spec::Operand& operand : spec.operands) {
    Format format{word_of(spec, values, operand.dtype), word_of(spec, values, operand.storage), ""};
    if (operand.layout) format.layout = word_of(spec, values, *operand.layout);
    if (format.layout.empty() && format.storage == kBuffer) format.layout = kStrided;
    formats.push_back(std::move(format));
  }
  return formats;
}

// Nullopt: one of them fails whatever the problem is.
std::optional<ConditionSet> conditions_of(const Spec& spec, std::span<const std::optional<Value>> values,
                                          Conditions& conditions) {
  ConditionSet set;
  for (const auto* list : {&spec.applies_when, &spec.require_device}) {
    for (const spec::Condition& condition : *list) {
      const Expression rest = expression::with_values(condition.expression, values);
      const auto value = expression::value_of(rest);
      if (value && *value == Value(false)) return std::nullopt;
      if (!value) add(set, conditions.add(rest));
    }
  }
  return set;
}

std::vector<Row> rows_of(const Spec& spec, const Kernel& kernel, Conditions& conditions) {
  std::vector<std::optional<Value>> values(spec.scope.symbols().size());
  std::ranges::copy(kernel.variant.values, values.begin());
  const auto specializations = emit::specialization_rows(spec);
  std::vector<Row> rows;
  for (size_t r = 0; r < specializations.size(); ++r) {
    for (size_t i = 0; i < specializations[r].size(); ++i) {
      values[spec.parameters.size() + i] = Integer(int64_t{specializations[r][i]});
    }
    auto set = conditions_of(spec, values, conditions);
    if (set) rows.push_back({needs_of(kernel.resources[r]), *std::move(set)});
  }
  return rows;
}

FamilyFacts facts_of(const Family& family) {
  FamilyFacts facts;
  for (const Kernel& kernel : family.kernels) {
    facts.kernels.push_back(
        {formats_of(*family.spec, kernel.variant.values), rows_of(*family.spec, kernel, facts.conditions)});
  }
  return facts;
}

// ---- alternatives of an operator ------------------------------------------------------------------------------------

struct Alternative {
  KernelSet kernels;
  FeatureMask features = 0;
  uint32_t push_constants_bytes = kPushConstantsBytes;
  size_t buffers = kBuffers, images = kImages;
  std::set<uint8_t> subgroup_sizes;
  std::set<std::string> scratch;   // dtype and elements of each
  std::set<std::string> operands;  // optional ones that must be there
  std::vector<Row> rows;
};

bool is_subset(const auto& part, const auto& whole) { return std::ranges::includes(whole, part); }

size_t count(const reflect::Interface& interface, BindingKind kind) {
  return static_cast<size_t>(std::ranges::count(interface.bindings, kind, &reflect::Binding::kind));
}

void add_module(Alternative& alternative, const KernelIndex& place, const Kernel& kernel) {
  alternative.kernels.push_back(place);
  alternative.features |= kernel.interface.needs;
  alternative.push_constants_bytes = std::max(alternative.push_constants_bytes, kernel.interface.push_constants_bytes);
  alternative.buffers = std::max(alternative.buffers, count(kernel.interface, BindingKind::storage_buffer));
  alternative.images = std::max(alternative.images, count(kernel.interface, BindingKind::storage_image));
  if (kernel.variant.subgroup_size != 0) alternative.subgroup_sizes.insert(kernel.variant.subgroup_size);
}

std::vector<Row> joined(const std::vector<Row>& rows, const std::vector<Row>& others) {
  std::vector<Row> all;
  for (const Row& row : rows) {
    for (const Row& other : others) {
      Row both = row;
      join(both.needs, other.needs);
      for (const Condition condition : other.conditions) add(both.conditions, condition);
      all.push_back(std::move(both));
    }
  }
  return all;
}

// The operand that a recipe's step passes to its family: one of the operator, scratch, or none.
struct StepOperand {
  enum class Kind : uint8_t { ours, scratch, left_out };
  Kind kind = Kind::left_out;
  size_t ours = 0;      // index of the operator's operand
  Format scratch = {};  // the scratch's format
  std::string seen_as;  // the layout in which the family reads it; empty: its own
};

// A condition of a family in the names of the operator; nullopt: it always holds.
using TranslatedConditions = std::map<Condition, std::optional<Condition>>;

// A step of a recipe, and its arguments for its family. Vectors are indexed by the family's operands or symbols.
struct StepSource {
  const spec::Step* step;
  size_t family;
  std::vector<StepOperand> operands;
  std::vector<std::optional<Value>> words;             // of fields; nullopt: the field is no word
  std::vector<std::optional<Expression>> expressions;  // of fields; nullopt: the field is a word or an array
  TranslatedConditions conditions = {};                // those that were translated so far
};

class Operator {
 public:
  Operator(size_t family, std::span<const Family> families, std::span<const FamilyFacts> facts,
           const std::map<std::string, size_t, std::less<>>& places)
      : index_(family), spec_(*families[family].spec), families_(families), facts_(facts), places_(places) {}

  OperatorDemands run() {
    OperatorDemands result{.family = index_};
    std::set<Demand> demands;
    std::set<KernelIndex> kernels;
    find_kernels();
    for (const spec::Recipe& recipe : spec_.recipes) find_sources(recipe);
    for_each_formats([&](const std::vector<Format>& formats) {
      const std::vector<Alternative> alternatives = alternatives_of(formats);
      for (const Alternative& alternative : alternatives)
        kernels.insert(alternative.kernels.begin(), alternative.kernels.end());
      demands.merge(demands_of(alternatives));
    });
    result.kernels.assign(kernels.begin(), kernels.end());
    result.demands.assign(demands.begin(), demands.end());
    return result;
  }

 private:
  struct OperatorKernel {
    size_t kernel;
    std::vector<Row> rows;
  };
  struct RecipeFacts {
    const spec::Recipe* recipe;
    std::vector<StepSource> steps;
    ConditionSet conditions;
    std::set<std::string> scratch;
    std::map<std::pair<size_t, size_t>, std::vector<Row>> rows = {};  // of a step and a kernel of its family
  };

  // ---- what there is ------------------------------------------------------------------------------------------------

  std::optional<Condition> in_our_names(const Expression& condition) {
    return is_no_condition(condition) ? std::nullopt : std::optional(conditions_.add(condition));
  }

  std::vector<Row> kernel_rows(size_t kernel) {
    std::vector<Row> rows = facts_[index_].kernels[kernel].rows;
    for (Row& row : rows) {
      ConditionSet ours;
      for (const Condition condition : row.conditions) {
        if (const auto here = in_our_names(facts_[index_].conditions[condition])) add(ours, *here);
      }
      row.conditions = std::move(ours);
    }
    return rows;
  }

  void find_kernels() {
    for (size_t k = 0; k < families_[index_].kernels.size(); ++k) kernels_.push_back({k, kernel_rows(k)});
  }

  void find_sources(const spec::Recipe& recipe) {
    RecipeFacts facts{.recipe = &recipe, .steps = {}, .conditions = {}, .scratch = {}};
    for (const spec::Condition& condition : recipe.applies_when) {
      if (const auto here = in_our_names(condition.expression)) add(facts.conditions, *here);
    }
    for (const spec::Scratch& scratch : recipe.scratch) {
      facts.scratch.insert(std::string(name(scratch.dtype)) + " " + to_text(scratch.elements));
    }
    for (const spec::Step& step : recipe.steps) {
      const auto place = places_.find(step.kernel.value);
      if (place == places_.end()) return;  // emit reports it
      facts.steps.push_back(source_of_step(recipe, step, place->second));
    }
    recipes_.push_back(std::move(facts));
  }

  StepSource source_of_step(const spec::Recipe& recipe, const spec::Step& step, size_t place) {
    const Spec& family = *families_[place].spec;
    StepSource source{.step = &step, .family = place, .operands = {}, .words = {}, .expressions = {}};
    for (const spec::Operand& operand : family.operands) {
      source.operands.push_back(source_of_operand(recipe, step, operand.name.value));
    }
    const size_t symbols = family.scope.symbols().size();
    source.words.resize(symbols);
    source.expressions.resize(symbols);
    for (const spec::ProblemField& field : family.problem) {
      const auto symbol = family.scope.index_of(field.name.value);
      if (!symbol) continue;  // an array
      const std::string_view text = spec::expression_of(spec_, step, field);
      auto meaning = expression::parse(text, step.kernel.where, spec_.scope);
      if (meaning) {
        source.expressions[*symbol] = *std::move(meaning);
      } else if (field.is_word()) {
        source.words[*symbol] = expression::Word{std::string(text)};
      }
    }
    return source;
  }

  StepOperand source_of_operand(const spec::Recipe& recipe, const spec::Step& step, std::string_view operand) {
    const std::string_view name_of_source = spec::source_of(spec_, recipe, step, operand);
    if (name_of_source.empty()) return {};
    StepOperand source{.seen_as = std::string(spec::layout_seen(recipe, step, operand))};
    const auto scratch = std::ranges::find(recipe.scratch, name_of_source,
                                           [](const spec::Scratch& s) -> std::string_view { return s.name.value; });
    if (scratch != recipe.scratch.end()) {
      source.kind = StepOperand::Kind::scratch;
      source.scratch = {std::string(name(scratch->dtype)), std::string(kBuffer), std::string(kStrided)};
    } else {
      const auto ours = std::ranges::find(spec_.operands, name_of_source,
                                          [](const spec::Operand& o) -> std::string_view { return o.name.value; });
      source.kind = StepOperand::Kind::ours;
      source.ours = static_cast<size_t>(ours - spec_.operands.begin());
    }
    return source;
  }

  // ---- formats of operands
  // --------------------------------------------------------------------------------------------

  // Every mixture that our parameters allow; the layout of a weight is left open.
  template <typename Visit>
  void for_each_formats(const Visit& visit) {
    std::set<std::string> read;
    for (const spec::Operand& operand : spec_.operands) {
      for (const spec::Choice* choice :
           {&operand.dtype, &operand.storage, operand.layout ? &*operand.layout : nullptr}) {
        const bool is_open = operand.is_weight && choice && operand.layout && choice == &*operand.layout;
        if (choice && choice->is_parameter && !is_open) read.insert(choice->word);
      }
    }
    std::vector<spec::AxisGroup> axes;
    for (const spec::AxisGroup& group : spec::groups_of(spec_.parameters)) {
      const bool is_read =
          std::ranges::any_of(group.axes, [&](const auto& axis) { return read.contains(axis.name.value); });
      if (is_read) axes.push_back(group);
    }
    std::vector<Value> values;
    for (const spec::Axis& axis : spec_.parameters) values.push_back(axis.values.front().value);
    std::set<std::vector<Format>> seen;
    const auto choose = [&](const auto& self, size_t axis) -> void {
      if (axis == axes.size()) {
        auto formats = formats_of(spec_, values);
        if (seen.insert(formats).second) visit(formats);
        return;
      }
      for (size_t choice = 0; choice < axes[axis].size(); ++choice) {
        for (size_t i = 0; i < axes[axis].axes.size(); ++i) {
          values[axes[axis].first + i] = axes[axis].axes[i].values[choice].value;
        }
        self(self, axis + 1);
      }
    };
    choose(choose, 0);
  }

  // Whether a kernel that wants `wanted` takes our operand, which is `format`.
  bool accepts(size_t operand, const Format& format, const std::string& seen_as, const Format& wanted) const {
    if (format.dtype != wanted.dtype || format.storage != wanted.storage) return false;
    if (wanted.layout.empty()) return true;
    if (!seen_as.empty()) return seen_as == wanted.layout;
    const spec::Operand& ours = spec_.operands[operand];
    if (!ours.is_weight || !ours.layout) return format.layout == wanted.layout;
    const std::vector<std::string> layouts = spec::words_of(spec_, *ours.layout);
    return std::ranges::find(layouts, wanted.layout) != layouts.end();
  }

  // ---- alternatives -------------------------------------------------------------------------------------------------

  std::vector<Alternative> alternatives_of(const std::vector<Format>& formats) {
    std::vector<Alternative> alternatives;
    for (const OperatorKernel& own : kernels_) {
      const std::vector<Format>& wanted = facts_[index_].kernels[own.kernel].operands;
      bool takes = true;
      for (size_t i = 0; i < formats.size() && takes; ++i) takes = accepts(i, formats[i], "", wanted[i]);
      if (!takes || own.rows.empty()) continue;
      Alternative& alternative = alternatives.emplace_back();
      add_module(alternative, {index_, own.kernel}, families_[index_].kernels[own.kernel]);
      alternative.rows = own.rows;
    }
    for (RecipeFacts& recipe : recipes_) add_alternatives(recipe, formats, alternatives);
    return alternatives;
  }

  void add_alternatives(RecipeFacts& recipe, const std::vector<Format>& formats,
                        std::vector<Alternative>& alternatives) {
    std::vector<Alternative> begun(1);
    begun[0].rows = {{{}, recipe.conditions}};
    begun[0].scratch = recipe.scratch;
    for (size_t s = 0; s < recipe.steps.size(); ++s) {
      std::vector<Alternative> next;
      for (size_t k = 0; k < families_[recipe.steps[s].family].kernels.size(); ++k) {
        const auto operands = operands_needed(recipe.steps[s], k, formats);
        if (!operands) continue;
        const std::vector<Row>& rows = rows_of_step(recipe, s, k);
        if (rows.empty()) continue;
        for (const Alternative& before : begun) {
          Alternative& alternative = next.emplace_back(before);
          const size_t family = recipe.steps[s].family;
          add_module(alternative, {family, k}, families_[family].kernels[k]);
          alternative.operands.insert(operands->begin(), operands->end());
          alternative.rows = joined(alternative.rows, rows);
        }
      }
      begun = std::move(next);
    }
    for (Alternative& alternative : begun) {
      std::ranges::sort(alternative.kernels);
      alternative.kernels.erase(std::unique(alternative.kernels.begin(), alternative.kernels.end()),
                                alternative.kernels.end());
      alternatives.push_back(std::move(alternative));
    }
  }

  // Our optional operands that the step does not do without; nullopt: it does not take the kernel, or not of these.
  std::optional<std::set<std::string>> operands_needed(const StepSource& source, size_t kernel,
                                                       const std::vector<Format>& formats) const {
    const Spec& family = *families_[source.family].spec;
    if (!takes(*source.step, family, families_[source.family].kernels[kernel].variant)) return std::nullopt;
    const std::vector<Format>& wanted = facts_[source.family].kernels[kernel].operands;
    std::set<std::string> needed;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const StepOperand& passed = source.operands[i];
      if (passed.kind == StepOperand::Kind::left_out) {
        if (!family.operands[i].is_optional) return std::nullopt;
      } else if (passed.kind == StepOperand::Kind::scratch) {
        Format format = passed.scratch;
        if (!passed.seen_as.empty()) format.layout = passed.seen_as;
        if (format != wanted[i]) return std::nullopt;
      } else {
        const spec::Operand& ours = spec_.operands[passed.ours];
        if (!accepts(passed.ours, formats[passed.ours], passed.seen_as, wanted[i])) return std::nullopt;
        if (ours.is_optional && !family.operands[i].is_optional) needed.insert(ours.name.value);
      }
    }
    return needed;
  }

  static bool takes(const spec::Step& step, const Spec& family, const expand::Variant& variant) {
    return std::ranges::all_of(step.with, [&](const auto& with) {
      const auto axis =
          std::ranges::find(family.parameters, with.first.value, [](const spec::Axis& a) { return a.name.value; });
      return axis != family.parameters.end() &&
             variant.values[static_cast<size_t>(axis - family.parameters.begin())] == with.second.value;
    });
  }

  // In our words; without those that fail whatever the problem is.
  const std::vector<Row>& rows_of_step(RecipeFacts& recipe, size_t step, size_t kernel) {
    const auto [place, is_new] = recipe.rows.try_emplace({step, kernel});
    if (!is_new) return place->second;
    StepSource& source = recipe.steps[step];
    const FamilyFacts& family = facts_[source.family];
    for (const Row& row : family.kernels[kernel].rows) {
      Row ours{row.needs, {}};
      bool can_hold = true;
      for (const Condition condition : row.conditions) {
        const auto [known, is_unknown] = source.conditions.try_emplace(condition);
        if (is_unknown) known->second = in_our_names(meaning_of(source, family.conditions[condition]));
        if (!known->second) continue;
        const auto value = expression::value_of(conditions_[*known->second]);
        can_hold = can_hold && !(value && *value == Value(false));
        add(ours.conditions, *known->second);
      }
      if (can_hold) place->second.push_back(std::move(ours));
    }
    return place->second;
  }

  static Expression meaning_of(const StepSource& source, const Expression& condition) {
    return expression::with_expressions(expression::with_values(condition, source.words), source.expressions);
  }

  // ---- which replaces which -----------------------------------------------------------------------------------------

  bool can_replace(const Alternative& one, const Alternative& other) {
    if ((one.features & ~other.features) != 0 || one.push_constants_bytes > other.push_constants_bytes) return false;
    if (one.buffers > other.buffers || one.images > other.images) return false;
    if (!is_subset(one.subgroup_sizes, other.subgroup_sizes) || !is_subset(one.scratch, other.scratch)) return false;
    if (!is_subset(one.operands, other.operands)) return false;
    return std::ranges::all_of(other.rows, [&](const Row& row) {
      return std::ranges::any_of(one.rows, [&](const Row& ours) {
        return are_no_more(ours.needs, row.needs) && conditions_.imply(row.conditions, ours.conditions);
      });
    });
  }

  // Classes of alternatives that can replace each other, and that no other can replace: one of each class must stay.
  // Those with the fewest needs are compared first, since they replace most others.
  std::set<Demand> demands_of(const std::vector<Alternative>& alternatives) {
    std::vector<const Alternative*> order;
    for (const Alternative& alternative : alternatives) order.push_back(&alternative);
    std::ranges::stable_sort(order, {}, [](const Alternative* alternative) {
      size_t conditions = std::numeric_limits<size_t>::max();
      for (const Row& row : alternative->rows) conditions = std::min(conditions, row.conditions.size());
      return std::tuple(alternative->kernels.size(), std::popcount(alternative->features), conditions);
    });
    std::vector<std::vector<const Alternative*>> classes;
    for (const Alternative* alternative : order) {
      const auto serving =
          std::ranges::find_if(classes, [&](const auto& c) { return can_replace(*c.front(), *alternative); });
      if (serving != classes.end()) {
        if (can_replace(*alternative, *serving->front())) serving->push_back(alternative);
        continue;
      }
      std::erase_if(classes, [&](const auto& c) { return can_replace(*alternative, *c.front()); });
      classes.push_back({alternative});
    }
    std::set<Demand> demands;
    for (const auto& equals : classes) {
      std::set<KernelSet> sets;
      for (const Alternative* alternative : equals) sets.insert(alternative->kernels);
      demands.emplace(sets.begin(), sets.end());
    }
    return demands;
  }

  size_t index_;
  const Spec& spec_;
  std::span<const Family> families_;
  std::span<const FamilyFacts> facts_;
  const std::map<std::string, size_t, std::less<>>& places_;
  Conditions conditions_;
  std::vector<OperatorKernel> kernels_;
  std::vector<RecipeFacts> recipes_;
};

}  // namespace

std::vector<OperatorDemands> demands_of_operators(std::span<const Family> families) {
  std::vector<FamilyFacts> facts;
  std::map<std::string, size_t, std::less<>> places;
  std::set<std::string> steps;
  for (size_t f = 0; f < families.size(); ++f) {
    facts.push_back(facts_of(families[f]));
    places.emplace(families[f].spec->name.value, f);
    for (const spec::Recipe& recipe : families[f].spec->recipes) {
      for (const spec::Step& step : recipe.steps) steps.insert(step.kernel.value);
    }
  }
  std::vector<OperatorDemands> result;
  for (size_t f = 0; f < families.size(); ++f) {
    const Spec& spec = *families[f].spec;
    if (spec.is_internal && steps.contains(spec.name.value)) continue;
    result.push_back(Operator(f, families, facts, places).run());
  }
  return result;
}

}  // namespace qgen::prune
