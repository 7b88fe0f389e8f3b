// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any bytes as an expression: no crash. An accepted text is printed in a form that reads back as itself, has a value of
// its own type, and has a C++ form.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/codegen/expression/scope_for_tests.h"

namespace {

using namespace qgen::expression;

void check(bool holds) {
  if (!holds) std::abort();
}

bool calls_a_function_of_the_scope(std::string_view text) {
  return text.find("glsl_type(") != std::string_view::npos || text.find("half(") != std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scope scope = scope_for_tests();
  static const auto environment = environment_for_tests();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse(text, {"fuzz", 1, 1}, scope);
  if (!parsed) {
    check(!to_text(parsed.error(), {{"fuzz", std::string(text)}}).empty());
    return 0;
  }
  const std::string canonical = to_text(*parsed);
  const auto again = parse(canonical, {"fuzz", 1, 1}, scope);
  check(again && to_text(*again) == canonical);
  const Value value = evaluate(*parsed, environment);
  check(type_of(value) == parsed->type());
  check(to_text(evaluate(*again, environment)) == to_text(value));
  if (calls_a_function_of_the_scope(canonical)) return 0;
  const CppPrinter printer = {[](const Symbol& symbol) { return symbol.name; },
                              [](const Symbol&, std::string_view word) { return std::string(word); }};
  check(parsed->type() == Type::word || !to_cpp(*parsed, scope, printer).empty());
  return 0;
}
