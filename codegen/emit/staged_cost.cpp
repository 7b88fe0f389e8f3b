// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A cost in two functions, by when what it reads is known: of a kernel on a device once and for all, and then of each
// problem, for all kernels in one loop. What reads nothing of kernels stands before the loop.
//
//   cost: device.launch_us + ceil_div(m, 16 * tile) * (n / device.bytes_per_us)
//     -> struct CostTerms { Integer term1; };                            // 16 * tile
//        CostTerms cost_terms(const SelectionScope& scope) {...}
//        void costs(const SelectionScope& scope, std::span<const CostTerms> kernels, Real* to) {
//          const Real problem_term1 = Integer(problem.n) / Real(device.bytes_per_us);
//          for (const CostTerms& kernel : kernels) {
//            *to++ = Real(device.launch_us) + ceil_div(Integer(problem.m), kernel.term1) * problem_term1;
//          }
//        }
//
// Operations and their order are those of the expression, and so are the bits of what comes out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/expressions.h"
#include "codegen/emit/products.h"

namespace qgen::emit {
namespace {

using expression::Expression;
using expression::Symbol;
using expression::Type;
using spec::Spec;

// What an expression reads: of kernels (and devices), of problems (and devices), both, or nothing at all.
enum class Stage : uint8_t { none, kernel, problem, both };

bool is_of_kernel(Source source) { return source == Source::parameter || source == Source::specialization; }

class StagedCost {
 public:
  explicit StagedCost(const Spec& spec)
      : spec_(spec), printer_(cpp_printer(spec)), of_kernel_(spec), of_problem_(spec) {
    read_elsewhere_ = printer_.print_symbol;
    name_elsewhere_ = printer_.print_definition;
    printer_.print_symbol = [this](const Symbol& symbol) { return symbol_in_loop(symbol); };
    printer_.print_definition = [this](std::string_view name) { return name_in_loop(name); };
    const auto mentioned = expression::definitions_of(*spec.cost);
    for (const auto& [name, meaning] : spec.scope.definitions()) {
      if (mentioned.count(name) == 0 || is_part(stage_of(meaning))) continue;
      body_.push_back(
          fmt::format("const {} {} = {};", cpp_type(meaning.type()), name_elsewhere_(name), print(meaning)));
    }
    body_.push_back(fmt::format("*to++ = {};", print(*spec.cost)));
  }

  // False: the cost compares a word of kernels with one of problems, which are no numbers to keep.
  bool is_possible() const { return is_possible_; }

  void print(TextWriter& out) const {
    out.text("// The cost in two steps: what it reads of a kernel, whatever the problem; and of many kernels by that.");
    out.text("struct CostTerms {");
    {
      const auto indented = out.indent();
      for (const Term& term : members_) {  // a boolean as a number, so that equal terms have equal bytes
        out.line("{} {};", term.type == Type::real ? "Real" : "Integer", term.name);
      }
    }
    out.text("};");
    out.line("CostTerms cost_terms(const SelectionScope&{}) {{", of_kernel_.scope_name());
    {
      const auto indented = out.indent();
      of_kernel_.print(out);
      std::vector<std::string> values;
      for (const Term& term : members_) values.push_back(fmt::format(".{} = {}", term.name, term.value));
      out.code(fmt::format("return {{{}}};", fmt::join(values, ", ")));
    }
    out.text("}");
    out.blank();
    out.line("void costs(const SelectionScope&{}, std::span<const CostTerms> kernels, Real* to) {{",
             of_problem_.scope_name());
    {
      const auto indented = out.indent();
      of_problem_.print(out);
      for (const Term& term : variables_) {
        out.code(fmt::format("const {} {} = {};", cpp_type(term.type), term.name, term.value));
      }
      out.text("for (const CostTerms& kernel : kernels) {");
      {
        const auto in_loop = out.indent();
        for (const std::string& line : body_) out.code(line);
      }
      out.text("}");
    }
    out.text("}");
    out.blank();
  }

 private:
  // A member of CostTerms, or a variable before the loop.
  struct Term {
    std::string name, text, value;
    Type type;
  };

  static bool is_part(Stage stage) { return stage == Stage::kernel || stage == Stage::problem; }

  Stage stage_of(const Expression& expression) const {
    bool reads = false, reads_kernel = false, reads_problem = false;
    for (const size_t index : expression::symbols_of(expression)) {
      const Source source = source_of(spec_, spec_.scope.symbols()[index].name);
      reads = true;
      reads_kernel |= is_of_kernel(source);
      reads_problem |= source == Source::problem;
    }
    if (reads_kernel) return reads_problem ? Stage::both : Stage::kernel;
    return reads ? Stage::problem : Stage::none;
  }

  std::string print(const Expression& expression) {
    const auto in_parts = expression::with_parts(
        expression, [this](const Expression& part, std::string_view name) { return name_of(part, name); });
    return expression::to_cpp(in_parts, spec_.scope, printer_);
  }

  // A definition keeps its name.
  std::optional<std::string> name_of(const Expression& part, std::string_view definition) {
    const Stage stage = stage_of(part);
    if (!is_part(stage)) return std::nullopt;
    (stage == Stage::kernel ? of_kernel_ : of_problem_).add(part);
    if (stage == Stage::problem && !definition.empty()) return std::string(definition);
    const std::string text = expression::to_text(part);
    auto& terms = stage == Stage::kernel ? members_ : variables_;
    if (const auto term = std::ranges::find(terms, text, &Term::text); term != terms.end()) return term->name;
    const std::string name = definition.empty() ? new_name(stage) : identifier(definition);
    terms.push_back({name, text, as_cpp(spec_, part), part.type()});
    return name;
  }

  std::string new_name(Stage stage) {
    const bool is_kernel = stage == Stage::kernel;
    for (;;) {
      std::string name =
          is_kernel ? fmt::format("term{}", ++last_member_) : fmt::format("problem_term{}", ++last_variable_);
      if (!spec_.scope.find(name) && !spec_.scope.find_definition(name)) return name;
    }
  }

  std::string symbol_in_loop(const Symbol& symbol) {
    const Source source = source_of(spec_, symbol.name);
    const std::string value = read_elsewhere_(symbol);
    if (!is_of_kernel(source)) {
      of_problem_.add(source);
      return value;
    }
    of_kernel_.add(source);
    is_possible_ &= symbol.type != Type::word;
    const std::string name = identifier(symbol.name);
    if (std::ranges::find(members_, name, &Term::name) == members_.end()) {
      members_.push_back({name, symbol.name, value, symbol.type});
    }
    return name_in_loop(name);
  }

  std::string name_in_loop(std::string_view name) const {
    const auto member = std::ranges::find(members_, identifier(name), &Term::name);
    if (member == members_.end()) return name_elsewhere_(name);
    return member->type == Type::boolean ? fmt::format("(kernel.{} != 0)", member->name) : "kernel." + member->name;
  }

  const Spec& spec_;
  expression::CppPrinter printer_;
  std::function<std::string(const Symbol&)> read_elsewhere_;
  std::function<std::string(std::string_view)> name_elsewhere_;
  Reads of_kernel_, of_problem_;
  std::vector<Term> members_, variables_;
  std::vector<std::string> body_;
  size_t last_member_ = 0, last_variable_ = 0;
  bool is_possible_ = true;
};

}  // namespace

bool print_staged_cost(TextWriter& out, const Spec& spec) {
  Reads reads(spec);
  reads.add(*spec.cost);
  if (!reads.has(Source::specialization)) return false;
  const StagedCost cost(spec);
  if (cost.is_possible()) cost.print(out);
  return cost.is_possible();
}

}  // namespace qgen::emit
