// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/check_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "codegen/spec/axes.h"
#include "codegen/spec/make_error.h"
#include "codegen/spec/type_names.h"
#include "codegen/spec/words.h"
#include "codegen/support/article.h"

namespace qgen::spec {
namespace {

using expression::Type;
using expression::Value;

constexpr int64_t kLargestAxisValue = 0xffffffff;  // a specialization constant is a uint
constexpr size_t kMostOfAKind = 255;               // tables count operands in a byte, and keep one value for "none"
constexpr uint64_t kMostProblemBytes = 16384;      // which every device takes as a uniform buffer
constexpr size_t kMostSpecializations = 1024;      // combinations of their values: a kernel of each variant each
constexpr ptrdiff_t kMostInPlace = 32;             // tables have a bit for each: OperandInfo::in_place

std::string with_article(Type type) { return fmt::format("{} {}", type == Type::integer ? "an" : "a", name(type)); }

// ---- declarations

class DeclarationChecker {
 public:
  explicit DeclarationChecker(const Spec& spec) : spec_(spec) {}

  Diagnostics run() {
    check_head();
    check_names();
    check_axes(spec_.parameters, false);
    check_axes(spec_.specialization, true);
    check_specializations();
    check_fit();
    for (const ProblemField& field : spec_.problem) check_words(field);
    for (const Operand& operand : spec_.operands) {
      check_operand(operand);
      for (const auto& input : operand.in_place) check_in_place(operand, input);
    }
    return std::move(errors_);
  }

 private:
  Diagnostic& report(const SourceLocation& where, std::string message, std::string expected = "",
                     std::string hint = "") {
    errors_.push_back(make_error(where, std::move(message), std::move(expected), std::move(hint)));
    return errors_.back();
  }

  void check_head() {
    if (!spec_.name.value.empty()) append(errors_, check_file_name(spec_.name, spec_.file));
    if (spec_.is_internal && !spec_.recipes.empty()) {
      report(spec_.recipes.front().name.where, "a kernel has no recipes", "", "begin the spec with 'operator:'");
    }
    // Without a name, a message has no subject, and the missing name is an error already.
    if (spec_.operands.empty() && !spec_.name.value.empty()) {
      report(spec_.name.where, "the spec has no operands", "at least one");
    }
    check_count("operands", spec_.operands, [](const Operand& operand) { return operand.name.where; });
    check_count("parameters", spec_.parameters, [](const Axis& axis) { return axis.name.where; });
    check_count("specialization constants", spec_.specialization, [](const Axis& axis) { return axis.name.where; });
    check_count("constants", spec_.constants, [](const PipelineConstant& constant) { return constant.name.where; });
    check_problem_size();
  }

  // Where the first stands that is one too many.
  template <typename Item, typename Where>
  void check_count(std::string_view what, const std::vector<Item>& items, const Where& where) {
    if (items.size() <= kMostOfAKind) return;
    report(where(items[kMostOfAKind]), fmt::format("the spec has {} {}", items.size(), what),
           fmt::format("at most {}", kMostOfAKind));
  }

  void check_problem_size() {
    uint64_t bytes = 0;
    for (const ProblemField& field : spec_.problem) {
      bytes += uint64_t{4} * field.count;
      if (bytes <= kMostProblemBytes) continue;
      report(field.name.where, fmt::format("the problem has more than {} bytes from here on", kMostProblemBytes),
             "fields of four bytes, or arrays of them");
      return;
    }
  }

  void check_names() {
    for (const Operand& operand : spec_.operands) declare_operand(operand.name);
    for (const ProblemField& field : spec_.problem) declare_in_glsl(field.name, kProblem);
    for (const AxisGroup& group : groups_of(spec_.parameters)) declare_axes(group, kParameter);
    for (const AxisGroup& group : groups_of(spec_.specialization)) declare_axes(group, kSpecialization);
    for (const PipelineConstant& constant : spec_.constants) declare_in_glsl(constant.name, kPipelineConstant);
    for (const FitConstant& constant : spec_.fit) declare(constant.name, kFit);
    for (const Located<std::string>& definition : spec_.definitions) declare(definition, kDefinition);
    for (const Axis& axis : spec_.specialization) check_glsl_name({glsl_name(axis), axis.name.where});
    check_members();
  }

