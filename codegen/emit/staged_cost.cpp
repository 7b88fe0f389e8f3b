// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A cost in steps, by when what it reads is known: of a kernel on a device once and for all, and then of each problem,
// for all kernels in one loop. What reads nothing of kernels stands before the loop.
//
//   cost: device.launch_us + ceil_div(m, 16 * tile) * (n / device.bytes_per_us) * wait_us
//     -> struct CostTerms { Integer term1; Integer wait_us; };           // 16 * tile
//        CostTerms cost_terms(const SelectionScope& scope) {...}
//        struct Shared1 { Real shared_term1; };                          // ceil_div(m, term1) * (n / bytes_per_us)
//        void find_shared1(const SelectionScope& scope, std::span<const CostTerms> kernels, Shared1* to) {...}
//        void costs(const SelectionScope& scope, std::span<const CostTerms> kernels, const uint32_t* places,
//                   const Shared1* shared1, Real* to) {
//          for (const CostTerms& kernel : kernels) {
//            const Shared1& alike1 = shared1[*places++];
//            *to++ = Real(device.launch_us) + alike1.shared_term1 * kernel.wait_us;
//          }
//        }
//
// Divisions take most of a cost, and what is divided are sides of tiles, of which there are few: of 364 kernels that a
// linear layer has for cooperative matrices, 20 pairs of sides and two steps of k differ. So what divides, and reads
// one or two sizes of a kernel, is computed once for all kernels that have those alike; of operators that have many.
//
// Operations and their order are those of the expression, and so are the bits of what comes out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/expressions.h"
#include "codegen/emit/products.h"

namespace qgen::emit {
namespace {

using expression::Expression;
using expression::Symbol;
using expression::Type;
using spec::Spec;

constexpr size_t kMostShared = 2;   // terms of a kernel that what is shared reads
constexpr size_t kFewestRows = 32;  // of specializations, of an operator whose kernels share anything

// What an expression reads: of kernels (and devices), of problems (and devices), both, or nothing at all.
enum class Stage : uint8_t { none, kernel, problem, both };

bool is_of_kernel(Source source) { return source == Source::parameter || source == Source::specialization; }
bool is_part(Stage stage) { return stage == Stage::kernel || stage == Stage::problem; }

Stage stage_of(const Spec& spec, const Expression& expression) {
  bool reads = false, reads_kernel = false, reads_problem = false;
  for (const size_t index : expression::symbols_of(expression)) {
    const Source source = source_of(spec, spec.scope.symbols()[index].name);
    reads = true;
    reads_kernel |= is_of_kernel(source);
    reads_problem |= source == Source::problem;
  }
  if (reads_kernel) return reads_problem ? Stage::both : Stage::kernel;
  return reads ? Stage::problem : Stage::none;
}

// The terms of kernels that an expression reads, by their texts.
std::map<std::string, Type> terms_read(const Spec& spec, const Expression& expression) {
  std::map<std::string, Type> terms;
  for (const Expression& part : expression::parts_of(
           expression, [&](const Expression& part) { return stage_of(spec, part) == Stage::kernel; })) {
    terms.emplace(expression::to_text(part), part.type());
  }
  return terms;
}

bool divides(const Spec& spec, const Expression& expression) {
  const auto divisions = expression::parts_of(expression, [&](const Expression& part) {
    return expression::is_division(part) && stage_of(spec, part) == Stage::both;
  });
  return !divisions.empty();
}

// A member of a struct, or a variable before a loop.
struct Term {
  std::string name, text, value;
  Type type;
};

// That nothing else of the spec bears: "term1".
std::string new_name(const Spec& spec, std::string_view kind, size_t& last) {
  for (;;) {
    std::string name = fmt::format("{}{}", kind, ++last);
    if (!spec.scope.find(name) && !spec.scope.find_definition(name)) return name;
  }
}

// What is kept of a kernel: CostTerms.
class KernelTerms {
 public:
  explicit KernelTerms(const Spec& spec) : spec_(spec), reads_(spec) {}

