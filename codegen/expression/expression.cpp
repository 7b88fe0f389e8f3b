// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/expression/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "codegen/expression/node.h"
#include "vocabulary/dtypes.h"
#include "vocabulary/layouts.h"

namespace qgen::expression {
namespace {

constexpr std::array<OpRow, 25> kOps = {{
    {Op::logical_or, "or", "||", Binding::disjunction},
    {Op::logical_and, "and", "&&", Binding::conjunction},
    {Op::logical_not, "not", "!", Binding::negation},
    {Op::equal, "==", "==", Binding::comparison},
    {Op::not_equal, "!=", "!=", Binding::comparison},
    {Op::less, "<", "<", Binding::comparison},
    {Op::less_equal, "<=", "<=", Binding::comparison},
    {Op::greater, ">", ">", Binding::comparison},
    {Op::greater_equal, ">=", ">=", Binding::comparison},
    {Op::in, "in", "", Binding::comparison},
    {Op::add, "+", "+", Binding::sum},
    {Op::subtract, "-", "-", Binding::sum},
    {Op::multiply, "*", "*", Binding::product},
    {Op::divide, "/", "/", Binding::product},
    {Op::remainder, "%", "%", Binding::product},
    {Op::negate, "-", "-", Binding::sign},
    {Op::ceil_div, "ceil_div", "ceil_div", Binding::primary},
    {Op::min, "min", "min", Binding::primary},
    {Op::max, "max", "max", Binding::primary},
    {Op::bytes, "bytes", "bytes", Binding::primary},
    {Op::packed, "packed", "packed", Binding::primary},
    {Op::choose, "choose", "choose", Binding::primary},
    {Op::call, "", "", Binding::primary},
    {Op::literal, "", "", Binding::primary},
    {Op::symbol, "", "", Binding::primary},
}};

// Parts that all costs share. A unit gets some fifty workgroups a microsecond, and holds about 2048 invocations at a
// time, on the GPUs for which the costs were fitted.
constexpr std::array<Shorthand, 4> kShorthands = {{
    {"waves", "workgroups", "ceil_div(workgroups, device.compute_units)"},
    {"overlapped_waves", "workgroups",
     "(ceil_div(workgroups, device.compute_units) + max(1.0, workgroups * 1.0 / device.compute_units)) / 2.0"},
    {"occupancy", "invocations", "max(1, 2048 / invocations)"},
    {"dispatch_us", "workgroups", "workgroups / (50.0 * device.compute_units)"},
}};

void add_uses(const Node& node, std::vector<SymbolUse>& to) {
  if (node.op == Op::symbol) to.push_back({node.symbol, node.where});
  for (const auto& operand : node.operands) add_uses(*operand, to);
}

void add_definitions(const Node& node, std::set<std::string, std::less<>>& to) {
  if (!node.definition.empty() && !is_leaf(node)) to.insert(node.definition);
  for (const auto& operand : node.operands) add_definitions(*operand, to);
}

void add_names(const Node& node, std::set<std::string, std::less<>>& to) {
  if (node.op == Op::symbol) to.insert(node.name);
  for (const auto& operand : node.operands) add_names(*operand, to);
}

// The shortest text that reads back as the same double, and as a real.
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  const bool looks_integral = text.find_first_not_of("-0123456789") == std::string::npos;
  return looks_integral ? text + ".0" : text;
}

}  // namespace

const OpRow& row(Op op) {
  static constexpr OpRow kWord = {Op::word, "", "", Binding::primary};
  return op == Op::word ? kWord : kOps[static_cast<size_t>(op)];
}
static_assert(
    [] {
      for (size_t i = 0; i < kOps.size(); ++i) {
        if (kOps[i].op != static_cast<Op>(i)) return false;
      }
      return true;
    }(),
    "kOps is indexed by Op");

std::optional<Op> find_builtin(std::string_view name) {
  for (auto at = static_cast<size_t>(kFirstBuiltin); at <= static_cast<size_t>(kLastBuiltin); ++at) {
    if (kOps[at].text == name) return kOps[at].op;
  }
  return std::nullopt;
}

std::vector<std::string> builtin_functions() {
  std::vector<std::string> names;
  for (auto at = static_cast<size_t>(kFirstBuiltin); at <= static_cast<size_t>(kLastBuiltin); ++at) {
    names.emplace_back(kOps[at].text);
  }
  return names;
}

std::span<const Shorthand> shorthands(const Scope& scope) {
  return scope.find("device.compute_units") ? std::span(kShorthands) : std::span<const Shorthand>();
}

std::optional<int64_t> fact_of(Op op, std::string_view word) {
  if (op == Op::bytes) {
    const auto dtype = find_dtype(word);
    return dtype ? std::optional(bytes(*dtype)) : std::nullopt;
  }
  const auto layout = find_layout(word);
  return layout ? std::optional(packed(*layout)) : std::nullopt;
}