  // In C++, the fields of a fragment are a member of Problem, which has the fragment's name.
  void check_members() {
    for (const ProblemField& ours : spec_.problem) {
      const auto same = std::ranges::find(spec_.problem, ours.name.value, &ProblemField::fragment);
      if (!ours.fragment.empty() || same == spec_.problem.end()) continue;
      report(ours.name.where,
             fmt::format("'{}' is a problem field, and a fragment with problem fields", ours.name.value), "",
             "take another name")
          .notes.push_back({same->name.where, fmt::format("a field of fragment '{}'", ours.name.value)});
    }
  }

  void declare_operand(const Located<std::string>& name) {
    declare(name, "operand");
    if (auto fault = fault_of_operand_name(name.value)) report(name.where, *fault, "", "take another name");
  }

  // The field m of a record `shape` is shape_m in C++ and GLSL, which must be free too.
  void declare_axes(const AxisGroup& group, std::string_view kind) {
    const Axis& first = group.axes.front();
    declare({std::string(group.name()), first.name.where}, kind);
    if (first.record.empty()) return;
    for (const Axis& axis : group.axes) {
      if (Diagnostic* error = declare({glsl_name(axis), axis.name.where}, kind)) {
        error->hint = fmt::format("in C++ and GLSL this is the name of '{}'", axis.name.value);
      }
    }
  }

  void declare_in_glsl(const Located<std::string>& name, std::string_view kind) {
    declare(name, kind);
    check_glsl_name(name);
  }

  void check_glsl_name(const Located<std::string>& name) {
    if (const auto fault = fault_of_glsl_name(name.value)) report(name.where, *fault, "", "take another name");
  }

  struct Declared {
    SourceLocation where;
    std::string_view kind;
  };

  // The reported errors, or nothing.
  Diagnostic* declare(const Located<std::string>& name, std::string_view kind) {
    if (is_generated_type(name.value))
      report(name.where, fmt::format("'{}' is a type of generated code", name.value), "", "take another name");
    const auto [first, is_new] = declared_.emplace(name.value, Declared{name.where, kind});
    if (is_new) return nullptr;
    Diagnostic& error = report(
        name.where, fmt::format("'{}' is already the name of {}", name.value, qgen::with_article(first->second.kind)));
    error.notes.push_back({first->second.where, "declared here"});
    return &error;
  }

  void check_axes(const std::vector<Axis>& axes, bool is_specialization) {
    for (const Axis& axis : axes) {
      for (const auto& value : axis.values) check_value(axis, value, is_specialization);
    }
    for (const AxisGroup& group : groups_of(axes)) check_is_given_once(group);
    check_enums(axes);
  }

  // Words are enumerators, so that each axis of them is an enum.
  void check_enums(const std::vector<Axis>& axes) {
    TypeNames types;
    for (const Axis& axis : axes) {
      if (axis.type != Type::word) continue;
      types.add(axis.name, errors_);
      const std::string type = pascal_case(axis.name.value);
      const auto same = std::ranges::find_if(axes, [&](const Axis& one) { return glsl_name(one) == type; });
      if (same == axes.end()) continue;
      report(same->name.where, fmt::format("'{}' is the C++ type of parameter '{}' too", type, axis.name.value), "",
             "begin the name with a small letter");
    }
  }

  void check_specializations() {
    size_t count = 1;
    for (const AxisGroup& group : groups_of(spec_.specialization)) {
      // Past the limit the exact count says nothing more, and may not fit its type.
      if (count <= kMostSpecializations) count *= group.size();
    }
    if (count <= kMostSpecializations) return;
    report(spec_.specialization.front().name.where,
           fmt::format("the values of 'specialization' make {} combinations or more", count),
           fmt::format("at most {}", kMostSpecializations),
           "each is a kernel to choose from: keep the values worth choosing, or write those that belong together as "
           "records");
  }

