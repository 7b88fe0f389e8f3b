// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A spec as a value: one operator (or one kernel family that only recipes use), each field with its location.
// specs/README.md describes the language, and parse_spec() returns this.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/expression/expression.h"
#include "common/diagnostic.h"
#include "runtime/engine/library/signature_info.h"
#include "vocabulary/target.h"

namespace qgen::spec {

template <typename T>
struct Located {
  T value{};
  SourceLocation where;
};

inline std::vector<std::string> texts_of(const std::vector<Located<std::string>>& words) {
  std::vector<std::string> texts;
  for (const auto& word : words) texts.push_back(word.value);
  return texts;
}

// An axis: `vec: [1, 4]`. All values are of one type: integer, boolean or word.
//
// Values that only make sense together are records, `shape: [{m: 16, n: 16, k: 32}, {m: 8, n: 8, k: 8}]`. Each of their
// fields is an Axis here, "shape.m", "shape.n" and "shape.k", one after the other, with a value per record. So readers
// of a parameter's value need not know about records. Code that combines values iterates over groups_of() (axes.h).
struct Axis {
  Located<std::string> name;
  // "shape": the record that this is a field of; empty: an axis of single values
  std::string record;
  std::vector<SourceLocation> record_places;  // of a field: where each record stands
  expression::Type type = expression::Type::integer;
  std::vector<Located<expression::Value>> values;
};

// The dtype or storage of an operand: a fixed word, or the value of a parameter (`$input_dtype`).
struct Choice {
  std::string word;  // "f32", or the parameter's name: "input_dtype", "types.input"
  bool is_parameter = false;
  SourceLocation where;
};

// `[..., N, K]`, as callers see a tensor. Sides are names or numbers.
constexpr std::string_view kLeadingSides = "...";  // any number of sides before the others
struct ShapePattern {
  bool has_leading = false;
  std::vector<std::string> sides;
};

struct Operand {
  Located<std::string> name;
  Access access = Access::read;
  bool is_optional = false;
  Choice dtype;
  Choice storage;                // default buffer
  std::optional<Choice> layout;  // default: strided in a buffer, any in a texture
  // For an output: the inputs whose bytes it may use, if dtype, shape and layout are the same.
  std::vector<Located<std::string>> in_place;

  // The part for callers: signature.h.
  std::vector<ShapePattern> shapes;  // one of them
  bool is_weight = false;
  bool has_view = false;
  std::optional<Located<std::string>> row_sums_of;  // the weight that it is made from
  std::optional<Located<std::string>> like;         // by default, the input whose representation the output has
  std::string help;
};

inline bool may_lie_in(const Operand& output, const Operand& input) {
  return std::ranges::find(output.in_place, input.name.value, &Located<std::string>::value) != output.in_place.end();
}
// Whether the operand may share its bytes with another operand of a kernel.
inline bool may_share_bytes(const Operand& operand, const std::vector<Operand>& all) {
  return !operand.in_place.empty() ||
         std::ranges::any_of(all, [&](const Operand& output) { return may_lie_in(output, operand); });
}

// The possible values of a number: `[0, 2^119]`, `i8`, `positive`.
struct Range {
  double least = 0, greatest = 0;
  std::string text;  // for people: "0 to 2^119"
  std::string spec;  // as written in a spec
};

// An argument of a caller that is no tensor.
struct Attribute {
  Located<std::string> name;
  AttributeInfo::Kind kind = AttributeInfo::Kind::integer;
  std::string word_set;                         // of words: the name of their enum; "activation"
  std::vector<Located<std::string>> words;      // of words
  std::optional<Located<std::string>> operand;  // of a dtype or layout: whose it is
  std::optional<Range> range;
  std::optional<Located<std::string>> otherwise;  // nullopt: it is required; in parentheses: the effect without it
  std::string help;
  std::string unit;

  bool is_word() const { return kind == AttributeInfo::Kind::word; }
};

// Properties of an operand that the spec leaves open and a public operator fixes.
struct Narrowing {
  Located<std::string> operand;
  std::vector<Located<std::string>> dtypes;  // empty: the operand's dtypes
  std::optional<bool> is_optional;
  std::optional<std::string> help;
};

struct Alias {
  Located<std::string> name;
  std::string part;
};

// A public name for all or a part of the function of the spec's kernels.
struct PublicOperator {
  Located<std::string> name;
  std::string summary;
  std::vector<Narrowing> operands;
  std::vector<Located<std::string>> without;  // attributes that it does not have
  std::vector<Located<std::string>> with;     // attributes that the operators alone have that name them
  std::vector<Alias> aliases;
};

enum class FieldKind : uint8_t { u32, i32, f32 };

// `numel: u32`, `sizes: u32[8]`, `activation: {words: [none, relu]}`. Arrays cannot be named in expressions: they are
// data for the kernel. A word is an enumerator in C++; for kernels it is its place among the words, a u32.
struct ProblemField {
  Located<std::string> name;
  FieldKind kind = FieldKind::u32;
  uint32_t count = 1;                             // 1: a scalar
  std::string word_set;                           // of words: the name of their enum
  std::vector<Located<std::string>> words;        // of words
  std::optional<Located<std::string>> otherwise;  // the argument of a step that names none
  std::string fragment;                           // that declares it; empty: the spec itself

