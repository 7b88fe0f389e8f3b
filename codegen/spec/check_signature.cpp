// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks the signature: attributes name operands that exist, defaults are possible values, and every tensor that a
// caller passes or gets has a shape.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "codegen/spec/axes.h"
#include "codegen/spec/check_spec.h"
#include "codegen/spec/make_error.h"
#include "codegen/spec/range.h"
#include "codegen/spec/signature.h"
#include "codegen/spec/type_names.h"
#include "codegen/spec/words.h"

namespace qgen::spec {
namespace {

using Kind = AttributeInfo::Kind;

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::boolean: return "true or false";
    case Kind::integer: return "an integer";
    case Kind::real: return "a number";
    case Kind::integers: return "a list of integers";
    case Kind::word: return "a word";
    case Kind::dtype: return "a dtype";
    case Kind::layout: return "a layout";
  }
  return "?";
}

bool is_number(Kind kind) { return kind == Kind::integer || kind == Kind::real; }

class SignatureChecker {
 public:
  explicit SignatureChecker(const Spec& spec) : spec_(spec) {}

  Diagnostics run() {
    if (!is_public(spec_)) return check_is_silent();
    for (const Operand& operand : spec_.operands) check_operand(operand);
    for (const Attribute& attribute : spec_.attributes) check_attribute(attribute);
    append(errors_, check_types_differ(spec_.operands));
    append(errors_, check_types_differ(spec_.attributes));
    for (const PublicOperator& op : spec_.operators) check_public_operator(op);
    if (!errors_.empty()) return std::move(errors_);
    for (const Signature& signature : signatures_of(spec_)) check_defaults(signature);
    return std::move(errors_);
  }

 private:
  Diagnostic& report(const SourceLocation& where, std::string message, std::string expected = "",
                     std::string hint = "") {
    errors_.push_back(make_error(where, std::move(message), std::move(expected), std::move(hint)));
    return errors_.back();
  }

  // Without shapes nobody but kernels reads the operands.
  Diagnostics check_is_silent() {
    const auto say = [&](const Located<std::string>& name, std::string_view what) {
      report(name.where,
             fmt::format("{} '{}' is for callers, and {}", what, name.value,
                         spec_.is_internal ? "a kernel has none" : "no operand has a 'shape'"),
             "", spec_.is_internal ? "" : "'shape' makes an operand public: input: {..., shape: [..., K]}");
    };
    if (!spec_.attributes.empty()) say(spec_.attributes.front().name, "attribute");
    if (!spec_.operators.empty()) say(spec_.operators.front().name, "operator");
    return std::move(errors_);
  }

  // ---- operands

  void check_operand(const Operand& operand) {
    if (operand.row_sums_of) return check_row_sums(operand);
    if (operand.shapes.empty()) {
      report(operand.name.where, fmt::format("'{}' has no 'shape', and other operands have one", operand.name.value),
             "such as [..., N, K]; [...] is any");
    }
    if (operand.is_weight) check_weight(operand);
    if (operand.like) check_like(operand, *operand.like);
  }

  void check_row_sums(const Operand& operand) {
    const Operand* source = find_operand(*operand.row_sums_of);
    if (!source || source->is_weight) return;
    report(operand.row_sums_of->where, fmt::format("'{}' is not a weight", operand.row_sums_of->value), "",
           "sums of rows are made from a weight")
        .notes.push_back({source->name.where, "declared here"});
  }

  void check_weight(const Operand& operand) {
    const auto layouts = operand.layout ? words_of(spec_, *operand.layout) : std::vector<std::string>();
    const bool has_forms = !layouts.empty() && std::ranges::all_of(layouts, [](const std::string& word) {
      return info(*find_layout(word)).is_weight;
    });
    // A matrix, or a window's taps for each pair of channels: runtime/engine/tensor/weight_form.h.
    const bool is_weight = std::ranges::all_of(operand.shapes, [](const ShapePattern& shape) {
      return !shape.has_leading && shape.sides.size() >= 2 && shape.sides.size() <= 4;
    });
    if (!has_forms)
      report(operand.name.where, fmt::format("weight '{}' has no layout of a weight", operand.name.value),
             "a layout weight_...");
    if (!is_weight)
      report(operand.name.where, fmt::format("weight '{}' is neither a matrix nor a window", operand.name.value),
             "shape: [N, K], or [N, C, H, W]");
  }