  // Fitting looks for their logarithms.
  void check_fit() {
    for (const FitConstant& constant : spec_.fit) {
      if (constant.value > 0) continue;
      report(constant.name.where, fmt::format("'{}' of 'fit' is 0", constant.name.value), "a number above 0");
    }
  }

  void check_is_given_once(const AxisGroup& group) {
    std::map<std::string, SourceLocation> seen;
    for (size_t i = 0; i < group.size(); ++i) {
      const SourceLocation& where = group.where(i);
      const std::string text = value_text(group, i);
      const auto [first, is_new] = seen.emplace(text, where);
      if (!is_new)
        report(where, fmt::format("'{}' has the value {} twice", group.name(), text))
            .notes.push_back({first->second, "first given here"});
    }
  }

  void check_value(const Axis& axis, const Located<Value>& value, bool is_specialization) {
    const Type type = expression::type_of(value.value);
    if (is_specialization && type != Type::integer) {
      report(value.where,
             fmt::format("'{}' of specialization constant '{}' is not an integer", expression::to_text(value.value),
                         axis.name.value),
             "integers", "list words and booleans under 'parameters', since they change the code");
    } else if (type == Type::word) {
      check_word(value);
    } else if (type == Type::integer) {
      check_integer(axis, value);
    }
    if (type != axis.type && !is_specialization) report_mixture(axis, value);
  }

  void report_mixture(const Axis& axis, const Located<Value>& value) {
    const std::string first = expression::to_text(axis.values.front().value);
    const std::string text = expression::to_text(value.value);
    if (axis.type == Type::word && fault_of_name(first)) return;  // no word either, and reported as such
    report(value.where, fmt::format("'{}' mixes types: '{}' is {}, and '{}' is {}", axis.name.value, first,
                                    with_article(axis.type), text, with_article(expression::type_of(value.value))));
  }

  void check_integer(const Axis& axis, const Located<Value>& value) {
    const int64_t integer = std::get<Integer>(value.value).value;
    if (integer >= 0 && integer <= kLargestAxisValue) return;
    report(value.where, fmt::format("'{}' has the value {}", axis.name.value, integer),
           fmt::format("0 to {}", kLargestAxisValue));
  }

  // Words are parts of ids and enums, and appear among names in expressions.
  void check_word(const Located<Value>& value) {
    const std::string word = expression::to_text(value.value);
    if (const auto fault = fault_of_name(word)) {
      report(value.where, *fault, "integers, true and false, or words");
      return;
    }
    check_is_no_name({word, value.where});
  }

  void check_words(const ProblemField& field) {
    for (const auto& word : field.words) check_is_no_name(word);
    append(errors_, check_words_differ(field.name.value, field.words));
  }

  void check_is_no_name(const Located<std::string>& word) {
    const auto name = declared_.find(word.value);
    if (name == declared_.end()) return;
    report(word.where,
           fmt::format("the word '{}' is also the name of {}", word.value, qgen::with_article(name->second.kind)), "",
           "rename one of them, since expressions could mean either")
        .notes.push_back({name->second.where, "declared here"});
  }

  void check_operand(const Operand& operand) {
    check_choice(operand, operand.dtype, "dtype", dtype_words());
    check_choice(operand, operand.storage, "storage", storage_words());
    if (!operand.layout) return;
    check_choice(operand, *operand.layout, "layout", layout_words());
    const Choice& layout = *operand.layout;
    if (layout.is_parameter || !find_layout(layout.word)) return;
    check_packed_bytes(operand, layout);
    if (operand.storage.is_parameter) return;
    const std::string_view storage = name(info(*find_layout(layout.word)).storage);
    if (storage == operand.storage.word) return;
    report(layout.where, fmt::format("a {} cannot have the layout '{}'", operand.storage.word, layout.word), "",
           fmt::format("a {} tensor has storage {}", layout.word, storage));
  }

