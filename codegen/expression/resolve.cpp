// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Names and types, from the leaves up. A bare name that is no symbol is a word if a word is possible there: compared
// with a symbol whose set has it, or as the argument of `bytes`. Everywhere else it is an unknown name.
//
// A node in error has no type; whoever meets it stays silent, so one fault is one report.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "codegen/expression/node.h"
#include "vocabulary/dtypes.h"
#include "vocabulary/layouts.h"

namespace qgen::expression {
namespace {

using MaybeType = std::optional<Type>;

constexpr std::string_view kDevicePrefix = "device.";

bool is_number(Type type) { return type == Type::integer || type == Type::real; }
std::string with_article(Type type) { return fmt::format("{} {}", type == Type::integer ? "an" : "a", name(type)); }
bool holds(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

class Resolver {
 public:
  Resolver(const Scope& scope, const Names* names) : scope_(scope), names_(names) {}

  Diagnostics run(Node& root, MaybeType wanted) {
    if (wanted == Type::word && is_loose_word(root)) {
      make_word(root);
      return {};
    }
    const MaybeType type = resolve(root);
    const bool serves = !type || !wanted || *type == *wanted || (*wanted == Type::real && *type == Type::integer);
    if (!serves) {
      report(root, fmt::format("the expression is {}", with_article(*type)), with_article(*wanted));
    }
    return std::move(errors_);
  }

 private:
  void report(const Node& at, std::string message, std::string expected = "", std::string hint = "",
              std::vector<Note> notes = {}) {
    errors_.push_back({at.where, std::move(message), std::move(expected), std::move(hint), std::move(notes)});
  }

  // ---- names

  // Its name in the scope; nullptr: the text may not read it.
  const std::string* name_of(const std::string& name) const {
    if (names_ == nullptr || name.starts_with(kDevicePrefix)) return &name;
    const auto known = names_->find(name);
    return known == names_->end() ? nullptr : &known->second;
  }

  bool is_loose_word(const Node& node) const {
    if (node.op != Op::symbol || node.is_known) return false;
    const std::string* name = name_of(node.name);
    return name == nullptr || (!scope_.find(*name) && !scope_.find_definition(*name));
  }

  static void make_word(Node& node) {
    node.op = Op::word;
    node.type = Type::word;
    node.value = Word{node.name};
  }

  MaybeType unknown_name(const Node& node) {
    if (is_known_word(node.name)) {
      report(node, fmt::format("the word '{}' is not compared with anything", node.name));
      return std::nullopt;
    }
    const std::vector<std::string> all = known_names();
    std::vector<std::string> shown;  // the device's numbers are many: they are listed when one of them is meant
    const bool is_device = node.name.starts_with(kDevicePrefix);
    std::ranges::copy_if(all, std::back_inserter(shown),
                         [&](const std::string& name) { return name.starts_with(kDevicePrefix) == is_device; });
    const std::string expected = one_of(shown);
    const auto dotted = std::find_if(all.begin(), all.end(), [&](const std::string& name) {
      return name.ends_with("." + node.name) || name.starts_with(node.name + ".");
    });
    const std::string hint = dotted != all.end() ? fmt::format("did you mean '{}'?", *dotted) : suggest(node.name, all);
    report(node, fmt::format("unknown name '{}'", node.name), expected, hint);
    return std::nullopt;
  }

  // All that the text may read.
  std::vector<std::string> known_names() const {
    std::vector<std::string> known;
    const auto add = [&](const std::string& name) {
      if (names_ == nullptr || name.starts_with(kDevicePrefix)) known.push_back(name);
    };
    for (const auto& [name, meaning] : scope_.definitions()) add(name);
    for (const Symbol& symbol : scope_.symbols()) add(symbol.name);
    if (names_ == nullptr) return known;
    for (const auto& [name, of_scope] : *names_) {
      if (scope_.find(of_scope) || scope_.find_definition(of_scope)) known.push_back(name);
    }
    return known;
  }

  MaybeType symbol(Node& node) {
    if (node.is_known) return node.type;
    const std::string* found = name_of(node.name);
    if (!found) return unknown_name(node);
    const std::string name = *found;
    if (const Expression* meaning = scope_.find_definition(name)) {
      node = copy_at(meaning->root(), node.where);
      if (node.definition.empty()) node.definition = name;  // else it is another name of that definition
      return node.type;
    }
    const auto index = scope_.index_of(name);
    if (!index) return unknown_name(node);
    node.symbol = *index;
    node.name = name;
    node.type = scope_.symbols()[*index].type;
    node.is_known = true;
    return node.type;
  }

  // ---- types

  MaybeType resolve(Node& node) {
    switch (node.op) {
      case Op::literal:
      case Op::word: return node.type;
      case Op::symbol: return symbol(node);
      case Op::logical_or:
      case Op::logical_and:
      case Op::logical_not: return logic(node);
      case Op::equal:
      case Op::not_equal:
      case Op::less:
      case Op::less_equal:
      case Op::greater:
      case Op::greater_equal:
      case Op::in: return comparison(node);
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::remainder:
      case Op::negate: return arithmetic(node);
      case Op::ceil_div:
      case Op::min:
      case Op::max:
      case Op::bytes:
      case Op::packed:
      case Op::choose:
      case Op::call: return call(node);
    }
    return std::nullopt;
  }

  bool wants(const Node& operand, MaybeType type, std::string_view who, bool is_right, std::string_view what) {
    if (!type) return false;
    if (!is_right) report(operand, fmt::format("'{}' takes {}, and this is {}", who, what, with_article(*type)));
    return is_right;
  }

  MaybeType logic(Node& node) {
    bool is_good = true;
    for (auto& operand : node.operands) {
      const MaybeType type = resolve(*operand);
      is_good &= wants(*operand, type, row(node.op).text, type == Type::boolean, "booleans");
    }
    node.type = Type::boolean;
    return is_good ? MaybeType(node.type) : std::nullopt;
  }

  // Of arithmetic, min and max: real if any operand is.
  MaybeType arithmetic(Node& node) {
    const bool is_integral = node.op == Op::remainder || node.op == Op::ceil_div;
    bool is_good = true;
    node.type = Type::integer;
    for (auto& operand : node.operands) {
      const MaybeType type = resolve(*operand);
      const bool is_right = type && (is_integral ? *type == Type::integer : is_number(*type));
      is_good &= wants(*operand, type, row(node.op).text, is_right, is_integral ? "integers" : "numbers");
      if (type == Type::real) node.type = Type::real;
    }
    const bool is_division = is_integral || node.op == Op::divide;
    if (is_good && is_division && is_zero(*node.operands[1])) {
      report(*node.operands[1], fmt::format("'{}' divides by zero", row(node.op).text));
      return std::nullopt;
    }
    return is_good ? MaybeType(node.type) : std::nullopt;
  }

  static bool is_zero(const Node& node) {
    if (node.op != Op::literal) return false;
    if (const auto* integer = std::get_if<Integer>(&node.value)) return integer->value == 0;
    const auto* real = std::get_if<Real>(&node.value);
    return real != nullptr && real->value == 0;
  }

  // Both sides of a comparison, and the value and every item of an `in`, are of one kind.
  MaybeType comparison(Node& node) {
    Node& left = *node.operands.front();
    bool is_good = true;
    for (size_t i = 1; i < node.operands.size(); ++i) is_good &= comparable(node, left, *node.operands[i], i == 1);
    node.type = Type::boolean;
    return is_good ? MaybeType(node.type) : std::nullopt;
  }

  bool comparable(const Node& node, Node& left, Node& right, bool is_first) {
    if (is_ordering(node.op)) return orders(node, left) && orders(node, right);
    if (is_loose_word(right)) return word_against(right, left, is_first);
    if (is_first && is_loose_word(left)) return word_against(left, right, true);
    const MaybeType a = is_first ? resolve(left) : known(left);
    const MaybeType b = resolve(right);
    if (!a || !b) return false;
    if (*a != *b && !(is_number(*a) && is_number(*b))) {
      report(right, fmt::format("{} is compared with {}", with_article(*b), with_article(*a)));
      return false;
    }
    return *a != Type::word || can_be_equal(left, right);
  }

  // The type of an operand that was resolved before: nothing, if it is a name that means nothing.
  MaybeType known(const Node& node) const { return is_loose_word(node) ? std::nullopt : MaybeType(node.type); }

  bool orders(const Node& node, Node& operand) {
    const MaybeType type = resolve(operand);
    return wants(operand, type, row(node.op).text, type && is_number(*type), "numbers");
  }

  // `word` bears no symbol's name: it means something only as one of the words of the other side.
  bool word_against(Node& word, Node& other, bool other_is_new) {
    if (is_loose_word(other)) return other_is_new && two_loose_words(other, word);
    const MaybeType type = other_is_new ? resolve(other) : known(other);
    if (!type) return false;
    const Symbol* symbol = symbol_of(other);
    if (*type != Type::word) return not_a_word(word, *type);
    if (!symbol) return word_against_definition(word);
    make_word(word);
    return is_word_of(word, *symbol);
  }

  // The other side is a definition that stands for a word: a dtype, a storage or a layout.
  bool word_against_definition(Node& word) {
    if (!is_known_word(word.name) && !find_layout(word.name)) return unknown_name(word).has_value();
    make_word(word);
    return true;
  }

  bool is_word_of(const Node& word, const Symbol& symbol) {
    if (holds(symbol.words, word.name)) return true;
    std::vector<Note> notes;
    if (symbol.declared.line != 0)
      notes.push_back({symbol.declared, fmt::format("'{}' is declared here", symbol.name)});
    report(word,
           fmt::format("'{}' is not a value of {} '{}'", word.name, symbol.kind.empty() ? "the name" : symbol.kind,
                       symbol.name),
           one_of(symbol.words), suggest(word.name, symbol.words), std::move(notes));
    return false;
  }

  bool is_known_word(std::string_view word) const {
    const auto& symbols = scope_.symbols();
    return find_dtype(word) ||
           std::any_of(symbols.begin(), symbols.end(), [&](const Symbol& symbol) { return holds(symbol.words, word); });
  }

  // At least one of the two is a misspelt name: the one that is no word of anything.
  bool two_loose_words(const Node& left, const Node& right) {
    const bool are_known = is_known_word(left.name) && is_known_word(right.name);
    if (are_known || !is_known_word(left.name)) unknown_name(left);
    if (!is_known_word(right.name)) unknown_name(right);
    return false;
  }

  // A word that some symbol takes is a word in the wrong place; anything else is a misspelt name.
  bool not_a_word(const Node& word, Type other) {
    const bool is_known = is_known_word(word.name);
    if (is_known) report(word, fmt::format("the word '{}' is compared with {}", word.name, with_article(other)));
    if (!is_known) unknown_name(word);
    return false;
  }

  const Symbol* symbol_of(const Node& node) const {
    return node.op == Op::symbol && node.is_known ? &scope_.symbols()[node.symbol] : nullptr;
  }

  bool can_be_equal(const Node& left, const Node& right) {
    const Symbol* a = symbol_of(left);
    const Symbol* b = symbol_of(right);
    if (left.op == Op::word && b) return is_word_of(left, *b);
    return !a || !b || have_common_word(right, *a, *b);
  }

  bool have_common_word(const Node& at, const Symbol& a, const Symbol& b) {
    if (std::any_of(a.words.begin(), a.words.end(), [&](const auto& word) { return holds(b.words, word); }))
      return true;
    report(at, fmt::format("'{}' and '{}' have no value in common", a.name, b.name), "",
           fmt::format("{} is {}; {} is {}", a.name, one_of(a.words), b.name, one_of(b.words)));
    return false;
  }

  // ---- calls

  MaybeType call(Node& node) {
    if (const auto op = find_builtin(node.name)) return builtin(node, *op);
    for (const Shorthand& shorthand : shorthands(scope_)) {
      if (shorthand.name == node.name) return meaning_of(node, shorthand);
    }
    const Function* function = scope_.find_function(node.name);
    return function ? scope_call(node, *function) : unknown_function(node);
  }

  MaybeType unknown_function(const Node& node) {
    std::vector<std::string> names = builtin_functions();
    for (const Function& function : scope_.functions()) names.push_back(function.name);
    for (const Shorthand& shorthand : shorthands(scope_)) names.emplace_back(shorthand.name);
    report(node, fmt::format("unknown function '{}'", node.name), one_of(names), suggest(node.name, names));
    return std::nullopt;
  }

  bool has_arguments(const Node& node, size_t least, size_t most) {
    const size_t given = node.operands.size();
    if (given >= least && given <= most) return true;
    const std::string wanted = least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
    report(node,
           fmt::format("'{}' takes {} argument{}, and is given {}", node.name, wanted, most == 1 ? "" : "s", given));
    return false;
  }

  MaybeType builtin(Node& node, Op op) {
    const bool is_of_word = op == Op::bytes || op == Op::packed;
    const size_t count = is_of_word ? 1 : op == Op::choose ? 3 : 2;
    if (!has_arguments(node, count, count)) return std::nullopt;
    node.op = op;
    if (op == Op::choose) return choice(node);
    return is_of_word ? fact(node) : arithmetic(node);
  }

  // The argument is resolved before it is put in, once or twice: resolving it again changes nothing.
  MaybeType meaning_of(Node& node, const Shorthand& shorthand) {
    if (!has_arguments(node, 1, 1) || !resolve(*node.operands[0])) return std::nullopt;
    Node meaning = copy_at(**parse_syntax(shorthand.meaning, node.where), node.where);
    put_in(meaning, shorthand.argument, *node.operands[0]);
    if (size_of(meaning) > kMaxSize) {
      errors_.push_back(too_large(node.where));
      return std::nullopt;
    }
    node = std::move(meaning);
    return resolve(node);
  }

  static void put_in(Node& node, std::string_view name, const Node& argument) {
    if (node.op == Op::symbol && node.name == name) {
      node = copy_of(argument);
      return;
    }
    for (auto& operand : node.operands) put_in(*operand, name, argument);
  }

  // Of two numbers, by a condition.
  MaybeType choice(Node& node) {
    Node& condition = *node.operands[0];
    const MaybeType type = resolve(condition);
    bool is_good = wants(condition, type, row(node.op).text, type == Type::boolean, "a boolean first");
    node.type = Type::integer;
    for (size_t i : {1, 2}) {
      const MaybeType one = resolve(*node.operands[i]);
      is_good &= wants(*node.operands[i], one, row(node.op).text, one && is_number(*one), "numbers");
      if (one == Type::real) node.type = Type::real;
    }
    return is_good ? MaybeType(node.type) : std::nullopt;
  }

  // Every word that the argument may be must be a dtype, or a layout: then evaluation cannot fail.
  MaybeType fact(Node& node) {
    const std::string_view who = row(node.op).text;
    const std::string_view what = node.op == Op::bytes ? "a dtype" : "a layout";
    Node& argument = *node.operands[0];
    node.type = Type::integer;
    if (is_loose_word(argument) && fact_of(node.op, argument.name)) {
      make_word(argument);
      return node.type;
    }
    const MaybeType type = resolve(argument);
    if (!wants(argument, type, who, type == Type::word, what)) return std::nullopt;
    if (argument.op == Op::word && !fact_of(node.op, to_text(argument.value))) {  // the expression of a definition
      report(argument, fmt::format("'{}' takes {}, and '{}' is not one", who, what, to_text(argument.value)));
      return std::nullopt;
    }
    const Symbol* symbol = symbol_of(argument);
    if (!symbol) return node.type;
    for (const std::string& word : symbol->words) {
      if (fact_of(node.op, word)) continue;
      report(argument, fmt::format("'{}' takes {}, and '{}' can be '{}'", who, what, symbol->name, word));
      return std::nullopt;
    }
    return node.type;
  }

  MaybeType scope_call(Node& node, const Function& function) {
    const size_t most = function.arguments.size();
    if (!has_arguments(node, most - function.optional_arguments, most)) return std::nullopt;
    bool is_good = true;
    for (size_t i = 0; i < node.operands.size(); ++i)
      is_good &= takes(function, function.arguments[i], *node.operands[i]);
    node.function = std::make_shared<const Function>(function);
    node.type = function.result;
    return is_good ? MaybeType(node.type) : std::nullopt;
  }

  bool takes(const Function& function, Type wanted, Node& argument) {
    if (wanted == Type::word && is_loose_word(argument) && find_dtype(argument.name)) {
      make_word(argument);
      return true;
    }
    const MaybeType type = resolve(argument);
    const bool is_right = type == wanted || (wanted == Type::real && type == Type::integer);
    return wants(argument, type, function.name, is_right, with_article(wanted));
  }

  const Scope& scope_;
  const Names* names_;  // null: the names of the scope
  Diagnostics errors_;
};

}  // namespace

Diagnostics resolve(Node& root, const Scope& scope, std::optional<Type> wanted, const Names* names) {
  return Resolver(scope, names).run(root, wanted);
}

}  // namespace qgen::expression