std::string_view name(Type type) {
  switch (type) {
    case Type::boolean: return "boolean";
    case Type::integer: return "integer";
    case Type::real: return "real";
    case Type::word: return "word";
    case Type::text: return "text";
  }
  return "?";
}

Type type_of(const Value& value) { return static_cast<Type>(value.index()); }

std::string to_text(const Value& value) {
  switch (type_of(value)) {
    case Type::boolean: return std::get<bool>(value) ? "true" : "false";
    case Type::integer: return fmt::format("{}", std::get<Integer>(value).value);
    case Type::real: return real_text(std::get<Real>(value).value);
    case Type::word: return std::get<Word>(value).text;
    case Type::text: return std::get<std::string>(value);
  }
  return "?";
}

void Scope::add(Symbol symbol) { symbols_.push_back(std::move(symbol)); }
void Scope::add(Function function) { functions_.push_back(std::move(function)); }
void Scope::define(std::string name, Expression meaning) {
  definitions_.emplace_back(std::move(name), std::move(meaning));
}

const Symbol* Scope::find(std::string_view wanted) const {
  const auto index = index_of(wanted);
  return index ? &symbols_[*index] : nullptr;
}

const Function* Scope::find_function(std::string_view wanted) const {
  const auto found =
      std::find_if(functions_.begin(), functions_.end(), [&](const Function& f) { return f.name == wanted; });
  return found == functions_.end() ? nullptr : &*found;
}

const Expression* Scope::find_definition(std::string_view wanted) const {
  const auto found = std::ranges::find(definitions_, wanted, &std::pair<std::string, Expression>::first);
  return found == definitions_.end() ? nullptr : &found->second;
}

std::optional<size_t> Scope::index_of(std::string_view wanted) const {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i].name == wanted) return i;
  }
  return std::nullopt;
}

namespace {

void move_to(Node& node, const SourceLocation& where) {
  node.where = where;
  for (const auto& operand : node.operands) move_to(*operand, where);
}

}  // namespace

Node copy_of(const Node& node) {
  Node copy{node.op,    node.type,     node.where,      {},           node.name, node.symbol,
            node.value, node.function, node.definition, node.is_known};
  for (const auto& operand : node.operands) copy.operands.push_back(std::make_unique<Node>(copy_of(*operand)));
  return copy;
}

Node copy_at(const Node& node, const SourceLocation& where) {
  Node copy = copy_of(node);
  move_to(copy, where);
  return copy;
}

size_t size_of(const Node& node) {
  size_t size = 1;
  for (const auto& operand : node.operands) size += size_of(*operand);
  return size;
}

Diagnostic too_large(const SourceLocation& where) {
  return {where, fmt::format("the expression has more than {} names, numbers and operators, together with its "
                             "definitions and functions",
                             kMaxSize)};
}

namespace {

void add_rounding_divisions(const Node& node, std::vector<RoundingDivision>& found) {
  if (!node.definition.empty()) return;
  if (node.op == Op::divide && node.type == Type::integer) found.push_back({node.where, to_text(node)});
  switch (node.op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::negate:
    case Op::min:
    case Op::max:
    case Op::choose:  // its condition is a boolean, where the search ends
      for (const auto& operand : node.operands) add_rounding_divisions(*operand, found);
      break;
    default: break;
  }
}

}  // namespace

std::vector<RoundingDivision> rounding_divisions(const Expression& expression) {
  std::vector<RoundingDivision> found;
  add_rounding_divisions(expression.root(), found);
  return found;
}

Type Expression::type() const { return root_->type; }
const SourceLocation& Expression::where() const { return root_->where; }

Result<Expression> parse(std::string_view text, const SourceLocation& start, const Scope& scope,
                         std::optional<Type> wanted, const Names* names) {
  auto tree = parse_syntax(text, start);
  if (!tree) return tree.error();
  Diagnostics errors = resolve(**tree, scope, wanted, names);
  if (!errors.empty()) return errors;
  if (size_of(**tree) > kMaxSize) return Diagnostics{too_large((*tree)->where)};
  return Expression(std::shared_ptr<const Node>(*std::move(tree)));
}

std::set<std::string, std::less<>> names_in(std::string_view text) {
  std::set<std::string, std::less<>> names;
  if (const auto tree = parse_syntax(text, {})) add_names(**tree, names);
  return names;
}

size_t size_of(const Expression& expression) { return size_of(expression.root()); }

std::vector<SymbolUse> uses_of(const Expression& expression) {
  std::vector<SymbolUse> uses;
  add_uses(expression.root(), uses);
  return uses;
}

std::set<std::string, std::less<>> definitions_of(const Expression& expression) {
  std::set<std::string, std::less<>> definitions;
  add_definitions(expression.root(), definitions);
  return definitions;
}

std::vector<size_t> symbols_of(const Expression& expression) {
  std::vector<size_t> symbols;
  for (const SymbolUse& use : uses_of(expression)) symbols.push_back(use.symbol);
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

}  // namespace qgen::expression