  void check_packed_bytes(const Operand& operand, const Choice& layout) {
    const Choice& dtype = operand.dtype;
    if (!info(*find_layout(layout.word)).is_packed_bytes() || dtype.is_parameter) return;
    if (dtype.word == name(DType::i8) || dtype.word == name(DType::u8)) return;
    report(layout.where, fmt::format("'{}' packs bytes, and '{}' is {}", layout.word, operand.name.value, dtype.word),
           "dtype i8 or u8");
  }

  void check_in_place(const Operand& output, const Located<std::string>& named) {
    const auto input =
        std::ranges::find_if(spec_.operands, [&](const Operand& one) { return one.name.value == named.value; });
    if (input == spec_.operands.end()) {
      std::vector<std::string> names;
      for (const Operand& operand : spec_.operands) names.push_back(operand.name.value);
      report(named.where, fmt::format("'{}' is not an operand", named.value), one_of(names),
             suggest(named.value, names));
      return;
    }
    const std::string pair = fmt::format("'{}' cannot be written in place of '{}'", output.name.value, named.value);
    if (output.access != Access::write || input->access != Access::read)
      report(named.where, pair, "an output in place of an input");
    if (input - spec_.operands.begin() >= kMostInPlace)
      report(named.where, pair, fmt::format("one of the first {} operands", kMostInPlace));
    if (!have_in_common(output.dtype, input->dtype))
      report(named.where, pair, "two operands that may have the same dtype");
    if (!may_be_buffer(output) || !may_be_buffer(*input)) report(named.where, pair, "two buffers");
  }

  bool have_in_common(const Choice& one, const Choice& other) const {
    const std::vector<std::string> words = words_of(spec_, one);
    return std::ranges::any_of(words_of(spec_, other),
                               [&](const std::string& word) { return std::ranges::count(words, word) != 0; });
  }

  bool may_be_buffer(const Operand& operand) const {
    return std::ranges::count(words_of(spec_, operand.storage), name(Storage::buffer)) != 0;
  }

  // `$x`: x is a parameter, and each of its values would do if it stood here itself.
  void check_choice(const Operand& operand, const Choice& choice, std::string_view what,
                    const std::vector<std::string>& words) {
    if (!choice.is_parameter) return check_fixed(operand, choice, what, words);
    const Axis* axis = find_parameter(choice.word);
    if (!axis) return report_parameter(choice);
    if (!checked_.emplace(choice.word, what).second) return;  // operands share parameters: one fault, one report
    for (const auto& value : axis->values) {
      const std::string text = expression::to_text(value.value);
      if (std::find(words.begin(), words.end(), text) != words.end()) continue;
      report(value.where,
             fmt::format("'{}' is not a {}, and '{}' takes its {} from here", text, what, operand.name.value, what),
             one_of(words), suggest(text, words))
          .notes.push_back({choice.where, fmt::format("'${}' is given to '{}' here", choice.word, operand.name.value)});
    }
  }

  // check_shape() vouches for a word that stands with the operand, but not for one that a definition gives it.
  void check_fixed(const Operand& operand, const Choice& choice, std::string_view what,
                   const std::vector<std::string>& words) {
    if (std::find(words.begin(), words.end(), choice.word) != words.end()) return;
    if (!checked_.emplace(choice.word, what).second) return;
    report(
        choice.where,
        fmt::format("'{}' is not a {}, and '{}' takes its {} from here", choice.word, what, operand.name.value, what),
        one_of(words), suggest(choice.word, words));
  }

  const Axis* find_parameter(std::string_view name) const {
    const auto found = std::find_if(spec_.parameters.begin(), spec_.parameters.end(),
                                    [&](const Axis& axis) { return axis.name.value == name; });
    return found == spec_.parameters.end() ? nullptr : &*found;
  }

  void report_parameter(const Choice& choice) {
    std::vector<std::string> names;
    for (const Axis& axis : spec_.parameters) names.push_back(axis.name.value);
    const auto other = declared_.find(choice.word);
    const std::string message = other == declared_.end()
                                    ? fmt::format("'${}' names no parameter", choice.word)
                                    : fmt::format("'${}' names a {}, not a parameter", choice.word, other->second.kind);
    report(choice.where, message, one_of(names), suggest(choice.word, names));
  }

