// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The C++ of an expression in two ways: each row's C++ is compared as text, and it is also code of this test, computed
// by this compiler with the flags and warnings of generated tables. Both values must agree.
#include <gtest/gtest.h>

#include "codegen/expression/expression.h"
#include "tests/codegen/expression/scope_for_tests.h"
#include "vocabulary/dtypes.h"
#include "vocabulary/layouts.h"

namespace qgen::expression {
namespace {

// The declarations of the generated tables; the values are those of environment_for_tests().
enum class OutputDtype { f16, i8 };
struct Parameters {
  DType input_dtype = DType::f16;
  OutputDtype output_dtype = OutputDtype::f16;
  Storage storage = Storage::buffer;
  uint32_t vec = 4;
  bool transposed = true;
};
struct Problem {
  uint32_t numel = 1000;
  uint32_t width = 12;
  float eps = 0.5F;
};
struct Device {
  int64_t subgroup_size = 32;
  double bytes_per_us = 100;
};
const Parameters v;
const Problem p;
const Device d;
const uint32_t s[] = {128};

struct Case {
  std::string_view written;
  std::string_view cpp;
  Value value;
};

#define ROW(written, ...) \
  { written, #__VA_ARGS__, Value(__VA_ARGS__) }

// clang-format off: the text of each row is what is tested.
const Case kCases[] = {
    ROW("7", Integer(7)),
    ROW("0.5", Real(0.5)),
    ROW("true", true),
    ROW("vec", Integer(v.vec)),
    ROW("eps", Real(p.eps)),
    ROW("workgroup", Integer(s[0])),
    ROW("transposed", v.transposed),
    ROW("9223372036854775807 + vec", 9223372036854775807 + Integer(v.vec)),
    ROW("1 + 2", Integer(1) + Integer(2)),
    ROW("2 * 0.5", Integer(2) * Real(0.5)),
    ROW("numel * 2", Integer(p.numel) * 2),
    ROW("numel * 2.5", Integer(p.numel) * Real(2.5)),
    ROW("(vec - width) / -5", (Integer(v.vec) - Integer(p.width)) / -Integer(5)),
    ROW("numel - (vec - width)", Integer(p.numel) - (Integer(v.vec) - Integer(p.width))),
    ROW("--vec", -(-Integer(v.vec))),
    ROW("-(vec + 1)", -(Integer(v.vec) + 1)),
    ROW("vec / (vec - vec)", Integer(v.vec) / (Integer(v.vec) - Integer(v.vec))),
    ROW("numel / 3 * 0.5", Integer(p.numel) / 3 * Real(0.5)),
    ROW("ceil_div(numel, vec * workgroup)", ceil_div(Integer(p.numel), Integer(v.vec) * Integer(s[0]))),
    ROW("ceil_div(7, 2)", ceil_div(Integer(7), Integer(2))),
    ROW("min(numel, 5)", min(Integer(p.numel), 5)),
    ROW("max(width, 2.5)", max(Integer(p.width), Real(2.5))),
    ROW("choose(vec == 4, 1, numel)", choose(Integer(v.vec) == 4, 1, Integer(p.numel))),
    ROW("choose(transposed or vec in (1, 2), eps, numel)",
        choose(v.transposed || (Integer(v.vec) == 1 || Integer(v.vec) == 2), Real(p.eps), Integer(p.numel))),
    ROW("choose(transposed, 1, 0.5)", choose(v.transposed, Integer(1), Real(0.5))),
    ROW("min(eps, 2)", min(Real(p.eps), 2)),
    ROW("numel * (bytes(input_dtype) + bytes(i8)) / device.bytes_per_us",
        Integer(p.numel) * (Integer(bytes(v.input_dtype)) + Integer(1)) / Real(d.bytes_per_us)),
    ROW("bytes(output_dtype)", choose(v.output_dtype == OutputDtype::i8, Integer(1), Integer(2))),
    ROW("width % vec == 0", Integer(p.width) % Integer(v.vec) == 0),
    ROW("vec == 4.5", Integer(v.vec) == Real(4.5)),
    ROW("1 == 2", Integer(1) == Integer(2)),
    ROW("device.subgroup_size >= 32", Integer(d.subgroup_size) >= 32),
    ROW("input_dtype == f16", v.input_dtype == DType::f16),
    ROW("f32 != input_dtype", v.input_dtype != DType::f32),
    ROW("storage != buffer", v.storage != Storage::buffer),
    ROW("input_dtype == output_dtype", (v.input_dtype == DType::f16 && v.output_dtype == OutputDtype::f16)),
    ROW("input_dtype != output_dtype", !(v.input_dtype == DType::f16 && v.output_dtype == OutputDtype::f16)),
    ROW("input_dtype == input_dtype", v.input_dtype == v.input_dtype),
    ROW("input_dtype in (f32, f16)", v.input_dtype == DType::f32 || v.input_dtype == DType::f16),
    ROW("f16 in (input_dtype, output_dtype)", v.input_dtype == DType::f16 || v.output_dtype == OutputDtype::f16),
    ROW("vec in (1, 2)", Integer(v.vec) == 1 || Integer(v.vec) == 2),
    ROW("vec in (4)", Integer(v.vec) == 4),
    ROW("vec + 1 in (5, 6)", Integer(v.vec) + 1 == 5 || Integer(v.vec) + 1 == 6),
    ROW("not vec in (1, 2) and transposed", !(Integer(v.vec) == 1 || Integer(v.vec) == 2) && v.transposed),
    ROW("vec in (1, 2) and transposed", (Integer(v.vec) == 1 || Integer(v.vec) == 2) && v.transposed),
    ROW("vec in (1, 2) or transposed", (Integer(v.vec) == 1 || Integer(v.vec) == 2) || v.transposed),
    ROW("not vec == 4", !(Integer(v.vec) == 4)),
    ROW("not transposed", !v.transposed),
    ROW("not not transposed", !(!v.transposed)),
    ROW("transposed or vec == 1 and width == 3", v.transposed || (Integer(v.vec) == 1 && Integer(p.width) == 3)),
    ROW("(transposed or vec == 1) and width == 3", (v.transposed || Integer(v.vec) == 1) && Integer(p.width) == 3),
    ROW("transposed or vec == 1 or width == 3", v.transposed || Integer(v.vec) == 1 || Integer(p.width) == 3),
    ROW("(vec < 4) == transposed", (Integer(v.vec) < 4) == v.transposed),
};
// clang-format on

std::string print_symbol(const Symbol& symbol) {
  if (symbol.kind == "problem field") return "p." + symbol.name;
  if (symbol.kind == "specialization constant") return "s[0]";
  if (symbol.kind == "device number") return "d." + symbol.name.substr(std::string_view("device.").size());
  return "v." + symbol.name;
}

std::string print_word(const Symbol& symbol, std::string_view word) {
  const std::string type = symbol.name == "input_dtype" ? "DType"
                           : symbol.name == "storage"   ? "Storage"
                                                        : "OutputDtype";
  return type + "::" + std::string(word);
}

TEST(Expression, IsTheSameInCpp) {
  const Scope scope = scope_for_tests();
  const auto environment = environment_for_tests();
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.written);
    const auto parsed = parse(row.written, {}, scope);
    ASSERT_TRUE(parsed) << to_text(parsed.error(), {});
    EXPECT_EQ(to_cpp(*parsed, scope, {print_symbol, print_word}), row.cpp);
    EXPECT_EQ(to_text(evaluate(*parsed, environment)), to_text(row.value));
  }
}

// The generated text is the same with every compiler, in whatever order it evaluates arguments.
TEST(Cpp, AsksForSymbolsInTheOrderOfTheText) {
  const Scope scope = scope_for_tests();
  const auto parsed = parse("choose(transposed or vec == 1, min(numel, width) * workgroup, eps + numel)", {}, scope);
  ASSERT_TRUE(parsed);
  std::vector<std::string> asked;
  const auto note = [&](const Symbol& symbol) { return asked.emplace_back(symbol.name); };
  (void)to_cpp(*parsed, scope, {note, print_word});
  EXPECT_EQ(asked, (std::vector<std::string>{"transposed", "vec", "numel", "width", "workgroup", "eps", "numel"}));
}

}  // namespace
}  // namespace qgen::expression
