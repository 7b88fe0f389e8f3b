// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tree inside an Expression, and the one table of its operators. Private to this room.
//
//   width % vec == 0   ->   equal(remainder(symbol width, symbol vec), literal 0)
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/expression/expression.h"

namespace qgen::expression {

enum class Op : uint8_t {
  logical_or,
  logical_and,
  logical_not,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  negate,
  ceil_div,
  min,
  max,
  bytes,
  packed,
  choose,
  call,  // a function of the scope
  literal,
  symbol,
  word,
};

constexpr Op kFirstBuiltin = Op::ceil_div;
constexpr Op kLastBuiltin = Op::choose;
std::optional<Op> find_builtin(std::string_view name);

// A function that is short for an expression of its argument: where it is called, that stands.
struct Shorthand {
  std::string_view name, argument, meaning;
};
std::span<const Shorthand> shorthands(const Scope& scope);  // of costs: where there is no device there are none

// How tightly an operator binds; a larger number binds tighter. Grammar and printers share it.
enum class Binding : uint8_t { disjunction, conjunction, negation, comparison, sum, product, sign, primary };

struct OpRow {
  Op op;
  std::string_view text;  // in the language
  std::string_view cpp;   // in C++, where that is an operator or a function too
  Binding binding;
};
const OpRow& row(Op op);

// What `bytes` says of a dtype and `packed` of a layout; nullopt: the word is none.
std::optional<int64_t> fact_of(Op op, std::string_view word);

constexpr bool is_ordering(Op op) { return op >= Op::less && op <= Op::greater_equal; }

struct Node {
  Op op = Op::literal;
  Type type = Type::boolean;
  SourceLocation where;                         // the whole of its text
  std::vector<std::unique_ptr<Node>> operands;  // of `in`: the value, then the set
  std::string name;                             // of a symbol, a word or a call
  size_t symbol = 0;                            // of a symbol: its index in the scope
  Value value;                                  // of a literal or a word
  std::shared_ptr<const Function> function;     // of a call
  std::string definition;                       // the name of the definition that was mentioned here
  bool is_known = false;                        // of a symbol: `symbol` is set, and the name is the scope's
};

// With the fewest parentheses that keep its meaning.
std::string to_text(const Node& node);

// Whether a definition is no more than a name for a name or a number, which may as well stand itself.
inline bool is_leaf(const Node& node) { return node.operands.empty(); }

Node copy_of(const Node& node);
// A copy with all locations set to `where`: for a definition, the location of the mention.
Node copy_at(const Node& node, const SourceLocation& where);

// Its names, numbers and operators, with those that definitions and functions stand for. More than kMaxSize are
// refused, so that no chain of them that mention each other twice grows without end.
constexpr size_t kMaxSize = 1000;
size_t size_of(const Node& node);
Diagnostic too_large(const SourceLocation& where);

// Text -> tree, without meaning: every bare name is a `symbol`, every call a `call`.
Result<std::unique_ptr<Node>> parse_syntax(std::string_view text, const SourceLocation& start);

// Gives each node its meaning and its type, or says why it has none. Names become symbols or words, calls built-ins or
// functions of the scope.
Diagnostics resolve(Node& root, const Scope& scope, std::optional<Type> wanted, const Names* names);

}  // namespace qgen::expression