  // Adds the part, unless it is there. A definition keeps its name.
  const Term& of(const Expression& part, std::string_view definition) {
    reads_.add(part);
    const std::string text = expression::to_text(part);
    if (const auto term = std::ranges::find(terms_, text, &Term::text); term != terms_.end()) return *term;
    const std::string name = definition.empty() ? new_name(spec_, "term", last_) : identifier(definition);
    return terms_.emplace_back(Term{name, text, as_cpp(spec_, part), part.type()});
  }
  const Term& of(const Symbol& symbol, std::string value) {
    reads_.add(source_of(spec_, symbol.name));
    has_word_ |= symbol.type == Type::word;
    const std::string name = identifier(symbol.name);
    if (const auto term = std::ranges::find(terms_, name, &Term::name); term != terms_.end()) return *term;
    return terms_.emplace_back(Term{name, symbol.name, std::move(value), symbol.type});
  }
  // A word of a kernel is no number to keep.
  bool has_word() const { return has_word_; }

  void print(TextWriter& out) const {
    out.text("struct CostTerms {");
    {
      const auto indented = out.indent();
      for (const Term& term : terms_) {  // a boolean as a number, so that equal terms have equal bytes
        out.line("{} {};", term.type == Type::real ? "Real" : "Integer", term.name);
      }
    }
    out.text("};");
    out.line("CostTerms cost_terms(const SelectionScope&{}) {{", reads_.scope_name());
    {
      const auto indented = out.indent();
      reads_.print(out);
      std::vector<std::string> values;
      for (const Term& term : terms_) values.push_back(fmt::format(".{} = {}", term.name, term.value));
      out.code(fmt::format("return {{{}}};", fmt::join(values, ", ")));
    }
    out.text("}");
    out.blank();
  }

 private:
  const Spec& spec_;
  Reads reads_;
  std::deque<Term> terms_;
  size_t last_ = 0;
  bool has_word_ = false;
};

// What a problem and the same few terms of kernels decide.
struct SharedValue {
  std::string name;
  std::string definition;  // that it is; empty: none
  Expression meaning;
};
struct Shared {
  size_t number;                     // of Shared1
  std::map<std::string, Type> read;  // terms_read()
  std::vector<SharedValue> values;   // members of Shared1

  std::vector<Expression> meanings() const {
    std::vector<Expression> meanings;
    for (const SharedValue& value : values) meanings.push_back(value.meaning);
    return meanings;
  }
};

class SharedTerms {
 public:
  explicit SharedTerms(const Spec& spec) : spec_(spec), is_worth_it_(specialization_rows(spec).size() >= kFewestRows) {}

  // It divides, and there are fewer kernels that differ in what it reads than there are kernels: sizes, no times.
  bool take(const Expression& part) const {
    if (!is_worth_it_ || !divides(spec_, part)) return false;
    const auto read = terms_read(spec_, part);
    return read.size() <= kMostShared &&
           std::ranges::none_of(read, [](const auto& term) { return term.second == Type::real; });
  }
  // Adds the part, of which take() holds, unless it is there; where the loop finds it: "alike1.rounds".
  std::string of(const Expression& part, std::string_view definition) {
    Shared& shared = of(terms_read(spec_, part));
    const std::string text = expression::to_text(part);
    const auto is_it = [&](const SharedValue& value) { return expression::to_text(value.meaning) == text; };
    auto value = std::ranges::find_if(shared.values, is_it);
    if (value == shared.values.end()) {
      std::string name = definition.empty() ? new_name(spec_, "shared_term", last_) : identifier(definition);
      value = shared.values.insert(value, {std::move(name), std::string(definition), part});
    }
    return fmt::format("alike{}.{}", shared.number, value->name);
  }
  const std::deque<Shared>& all() const { return shared_; }

 private:
  Shared& of(std::map<std::string, Type> read) {
    const auto known = std::ranges::find(shared_, read, &Shared::read);
    if (known != shared_.end()) return *known;
    return shared_.emplace_back(Shared{shared_.size() + 1, std::move(read), {}});
  }