  void check_like(const Operand& operand, const Located<std::string>& like) {
    const Operand* source = find_operand(like);
    if (!source) return;
    if (operand.access != Access::write || source->access != Access::read) {
      report(like.where, fmt::format("'{}' is like '{}'", operand.name.value, like.value),
             "an output with the representation of an input");
    }
  }

  const Operand* find_operand(const Located<std::string>& name) {
    const auto found =
        std::ranges::find_if(spec_.operands, [&](const Operand& o) { return o.name.value == name.value; });
    if (found != spec_.operands.end()) return &*found;
    std::vector<std::string> names;
    for (const Operand& operand : spec_.operands) names.push_back(operand.name.value);
    report(name.where, fmt::format("'{}' is not an operand", name.value), one_of(names), suggest(name.value, names));
    return nullptr;
  }

  // ---- attributes

  void check_attribute(const Attribute& attribute) {
    const SourceLocation& where = attribute.name.where;
    const std::string& called = attribute.name.value;
    const bool is_of_operand = attribute.kind == Kind::dtype || attribute.kind == Kind::layout;
    if (attribute.operand && !is_of_operand) {
      report(attribute.operand->where, fmt::format("attribute '{}' is {}", called, name(attribute.kind)), "",
             "'of' says whose dtype or layout an attribute is");
    } else if (attribute.operand) {
      find_operand(*attribute.operand);
    }
    if (is_generated_type(called))
      report(where, fmt::format("'{}' is a type of generated code", called), "", "take another name");
    check_words(attribute);
    if (attribute.range && !is_number(attribute.kind))
      report(where, fmt::format("attribute '{}' is {}, and has a 'range'", called, name(attribute.kind)),
             "a range of numbers");
    if (attribute.kind == Kind::integer && attribute.range) check_is_integers(attribute);
  }

  // Attributes with words have exactly one list of them.
  void check_words(const Attribute& attribute) {
    const SourceLocation& where = attribute.name.where;
    const std::string& called = attribute.name.value;
    const bool is_spelled =
        attribute.kind == Kind::word || attribute.kind == Kind::dtype || attribute.kind == Kind::layout;
    if (is_spelled && attribute.words.empty() && !attribute.operand) {
      report(where, fmt::format("attribute '{}' is {}, and does not say which", called, name(attribute.kind)),
             attribute.kind == Kind::word ? "a 'type', or 'words: [none, relu]'" : "'of: <operand>'");
    } else if (!attribute.words.empty() && (attribute.operand || !is_spelled || attribute.kind == Kind::layout)) {
      report(attribute.words.front().where,
             fmt::format("attribute '{}' is {}, and has words", called, name(attribute.kind)), "",
             attribute.operand ? "'of' lists its possible values" : "leave the type out");
    }
    if (attribute.kind == Kind::dtype) {
      const auto dtypes = dtype_words();
      for (const auto& word : attribute.words) {
        if (std::ranges::find(dtypes, word.value) == dtypes.end())
          report(word.where, fmt::format("'{}' is not a dtype", word.value), one_of(dtypes),
                 suggest(word.value, dtypes));
      }
    }
    append(errors_, check_words_differ(called, attribute.words));
  }

  void check_is_integers(const Attribute& attribute) {
    const Range& range = *attribute.range;
    if (range.least == std::trunc(range.least) && range.greatest == std::trunc(range.greatest)) return;
    report(attribute.name.where, fmt::format("'{}' is an integer from {}", attribute.name.value, range.text),
           "bounds that are integers");
  }

  // ---- public operators

  void check_public_operator(const PublicOperator& op) {
    for (const Alias& alias : op.aliases) {
      if (const auto fault = fault_of_alias(alias.name.value)) report(alias.name.where, *fault);
    }
    for (const Narrowing& narrowing : op.operands) check_narrowing(narrowing);
    for (const auto& name : op.without) check_is_attribute(name);
    for (const auto& name : op.with) check_is_attribute(name);
  }

  void check_is_attribute(const Located<std::string>& name) {
    std::vector<std::string> names;
    for (const Attribute& attribute : spec_.attributes) names.push_back(attribute.name.value);
    if (std::ranges::find(names, name.value) != names.end()) return;
    report(name.where, fmt::format("'{}' is not an attribute", name.value), one_of(names), suggest(name.value, names));
  }