  const Spec& spec_;
  std::map<std::string, Declared> declared_;
  std::set<std::pair<std::string, std::string_view>> checked_;  // parameter, and the type for which it was checked
  Diagnostics errors_;
};

// ---- uses

// Where names of this kind may be read: the hint for an expression that may not read one.
std::string home_of(std::string_view kind) {
  if (kind == kFit)
    return "only the cost reads fitted constants: whether a kernel fits must not depend on measurements";
  return fmt::format("a {} is known at selection: write the condition under '{}'", kind,
                     kind == kDevice ? "require_device" : "applies_when");
}

Diagnostics check_reads(const expression::Expression& expression, const expression::Scope& scope,
                        std::string_view reader, std::initializer_list<std::string_view> kinds,
                        const std::function<std::string(std::string_view)>& hint) {
  Diagnostics errors;
  for (const expression::SymbolUse& use : expression::uses_of(expression)) {
    const expression::Symbol& symbol = scope.symbols()[use.symbol];
    if (std::find(kinds.begin(), kinds.end(), symbol.kind) != kinds.end()) continue;
    Diagnostic error = make_error(use.where, fmt::format("{} cannot read {} '{}'", reader, symbol.kind, symbol.name),
                                  "", hint(symbol.kind));
    if (symbol.declared.line != 0)
      error.notes.push_back({symbol.declared, fmt::format("'{}' is declared here", symbol.name)});
    errors.push_back(std::move(error));
  }
  return errors;
}

constexpr std::initializer_list<std::string_view> kAtSelection = {kParameter, kSpecialization, kProblem, kDevice};
constexpr std::initializer_list<std::string_view> kOfDevice = {kParameter, kSpecialization, kDevice};

// A failed condition is reported as a missing feature of the device.
Diagnostics check_reads_device(const Condition& condition, const expression::Scope& scope) {
  const auto uses = expression::uses_of(condition.expression);
  const bool reads_device = std::ranges::any_of(
      uses, [&](const expression::SymbolUse& use) { return scope.symbols()[use.symbol].kind == kDevice; });
  if (reads_device) return {};
  return {make_error(condition.expression.where(),
                     fmt::format("'{}' of 'require_device' reads no device number", condition.text), "",
                     "write a condition on the problem under 'applies_when', and slow kernels under 'rarely_best'")};
}

// Of an expression that reads no name.
std::optional<double> constant_of(const expression::Expression& expression) {
  if (!expression::symbols_of(expression).empty()) return std::nullopt;
  const expression::Value value = expression::evaluate(expression, {});
  if (const auto* integer = std::get_if<Integer>(&value)) return static_cast<double>(integer->value);
  if (const auto* real = std::get_if<Real>(&value)) return real->value;
  return std::nullopt;
}

Diagnostics check_conditions(const Spec& spec) {
  Diagnostics errors;
  for (const Condition& condition : spec.require) {
    append(errors, check_reads(condition.expression, spec.scope, "'require'", {kParameter}, home_of));
  }
  for (const Condition& condition : spec.require_device) {
    Diagnostics reads = check_reads(condition.expression, spec.scope, "'require_device'", kOfDevice, home_of);
    append(errors, reads.empty() ? check_reads_device(condition, spec.scope) : std::move(reads));
  }
  for (const RarelyBest& row : spec.rarely_best) {
    append(errors, check_reads(row.when.expression, spec.scope, "'rarely_best'", kOfDevice, [](std::string_view) {
             return std::string("it is evaluated once for each device, before a problem is known");
           }));
  }
  constexpr size_t kMostRarelyBest = 64;  // a bit each
  if (spec.rarely_best.size() > kMostRarelyBest)
    errors.push_back(make_error(spec.rarely_best[kMostRarelyBest].when.expression.where(),
                                fmt::format("'rarely_best' has {} items", spec.rarely_best.size()),
                                fmt::format("{} at most", kMostRarelyBest)));
  for (const Condition& condition : spec.applies_when) {
    append(errors, check_reads(condition.expression, spec.scope, "'applies_when'", kAtSelection, home_of));
  }
  for (const auto& side : spec.grid) {
    if (!side) continue;
    append(errors, check_reads(*side, spec.scope, "'grid'", kAtSelection, home_of));
    if (const auto number = constant_of(*side); number && *number < 1)
      errors.push_back(make_error(side->where(), fmt::format("a side of 'grid' is {}", *number), "",
                                  "a grid of no workgroups runs nothing: write 1"));
  }
  if (spec.subgroup_size) {
    append(errors, check_reads(*spec.subgroup_size, spec.scope, "'subgroup_size'", {kParameter}, [](std::string_view) {
             return std::string("a module has one subgroup size for all devices and problems: read parameters only");
           }));
  }
  return errors;
}

// The problem's properties that a pipeline knows, in addition to the kernel's choices.
Diagnostics check_constants(const Spec& spec) {
  Diagnostics errors;
  for (const PipelineConstant& constant : spec.constants) {
    append(errors, check_reads(*constant.value, spec.scope, "'constants'", {kProblem},
                               [](std::string_view) { return std::string("a constant reads problem fields only"); }));
    const Type type = constant.value->type();
    if (type == Type::boolean || type == Type::integer) continue;
    errors.push_back(make_error(constant.value->where(),
                                fmt::format("'{}' of 'constants' is {}", constant.name.value, with_article(type)),
                                "a boolean or an integer"));
  }
  return errors;
}

Diagnostics check_cost(const Spec& spec) {
  Diagnostics errors;
  if (!spec.cost) return errors;
  if (const auto number = constant_of(*spec.cost); number && *number < 0)
    errors.push_back(
        make_error(spec.cost->where(), fmt::format("the cost is {} us", *number), "", "a time is positive"));
  for (const auto& [where, text] : expression::rounding_divisions(*spec.cost)) {
    errors.push_back(make_error(where, fmt::format("'{}' divides integers, which rounds toward zero", text), "",
                                "a cost is real: write 100.0 for 100"));
  }
  return errors;
}

// Constants that affect no time cannot be found from times.
Diagnostics check_fit_is_read(const Spec& spec) {
  std::set<std::string> read;
  if (spec.cost) {
    for (const size_t index : expression::symbols_of(*spec.cost)) read.insert(spec.scope.symbols()[index].name);
  }
  Diagnostics errors;
  for (const FitConstant& constant : spec.fit) {
    if (read.contains(constant.name.value)) continue;
    errors.push_back(make_error(constant.name.where,
                                fmt::format("the cost does not read '{}' of 'fit'", constant.name.value), "",
                                "name it in 'cost', or in a definition that the cost reads; or leave it out"));
  }
  return errors;
}

// Without kernels of its own, a spec has no use for a parameter.
Diagnostics check_parameters_of_operands(const Spec& spec) {
  Diagnostics errors;
  const auto names = [](const Choice& choice, const Axis& axis) {
    return choice.is_parameter && choice.word == axis.name.value;
  };
  for (const Axis& axis : spec.parameters) {
    const bool is_read = std::any_of(spec.operands.begin(), spec.operands.end(), [&](const Operand& operand) {
      return names(operand.dtype, axis) || names(operand.storage, axis) ||
             (operand.layout && names(*operand.layout, axis));
    });
    if (is_read) continue;
    errors.push_back(make_error(
        axis.name.where,
        fmt::format("parameter '{}' needs a 'template': this operator is made of recipes only", axis.name.value), "",
        "without a template, parameters only list the formats of operands: 'dtype: $parameter'"));
  }
  return errors;
}

std::vector<std::string> operand_names(const Spec& spec) {
  std::vector<std::string> names;
  for (const Operand& operand : spec.operands) names.push_back(operand.name.value);
  return names;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Values that depend on the problem are known only with the problem. A fixed number is known now, and Vulkan binds no
// more bytes at once than 32 bits count.
Diagnostics check_scratch_size(const Scratch& scratch) {
  if (!expression::symbols_of(scratch.elements).empty()) return {};
  const int64_t most = std::numeric_limits<uint32_t>::max() / bytes(scratch.dtype);
  const int64_t elements = std::get<Integer>(expression::evaluate(scratch.elements, {})).value;
  if (elements >= 1 && elements <= most) return {};
  return {
      make_error(scratch.elements.where(),
                 fmt::format("scratch '{}' has {} elements of {}", scratch.name.value, elements, name(scratch.dtype)),
                 fmt::format("1 to {}", most))};
}

Diagnostics check_recipe(const Spec& spec, const Recipe& recipe) {
  Diagnostics errors;
  for (const Condition& condition : recipe.applies_when)
    append(errors, check_recipe_expression(condition.expression, spec.scope));
  std::vector<std::string> sources = operand_names(spec);
  for (const Scratch& scratch : recipe.scratch) {
    append(errors, check_recipe_expression(scratch.elements, spec.scope));
    append(errors, check_scratch_size(scratch));
    if (holds(sources, scratch.name.value))
      errors.push_back(make_error(scratch.name.where,
                                  fmt::format("scratch '{}' is the name of an operand too", scratch.name.value)));
    if (scratch.name.value == kNoOperand)
      errors.push_back(make_error(scratch.name.where, fault_of_operand_name(kNoOperand).value()));
    sources.push_back(scratch.name.value);
  }
  const auto check_source = [&](const Located<std::string>& ours) {
    if (ours.value == kNoOperand || holds(sources, ours.value)) return;
    errors.push_back(make_error(ours.where,
                                fmt::format("'{}' is neither an operand nor scratch of this recipe", ours.value),
                                fmt::format("{}, or {}", one_of(sources), kNoOperand), suggest(ours.value, sources)));
  };
  for (const auto& [theirs, ours] : recipe.bind) check_source(ours);
  for (const Step& step : recipe.steps) {
    for (const auto& [theirs, ours] : step.operands) check_source(ours);
  }
  return errors;
}

}  // namespace

std::string stem(std::string_view file) {
  file = file.substr(file.find_last_of('/') + 1);
  return std::string(file.substr(0, file.find('.')));
}

Diagnostics check_file_name(const Located<std::string>& name, std::string_view file) {
  if (stem(file) == name.value) return {};
  return {make_error(name.where, fmt::format("the file of '{}' is named '{}'", name.value, stem(file)),
                     fmt::format("'{}.yaml'", name.value), "a file contains one spec or fragment, and has its name")};
}

Diagnostics check_words_differ(const std::string& of, const std::vector<Located<std::string>>& words) {
  Diagnostics errors;
  std::map<std::string, SourceLocation> seen;
  for (const auto& word : words) {
    const auto [first, is_new] = seen.emplace(word.value, word.where);
    if (is_new) continue;
    errors.push_back(make_error(word.where, fmt::format("'{}' has the word {} twice", of, word.value)));
    errors.back().notes.push_back({first->second, "first given here"});
  }
  return errors;
}

Diagnostics check_declarations(const Spec& spec) { return DeclarationChecker(spec).run(); }

Diagnostics check_recipe_expression(const expression::Expression& expression, const expression::Scope& scope) {
  return check_reads(expression, scope, "a recipe", {kProblem, kDevice}, [](std::string_view) {
    return std::string("a recipe has no variants: it reads problem fields and device numbers only");
  });
}

Diagnostics check_uses(const Spec& spec) {
  Diagnostics errors = check_conditions(spec);
  append(errors, check_constants(spec));
  append(errors, check_cost(spec));
  append(errors, check_fit_is_read(spec));
  if (!spec.template_path) append(errors, check_parameters_of_operands(spec));
  for (const Recipe& recipe : spec.recipes) append(errors, check_recipe(spec, recipe));
  return errors;
}

}  // namespace qgen::spec
