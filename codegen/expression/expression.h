// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The expression language of specs and templates. It is small, and evaluation cannot fail.
//
//   width % vec == 0 and input_dtype in (f32, f16)
//   ceil_div(numel, vec * workgroup)
//   numel * (bytes(input_dtype) + bytes(output_dtype)) / device.bytes_per_us
//
// Types are boolean, integer (vocabulary/integer.h: saturating, x / 0 == 0), real, word and text (templates only). A
// word is a name from a known set, such as a dtype. An expression is parsed against a Scope and type-checked there and
// then; evaluating it cannot fail. It is evaluated, printed back, or printed as C++ that computes the same.
//
// Binding, loosest first: `or`, `and`, `not`, comparison (== != < <= > >=, `in (...)`), + -, * / %, unary -, call.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/diagnostic.h"
#include "vocabulary/integer.h"

namespace qgen::expression {

enum class Type : uint8_t { boolean, integer, real, word, text };
std::string_view name(Type type);

struct Word {
  std::string text;
  friend auto operator<=>(const Word&, const Word&) = default;
};

using Value = std::variant<bool, Integer, Real, Word, std::string>;
Type type_of(const Value& value);
std::string to_text(const Value& value);

// A name that expressions may use, and its known properties before it has a value.
struct Symbol {
  std::string name;  // "vec", "device.subgroup_size"
  Type type = Type::integer;
  std::vector<std::string> words;  // of a word: every value it may take; comparing it with another word is an error
  SourceLocation declared;         // for notes
  // Who gives it a value, for messages: "parameter", "specialization constant", "problem field", "device number".
  std::string kind;
};

// A function in addition to the built-in ones. Templates have further functions.
struct Function {
  std::string name;
  std::vector<Type> arguments;
  size_t optional_arguments = 0;  // how many of the last may be left out
  Type result = Type::text;
  std::function<Value(std::span<const Value>)> evaluate;
};

struct Node;

// An immutable, type-checked tree; copies share it.
class Expression {
 public:
  explicit Expression(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  const Node& root() const { return *root_; }  // node.h: for the rest of this room
  Type type() const;
  const SourceLocation& where() const;

 private:
  std::shared_ptr<const Node> root_;
};

class Scope {
 public:
  void add(Symbol symbol);
  void add(Function function);
  // A name for an expression over this scope: where it is mentioned, the expression stands.
  void define(std::string name, Expression meaning);
  const Expression* find_definition(std::string_view name) const;
  const Symbol* find(std::string_view name) const;
  const Function* find_function(std::string_view name) const;
  // The place of a symbol in the order of adding; environments are indexed by it.
  std::optional<size_t> index_of(std::string_view name) const;
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<std::pair<std::string, Expression>>& definitions() const { return definitions_; }

 private:
  std::vector<Symbol> symbols_;
  std::vector<Function> functions_;
  std::vector<std::pair<std::string, Expression>> definitions_;
};

// The names of a scope that a part of a spec may read, and their meanings there. The numbers of the device all know by
// their own names.
using Names = std::map<std::string, std::string, std::less<>>;

// The names of the built-in functions.
std::vector<std::string> builtin_functions();

// Parses the whole of `text`, which stands at `start`. `wanted` is the type it must have (an integer serves as a real).
// Errors: syntax, unknown names and functions (with a suggestion), wrong types, words outside a symbol's set, nesting
// deeper than 64. Also more than 1,000 words and signs, with definitions and functions expanded or not. A `start`
// without a column gives diagnostics without one. `names`: the names in the text; null: those of the scope.
Result<Expression> parse(std::string_view text, const SourceLocation& start, const Scope& scope,
                         std::optional<Type> wanted = std::nullopt, const Names* names = nullptr);
// The names that a text mentions, known or not; none, if it cannot be read.
std::set<std::string, std::less<>> names_in(std::string_view text);

// Values by Scope::index_of. Every symbol the expression names must have one.
Value evaluate(const Expression& expression, std::span<const Value> environment);

// The expression with known values inserted, by Scope::index_of, and with constants folded: `width % vec == 0 and fast`
// of vec = 4 and fast = true is `width % 4 == 0`. It has the same value wherever the symbols have those.
Expression with_values(const Expression& expression, std::span<const std::optional<Value>> values);
// The expression with other expressions in place of symbols, by Scope::index_of, and with constants folded. They may be
// of another scope: that of the whole spec, if the expression is of a fragment that gets `k = 4 * words`.
Expression with_expressions(const Expression& expression, std::span<const std::optional<Expression>> meanings);
// Of an expression that is a single number or word.
std::optional<Value> value_of(const Expression& expression);

// How many names, numbers and operators it has, with its definitions and functions expanded. This is the cost of
// evaluating it.
size_t size_of(const Expression& expression);

// The scope indices of the symbols an expression names, ascending.
std::vector<size_t> symbols_of(const Expression& expression);

// The same with the place of each mention, in the order of the text.
struct SymbolUse {
  size_t symbol;
  SourceLocation where;
};
std::vector<SymbolUse> uses_of(const Expression& expression);

// The definitions that an expression mentions, and those that they do, except such as stand for a name or a number.
std::set<std::string, std::less<>> definitions_of(const Expression& expression);

// The divisions of two integers whose rounded quotient is used as a number. Excluded are operands of ceil_div, % and
// comparisons, and divisions inside definitions.
struct RoundingDivision {
  SourceLocation where;
  std::string text;
};
std::vector<RoundingDivision> rounding_divisions(const Expression& expression);

// With the fewest parentheses that keep its meaning.
std::string to_text(const Expression& expression);

// A C++ expression whose type is bool, qgen::Integer or qgen::Real. `print_symbol` says how a name is read ("p.width":
// any arithmetic type, it is wrapped here); `print_word` how a word is spelled where it meets a symbol ("DType::f32").
// They are requested in the order of the text.
struct CppPrinter {
  std::function<std::string(const Symbol&)> print_symbol;
  std::function<std::string(const Symbol& compared_with, std::string_view word)> print_word;
  // Where one of definitions_of() is mentioned, the variable that holds it.
  std::function<std::string(std::string_view definition)> print_definition;
};
std::string to_cpp(const Expression& expression, const Scope& scope, const CppPrinter& printer);

}  // namespace qgen::expression