  const Spec& spec_;
  bool is_worth_it_;
  std::deque<Shared> shared_;
  size_t last_ = 0;
};

// A loop over kernels, with what stands before it.
class Loop {
 public:
  // `shared`: computed elsewhere; null: all is computed here.
  Loop(const Spec& spec, KernelTerms& terms, SharedTerms* shared)
      : spec_(spec), terms_(terms), shared_(shared), printer_(cpp_printer(spec)), of_problem_(spec) {
    read_elsewhere_ = printer_.print_symbol;
    name_elsewhere_ = printer_.print_definition;
    printer_.print_symbol = [this](const Symbol& symbol) { return symbol_in_loop(symbol); };
    printer_.print_definition = [this](std::string_view name) { return name_in_loop(name); };
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Variables for the definitions that these expressions mention, and those that they do.
  void define(const std::vector<Expression>& expressions, std::set<std::string, std::less<>> mentioned = {}) {
    for (const Expression& expression : expressions) add_mentioned(expression, mentioned);
    for (const auto& [name, meaning] : spec_.scope.definitions()) {  // each reads those above it
      if (!mentioned.contains(name)) continue;
      lines_.push_back(
          fmt::format("const {} {} = {};", cpp_type(meaning.type()), name_elsewhere_(name), print(meaning)));
    }
  }
  std::string print(const Expression& expression) {
    const auto in_parts = expression::with_parts(
        expression, [this](const Expression& part, std::string_view name) { return name_of(part, name); });
    return expression::to_cpp(in_parts, spec_.scope, printer_);
  }
  // Of one that define() was told of.
  std::string variable_of(std::string_view definition) const { return name_elsewhere_(definition); }
  void add(std::string line) { lines_.push_back(std::move(line)); }

  const std::vector<std::string>& members_read() const { return members_read_; }  // of CostTerms
  std::string_view scope_name() const { return of_problem_.scope_name(); }

  // `first`: lines that begin it.
  void print(TextWriter& out, const std::vector<std::string>& first = {}) const {
    const auto indented = out.indent();
    of_problem_.print(out);
    for (const Term& term : variables_) {
      out.code(fmt::format("const {} {} = {};", cpp_type(term.type), term.name, term.value));
    }
    out.text("for (const CostTerms& kernel : kernels) {");
    {
      const auto in_loop = out.indent();
      for (const std::string& line : first) out.code(line);
      for (const std::string& line : lines_) out.code(line);
    }
    out.text("}");
  }

 private:
  void add_mentioned(const Expression& expression, std::set<std::string, std::less<>>& mentioned) const {
    const auto stop_at = [&](const Expression& part, std::string_view definition) -> std::optional<std::string> {
      if (is_part(stage_of(spec_, part)) || (shared_ && shared_->take(part))) return std::string(definition);
      if (!definition.empty()) {
        mentioned.insert(std::string(definition));
        add_mentioned(*spec_.scope.find_definition(definition), mentioned);
      }
      return std::nullopt;
    };
    (void)expression::with_parts(expression, stop_at);
  }

  // A definition keeps its name.
  std::optional<std::string> name_of(const Expression& part, std::string_view definition) {
    switch (stage_of(spec_, part)) {
      case Stage::none: return std::nullopt;
      case Stage::kernel: return kept(terms_.of(part, definition));
      case Stage::problem: return variable(part, definition);
      case Stage::both: break;
    }
    if (!shared_ || !shared_->take(part)) return std::nullopt;
    std::string place = shared_->of(part, definition);
    spelled_[place] = place;
    return place;
  }

  std::string kept(const Term& term) {
    if (std::ranges::find(members_read_, term.name) == members_read_.end()) members_read_.push_back(term.name);
    spelled_[term.name] =
        term.type == Type::boolean ? fmt::format("(kernel.{} != 0)", term.name) : "kernel." + term.name;
    return term.name;
  }

  std::string variable(const Expression& part, std::string_view definition) {
    of_problem_.add(part);
    if (!definition.empty()) return std::string(definition);
    const std::string text = expression::to_text(part);
    const auto known = std::ranges::find(variables_, text, &Term::text);
    if (known != variables_.end()) return known->name;
    return variables_.emplace_back(Term{new_name(spec_, "problem_term", last_), text, as_cpp(spec_, part), part.type()})
        .name;
  }

  std::string symbol_in_loop(const Symbol& symbol) {
    const Source source = source_of(spec_, symbol.name);
    std::string value = read_elsewhere_(symbol);
    if (is_of_kernel(source)) return spelled_.at(kept(terms_.of(symbol, std::move(value))));
    of_problem_.add(source);
    return value;
  }
  std::string name_in_loop(std::string_view name) const {
    const auto spelled = spelled_.find(name);
    return spelled == spelled_.end() ? name_elsewhere_(name) : spelled->second;
  }

  const Spec& spec_;
  KernelTerms& terms_;
  SharedTerms* shared_;
  expression::CppPrinter printer_;
  std::function<std::string(const Symbol&)> read_elsewhere_;
  std::function<std::string(std::string_view)> name_elsewhere_;
  Reads of_problem_;
  std::vector<Term> variables_;
  std::vector<std::string> lines_, members_read_;
  std::map<std::string, std::string, std::less<>> spelled_;  // what is computed elsewhere, by name
  size_t last_ = 0;
};

class StagedCost {
 public:
  explicit StagedCost(const Spec& spec) : terms_(spec), shared_(spec), all_(spec, terms_, &shared_) {
    all_.define({*spec.cost});
    all_.add(fmt::format("*to++ = {};", all_.print(*spec.cost)));
    for (const Shared& shared : shared_.all()) add_loop(spec, shared);
  }