  bool is_word() const { return !words.empty(); }
};

// A number of the cost that measured times decide: `fit: {tile_us: 0.4}`.
struct FitConstant {
  Located<std::string> name;
  double value = 0;
  std::string label;       // who gives it, and its type: "half_product_times.step_us"
  std::string unit, help;  // its value; both may be missing
};

// A specialization constant that the problem decides: `constants: {with_table: has_table != 0}`. Kernels read it by its
// name, and each of its values is a separate pipeline.
struct PipelineConstant {
  Located<std::string> name;
  std::optional<expression::Expression> value;  // a boolean or an integer, over the problem; absent only while read
};

struct Condition {
  std::string text;  // with the names of definitions
  expression::Expression expression;
};

// Kernels that were measured on some architectures and were hardly ever the best there.
struct RarelyBest {
  Condition when;
  std::vector<Located<std::string>> on;  // architectures, or features
  std::string because;
};

struct Verify {
  Located<std::string> reference;
  Tolerance tolerance;                     // of every output
  std::optional<Tolerance> tolerance_f16;  // instead, of outputs of f16
  std::string computed;                    // the reference's allowance in addition, computed from the data; empty: none
  std::string why;
};

struct Scratch {
  Located<std::string> name;
  DType dtype = DType::f32;
  expression::Expression elements;
};

// The argument of a step for a problem field.
struct Passed {
  std::string text;  // with the names of definitions
  expression::Expression expression;
};

struct Step {
  Located<std::string> kernel;  // the operator or kernel family
  // Its operand <- ours, scratch, or 'none'; source_of() gives the rest.
  std::vector<std::pair<Located<std::string>, Located<std::string>>> operands;
  // Its field <- an expression over our names; expression_of() gives the rest.
  std::vector<std::pair<Located<std::string>, Passed>> problem;
  std::vector<std::pair<Located<std::string>, Located<expression::Value>>> with;  // parameters this step fixes
  // Its operand <- the layout in which it sees the memory; layout_seen() gives the rest.
  std::vector<std::pair<Located<std::string>, Located<std::string>>> seen_as;
  // The scratch with the number of workgroups: x, y, z. nullopt: those of the grid.
  std::optional<Located<std::string>> indirect;
};

struct Recipe {
  Located<std::string> name;
  std::vector<Condition> applies_when;
  std::vector<Scratch> scratch;
  std::vector<std::pair<Located<std::string>, Located<std::string>>> bind;     // as Step::operands, of all steps
  std::vector<std::pair<Located<std::string>, Located<std::string>>> seen_as;  // as Step::seen_as, of all steps
  std::vector<Step> steps;
};

// A fragment, named where the spec uses it.
struct Use {
  std::string file;  // the fragment's
  Located<std::string> fragment;
};

struct Spec {
  std::string file;
  std::vector<Use> uses;
  Located<std::string> name;  // equals the file's stem
  bool is_internal = false;   // `kernel: name` rather than `operator: name`
  std::string summary;
  std::optional<Located<std::string>> template_path;  // absent: the operator is made of recipes only
  std::vector<Operand> operands;                      // in binding order
  std::vector<ProblemField> problem;
  std::vector<Axis> parameters;
  std::vector<Axis> specialization;
  std::vector<PipelineConstant> constants;  // their ids follow the specialization's ids
  std::vector<FitConstant> fit;             // names that only the cost may read
  // names; in the expressions below, their definitions are inserted
  std::vector<Located<std::string>> definitions;
  std::set<std::string, std::less<>> hidden;            // definitions that only the fragment reads that says them
  std::vector<Condition> require;                       // names parameters only
  std::vector<Condition> applies_when;                  // parameters, specialization, problem, device
  std::vector<Condition> require_device;                // parameters, specialization, device
  std::vector<RarelyBest> rarely_best;                  // parameters, specialization, device
  std::optional<expression::Expression> subgroup_size;  // parameters
  std::optional<compile::Target> target;                // of its modules; nullopt: that of the run
  std::array<std::optional<expression::Expression>, 3> grid;
  std::optional<expression::Expression> cost;
  std::optional<Verify> verify;
  std::vector<Recipe> recipes;
  std::vector<Attribute> attributes;
  std::vector<PublicOperator> operators;  // empty: the spec's own name, if its operands have shapes

  // The scope of every expression above, in this order: parameters, specialization, scalar problem fields, device
  // numbers (as device.<name>), constants of the cost.
  expression::Scope scope;
};

// The argument of a step for an operand, field or parameter of its family, by name; null: none.
template <typename Pairs>
auto said_of(const Pairs& pairs, std::string_view name) -> const typename Pairs::value_type* {
  const auto said =
      std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first.value == name; });
  return said == pairs.end() ? nullptr : &*said;
}

// The operand that a step binds for one of its family: ours or scratch by the step, or else by its recipe, or else the
// one of the same name. Empty: nothing, since it says 'none', or nothing bears the name.
std::string_view source_of(const Spec& spec, const Recipe& recipe, const Step& step, std::string_view operand);

// The layout that a step takes the operand of its family for, as it says, or its recipe. Empty: its own layout.
std::string_view layout_seen(const Recipe& recipe, const Step& step, std::string_view operand);

// The expression that a step passes for a problem field of its family, over our names. It is the step's expression, or
// our field or definition of the same name, or the field's default. Empty: there is none.
std::string_view expression_of(const Spec& spec, const Step& step, const ProblemField& field);

// A problem field of the counter of an indirect step: the workgroups of that step's grid, so the most that it can have.
// The runtime sets it when the step's kernel is chosen.
inline constexpr std::string_view kMostWorkgroups = "most_workgroups";
// Whether a step of this family writes the scratch.
bool writes(const Spec& spec, const Recipe& recipe, const Step& step, const Spec& family, std::string_view scratch);
// Whether it counts the workgroups of an indirect step.
bool is_counter(const Spec& spec, const Recipe& recipe, const Step& step, const Spec& family);

}  // namespace qgen::spec
