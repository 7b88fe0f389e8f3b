// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Recursive descent, one function a level of binding. Nesting is counted, so no text can exhaust the stack. The first
// syntax error ends the parse, because later errors would be guesses.
//
//   disjunction := conjunction {"or" conjunction}
//   conjunction := negation {"and" negation}
//   negation    := "not" negation | comparison
//   comparison  := sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum | "in" "(" sum {"," sum} ")"]
//   sum         := product {("+" | "-") product}
//   product     := sign {("*" | "/" | "%") sign}
//   sign        := "-" sign | primary
//   primary     := number | "true" | "false" | name ["(" [disjunction {"," disjunction}] ")"] | "(" disjunction ")"
#include <fmt/format.h>

#include <charconv>

#include "codegen/expression/lexer.h"
#include "codegen/expression/node.h"

namespace qgen::expression {
namespace {

constexpr size_t kMaxNesting = 64;

using Tree = std::unique_ptr<Node>;  // null: failed, and error_ says why

class Parser {
 public:
  Parser(std::vector<Token> tokens, const SourceLocation& start) : tokens_(std::move(tokens)), start_(start) {}

  Result<Tree> run() {
    Tree root = disjunction();
    if (root && token().kind != Token::Kind::end) root = fail_at_token("an operator or the end");
    if (!root) return Diagnostics{std::move(error_)};
    return root;
  }

 private:
  const Token& token() const { return tokens_[next_]; }
  bool sees(std::string_view text) const { return token().kind != Token::Kind::end && token().text == text; }
  bool take(std::string_view text) {
    if (!sees(text)) return false;
    ++next_;
    return true;
  }

  // The text from `offset` to the end of the last consumed token.
  SourceLocation since(size_t offset) const {
    const Token& last = tokens_[next_ - 1];
    return place(start_, offset, last.offset + last.text.size() - offset);
  }

  Tree fail(const SourceLocation& where, std::string message, std::string expected = "", std::string hint = "") {
    error_ = {where, std::move(message), std::move(expected), std::move(hint)};
    return nullptr;
  }
  SourceLocation token_place() const { return place(start_, token().offset, token().text.size()); }
  Tree fail_at_token(std::string expected) {
    const bool is_end = token().kind == Token::Kind::end;
    return fail(
        token_place(),
        is_end ? "the expression ends too early" : fmt::format("unexpected '{}' in an expression", token().text),
        std::move(expected));
  }

  // Consumes and returns the operator at this position, if it is among `ops`.
  const OpRow* take_operator(std::initializer_list<Op> ops) {
    for (Op op : ops) {
      if (take(row(op).text)) return &row(op);
    }
    return nullptr;
  }

  Tree make(Op op, size_t offset, Tree first, Tree second = nullptr) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->operands.push_back(std::move(first));
    if (second) node->operands.push_back(std::move(second));
    node->where = since(offset);
    return node;
  }

  Tree left_associative(std::initializer_list<Op> ops, Tree (Parser::*operand)()) {
    const size_t offset = token().offset;
    Tree left = (this->*operand)();
    while (left) {
      const OpRow* found = take_operator(ops);
      if (!found) return left;
      Tree right = (this->*operand)();
      if (!right) return nullptr;
      left = make(found->op, offset, std::move(left), std::move(right));
    }
    return nullptr;
  }

  Tree disjunction() { return left_associative({Op::logical_or}, &Parser::conjunction); }
  Tree conjunction() { return left_associative({Op::logical_and}, &Parser::negation); }

  Tree negation() {
    if (!sees("not")) return comparison();
    return prefixed(Op::logical_not, &Parser::negation);
  }

  Tree comparison() {
    const size_t offset = token().offset;
    Tree left = sum();
    if (!left) return nullptr;
    if (sees("not"))
      return fail(token_place(), "unexpected 'not' after a value", "",
                  "'x not in (a, b)' is written 'not x in (a, b)'");
    const OpRow* found =
        take_operator({Op::equal, Op::not_equal, Op::less_equal, Op::greater_equal, Op::less, Op::greater, Op::in});
    if (!found) return left;
    Tree result = found->op == Op::in ? membership(offset, std::move(left)) : nullptr;
    if (found->op != Op::in) {
      Tree right = sum();
      if (right) result = make(found->op, offset, std::move(left), std::move(right));
    }
    if (result && sees_comparison())
      return fail(token_place(), "comparisons do not chain", "", "join two comparisons with 'and'");
    return result;
  }