  // False: the cost compares a word of kernels with one of problems.
  bool is_possible() const { return !terms_.has_word(); }

  void print(TextWriter& out) const {
    out.line("// The cost in {} steps: what it reads of a kernel, whatever the problem; {}.",
             loops_.empty() ? "two" : "three",
             loops_.empty() ? "and of many kernels by that" : "what kernels share; and of many by both");
    terms_.print(out);
    for (size_t i = 0; i < loops_.size(); ++i) print(out, shared_.all()[i], loops_[i]);
    std::string parameters =
        fmt::format("const SelectionScope&{}, std::span<const CostTerms> kernels, ", all_.scope_name());
    std::vector<std::string> first;
    if (!loops_.empty()) parameters += "const uint32_t* places, ";
    for (const Shared& shared : shared_.all()) {
      parameters += fmt::format("const Shared{0}* shared{0}, ", shared.number);
      first.push_back(fmt::format("const Shared{0}& alike{0} = shared{0}[*places++];", shared.number));
    }
    out.code(fmt::format("void costs({}Real* to) {{", parameters));
    all_.print(out, first);
    out.text("}");
    out.blank();
  }
  // What table::cost and table::kStagedCost are made of.
  std::string functions() const {
    std::string names = "cost_terms, costs";
    for (const Shared& shared : shared_.all()) names += fmt::format(", find_shared{}", shared.number);
    return names;
  }

 private:
  void add_loop(const Spec& spec, const Shared& shared) {
    Loop& loop = loops_.emplace_back(spec, terms_, nullptr);
    std::set<std::string, std::less<>> definitions;
    for (const SharedValue& value : shared.values) {
      if (!value.definition.empty()) definitions.insert(value.definition);
    }
    loop.define(shared.meanings(), std::move(definitions));
    std::vector<std::string> members;
    for (const auto& [name, definition, meaning] : shared.values) {
      members.push_back(
          fmt::format(".{} = {}", name, definition.empty() ? loop.print(meaning) : loop.variable_of(definition)));
    }
    loop.add(fmt::format("*to++ = {{{}}};", fmt::join(members, ", ")));
  }

  static void print(TextWriter& out, const Shared& shared, const Loop& loop) {
    std::vector<std::string> offsets;
    for (const std::string& term : loop.members_read()) offsets.push_back(fmt::format("offsetof(CostTerms, {})", term));
    out.line("struct Shared{} {{", shared.number);
    {
      const auto indented = out.indent();
      out.text("// Of kernels that are alike in these.");
      out.code(fmt::format("static constexpr uint16_t kTerms[] = {{{}}};", fmt::join(offsets, ", ")));
      for (const SharedValue& value : shared.values) out.line("{} {};", cpp_type(value.meaning.type()), value.name);
    }
    out.text("};");
    out.code(fmt::format(
        "void find_shared{0}(const SelectionScope&{1}, std::span<const CostTerms> kernels, Shared{0}* to) {{",
        shared.number, loop.scope_name()));
    loop.print(out);
    out.text("}");
    out.blank();
  }

  KernelTerms terms_;
  SharedTerms shared_;
  Loop all_;
  std::deque<Loop> loops_;  // of shared_, each
};

}  // namespace

std::string print_staged_cost(TextWriter& out, const Spec& spec) {
  Reads reads(spec);
  reads.add(*spec.cost);
  if (!reads.has(Source::specialization)) return "";
  const StagedCost cost(spec);
  if (!cost.is_possible()) return "";
  cost.print(out);
  return cost.functions();
}

}  // namespace qgen::emit