  void check_narrowing(const Narrowing& narrowing) {
    const Operand* operand = find_operand(narrowing.operand);
    if (!operand) return;
    const auto possible = words_of(spec_, operand->dtype);
    for (const auto& dtype : narrowing.dtypes) {
      if (std::ranges::find(possible, dtype.value) != possible.end()) continue;
      report(dtype.where, fmt::format("no kernel accepts {} for '{}'", dtype.value, operand->name.value),
             one_of(possible), suggest(dtype.value, possible));
    }
    if (narrowing.is_optional == true && !operand->is_optional) {
      report(narrowing.operand.where, fmt::format("'{}' is not optional to the kernels", operand->name.value), "",
             "an operator can omit only operands that no kernel requires");
    }
  }

  // ---- defaults

  void check_defaults(const Signature& signature) {
    for (const Attribute* attribute : signature.attributes) {
      const auto words = words_of(spec_, signature, *attribute);
      if (attribute->kind == Kind::layout && words.empty()) {
        report(attribute->operand->where,
               fmt::format("'{}' is always in the layout that its storage says", attribute->operand->value),
               "an operand with a 'layout'");
        continue;  // there is no default to check
      }
      if (attribute->otherwise && !attribute->otherwise->value.starts_with('('))
        check_default(*attribute, *attribute->otherwise, words);
    }
  }

  void check_default(const Attribute& attribute, const Located<std::string>& given,
                     const std::vector<std::string>& words) {
    const auto refuse = [&](std::string expected) {
      report(given.where, fmt::format("the default of '{}' is '{}'", attribute.name.value, given.value),
             std::move(expected), suggest(given.value, words));
    };
    switch (attribute.kind) {
      case Kind::boolean:
        if (given.value != "true" && given.value != "false") refuse("true or false");
        return;
      case Kind::integer:
      case Kind::real: return check_default_number(attribute, given, refuse);
      case Kind::integers: return refuse("a text in parentheses: a list has no default that fits all shapes");
      case Kind::word:
      case Kind::dtype:
      case Kind::layout:
        if (std::ranges::find(words, given.value) == words.end()) refuse(one_of(words) + ", or a text in parentheses");
        return;
    }
  }

  template <typename Refuse>
  static void check_default_number(const Attribute& attribute, const Located<std::string>& given,
                                   const Refuse& refuse) {
    const auto number = parse_bound(given.value);
    const bool is_plain = given.value.find('^') == std::string::npos;  // people type defaults too
    const bool is_kind = number && is_plain && (attribute.kind == Kind::real || *number == std::trunc(*number));
    if (!is_kind) return refuse(fmt::format("{}, or a text in parentheses", name(attribute.kind)));
    const bool is_inside =
        !attribute.range || (*number >= attribute.range->least && *number <= attribute.range->greatest);
    if (!is_inside) refuse(attribute.range->text);
  }

  const Spec& spec_;
  Diagnostics errors_;
};

}  // namespace

Diagnostics check_signature(const Spec& spec) { return SignatureChecker(spec).run(); }

namespace {

// Names that callers use belong to one operator of the run.
class PublicNames {
 public:
  void add(const Located<std::string>& name, std::string_view what, Diagnostics& errors) {
    const auto [first, is_new] = seen_.emplace(name.value, name.where);
    if (is_new) return;
    errors.push_back(
        make_error(name.where, fmt::format("{} '{}' is already the name of an operator", what, name.value)));
    errors.back().notes.push_back({first->second, "the other is here"});
  }

 private:
  std::map<std::string, SourceLocation> seen_;
};

}  // namespace

Diagnostics check_signatures(const std::vector<Spec>& specs) {
  Diagnostics errors;
  PublicNames names;
  TypeNames types;
  for (const Spec& spec : specs) {
    const bool is_public = !signatures_of(spec).empty();
    if (is_public && spec.operators.empty()) {
      names.add(spec.name, "operator", errors);
      types.add(spec.name, errors);
    }
    for (const PublicOperator& op : spec.operators) {
      names.add(op.name, "operator", errors);
      types.add(op.name, errors);
      for (const Alias& alias : op.aliases) names.add(alias.name, "alias", errors);
    }
  }
  return errors;
}

}  // namespace qgen::spec