  bool sees_comparison() const {
    for (Op op : {Op::equal, Op::not_equal, Op::less, Op::less_equal, Op::greater, Op::greater_equal, Op::in}) {
      if (sees(row(op).text)) return true;
    }
    return false;
  }

  Tree membership(size_t offset, Tree value) {
    if (!take("(")) return fail_at_token("the values in parentheses, as in (f32, f16)");
    Tree node = make(Op::in, offset, std::move(value));
    if (!list(*node, &Parser::sum)) return nullptr;
    node->where = since(offset);
    return node;
  }

  // Appends "a, b)" to the operands; the "(" was consumed before.
  bool list(Node& node, Tree (Parser::*item)()) {
    do {
      Tree one = (this->*item)();
      if (!one) return false;
      node.operands.push_back(std::move(one));
    } while (take(","));
    if (take(")")) return true;
    fail_at_token("',' or ')'");
    return false;
  }

  Tree sum() { return left_associative({Op::add, Op::subtract}, &Parser::product); }
  Tree product() { return left_associative({Op::multiply, Op::divide, Op::remainder}, &Parser::sign); }
  Tree sign() { return sees("-") ? prefixed(Op::negate, &Parser::sign) : primary(); }

  Tree prefixed(Op op, Tree (Parser::*operand)()) {
    const size_t offset = token().offset;
    if (!enter()) return nullptr;
    ++next_;
    Tree inner = (this->*operand)();
    --nesting_;
    return inner ? make(op, offset, std::move(inner)) : nullptr;
  }

  bool enter() {
    if (++nesting_ <= kMaxNesting) return true;
    fail(token_place(), fmt::format("the expression is nested deeper than {}", kMaxNesting));
    return false;
  }

  Tree primary() {
    if (token().kind == Token::Kind::integer || token().kind == Token::Kind::real) return number();
    if (sees("true") || sees("false")) return literal(token().text == "true", Type::boolean);
    if (token().kind == Token::Kind::name) return named();
    if (!sees("(")) return fail_at_token("a number, a name or '('");
    if (!enter()) return nullptr;
    ++next_;
    const size_t offset = tokens_[next_ - 1].offset;
    Tree inner = disjunction();
    --nesting_;
    if (inner && !take(")")) return fail_at_token("')'");
    if (inner) inner->where = since(offset);
    return inner;
  }

  Tree number() {
    const std::string_view text = token().text;
    const char* end = text.data() + text.size();
    if (token().kind == Token::Kind::integer) {
      int64_t value = 0;
      if (std::from_chars(text.data(), end, value).ec == std::errc()) return literal(Integer(value), Type::integer);
      return fail(token_place(), "the integer does not fit 64 bits", fmt::format("at most {}", detail::kLargest));
    }
    double value = 0;
    if (std::from_chars(text.data(), end, value).ec == std::errc()) return literal(Real(value), Type::real);
    return fail(token_place(), "the number does not fit a double");
  }

  Tree literal(Value value, Type type) {
    auto node = std::make_unique<Node>();
    node->op = Op::literal;
    node->type = type;
    node->value = std::move(value);
    node->where = token_place();
    ++next_;
    return node;
  }

  // A name, or a call: whose operands are the arguments.
  Tree named() {
    auto node = std::make_unique<Node>();
    const size_t offset = token().offset;
    node->op = Op::symbol;
    node->name = token().text;
    node->where = token_place();
    ++next_;
    if (!sees("(")) return node;
    node->op = Op::call;
    if (!enter()) return nullptr;
    ++next_;
    const bool is_closed = take(")") || list(*node, &Parser::disjunction);
    --nesting_;
    if (!is_closed) return nullptr;
    node->where = since(offset);
    return node;
  }

  std::vector<Token> tokens_;
  const SourceLocation& start_;
  size_t next_ = 0;
  size_t nesting_ = 0;
  Diagnostic error_;
};

}  // namespace

Result<std::unique_ptr<Node>> parse_syntax(std::string_view text, const SourceLocation& start) {
  auto tokens = tokenize(text, start);
  if (!tokens) return tokens.error();
  return Parser(*std::move(tokens), start).run();
}

}  // namespace qgen::expression
