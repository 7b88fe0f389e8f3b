// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Prints a spec's expressions as C++ functions of a SelectionScope. Private to this room.
//
//   define: {rest: width % vec}
//   applies_when: [rest == 0]
//     -> const auto& parameters = table::parameters<Parameters>(scope);
//        const auto& problem = table::problem<Problem>(scope);
//        const Integer rest = Integer(problem.width) % Integer(parameters.vec);
//        return table::first_false({
//            rest == 0,
//        });
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/expression/expression.h"
#include "codegen/spec/spec.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {

// Where the value of a name is found when a kernel is selected.
enum class Source : uint8_t { parameter, specialization, problem, device, fit };
Source source_of(const spec::Spec& spec, std::string_view name);

// The place of a specialization constant in a row of them.
size_t specialization_index(const spec::Spec& spec, std::string_view name);

// The structs and definitions that expressions read, and the lines that make them known.
class Reads {
 public:
  explicit Reads(const spec::Spec& spec) : spec_(spec) {}

  void add(const expression::Expression& expression);
  void add(Source source) { sources_.insert(source); }

  // The name of the parameter of a function that reads these, after a blank; empty if it reads none.
  std::string_view scope_name() const { return sources_.empty() ? "" : " scope"; }
  std::vector<std::string> lines() const;
  void print(TextWriter& out) const;
  bool has(Source source) const { return sources_.count(source) != 0; }

 private:
  const spec::Spec& spec_;
  std::set<Source> sources_;
  std::set<std::string, std::less<>> definitions_;
};

expression::CppPrinter cpp_printer(const spec::Spec& spec);
std::string as_cpp(const spec::Spec& spec, const expression::Expression& expression);
std::string_view cpp_type(expression::Type type);  // "bool", "Integer", "Real"

// `RESULT NAME(const SelectionScope& scope) { return EXPRESSION; }`
void print_function(TextWriter& out, const spec::Spec& spec, std::string_view result, std::string_view name,
                    const expression::Expression& expression);

// The table of a list of conditions and the function that finds the first to fail. No conditions: neither.
void print_conditions(TextWriter& out, const spec::Spec& spec, const std::vector<spec::Condition>& conditions,
                      std::string_view table, std::string_view function);

// The table of `rarely_best` and the function that says which of them hold. Nothing where the spec has none.
void print_rarely_best(TextWriter& out, const spec::Spec& spec);

}  // namespace qgen::emit
