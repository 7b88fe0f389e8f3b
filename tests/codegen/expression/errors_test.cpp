// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every mistake with its whole report, as printed under a line of a spec.
#include <gtest/gtest.h>

#include "codegen/expression/expression.h"
#include "tests/codegen/expression/scope_for_tests.h"

namespace qgen::expression {
namespace {

struct Case {
  std::string_view written;
  std::optional<Type> wanted;
  std::string_view report;
};

const Case kCases[] = {
    {R"()", std::nullopt, R"(
op.yaml:1:5: error: the expression ends too early
    1 |   - 
      |     ^
  expected: a number, a name or '('
)"},
    {R"(vec +)", std::nullopt, R"(
op.yaml:1:10: error: the expression ends too early
    1 |   - vec +
      |          ^
  expected: a number, a name or '('
)"},
    {R"(vec vec)", std::nullopt, R"(
op.yaml:1:9: error: unexpected 'vec' in an expression
    1 |   - vec vec
      |         ^~~
  expected: an operator or the end
)"},
    {R"((vec + 1)", std::nullopt, R"(
op.yaml:1:13: error: the expression ends too early
    1 |   - (vec + 1
      |             ^
  expected: ')'
)"},
    {R"(vec + 1))", std::nullopt, R"(
op.yaml:1:12: error: unexpected ')' in an expression
    1 |   - vec + 1)
      |            ^
  expected: an operator or the end
)"},
    {R"(vec + * 2)", std::nullopt, R"(
op.yaml:1:11: error: unexpected '*' in an expression
    1 |   - vec + * 2
      |           ^
  expected: a number, a name or '('
)"},
    {R"(ceil_div(vec, 2)", std::nullopt, R"(
op.yaml:1:20: error: the expression ends too early
    1 |   - ceil_div(vec, 2
      |                    ^
  expected: ',' or ')'
)"},
    {R"(ceil_div(vec 2))", std::nullopt, R"(
op.yaml:1:18: error: unexpected '2' in an expression
    1 |   - ceil_div(vec 2)
      |                  ^
  expected: ',' or ')'
)"},
    {R"(vec in 4)", std::nullopt, R"(
op.yaml:1:12: error: unexpected '4' in an expression
    1 |   - vec in 4
      |            ^
  expected: the values in parentheses, as in (f32, f16)
)"},
    {R"(vec in ())", std::nullopt, R"(
op.yaml:1:13: error: unexpected ')' in an expression
    1 |   - vec in ()
      |             ^
  expected: a number, a name or '('
)"},
    {R"(vec not in (1, 2))", std::nullopt, R"(
op.yaml:1:9: error: unexpected 'not' after a value
    1 |   - vec not in (1, 2)
      |         ^~~
  hint: 'x not in (a, b)' is written 'not x in (a, b)'
)"},
    {R"(1 < vec < 4)", std::nullopt, R"(
op.yaml:1:13: error: comparisons do not chain
    1 |   - 1 < vec < 4
      |             ^
  hint: join two comparisons with 'and'
)"},
    {R"(vec in (1, 2) == transposed)", std::nullopt, R"(
op.yaml:1:19: error: comparisons do not chain
    1 |   - vec in (1, 2) == transposed
      |                   ^~
  hint: join two comparisons with 'and'
)"},
    {R"(vec && transposed)", std::nullopt, R"(
op.yaml:1:9: error: unexpected '&&' in an expression
    1 |   - vec && transposed
      |         ^~
  hint: write 'and'
)"},
    {R"(vec = 4)", std::nullopt, R"(
op.yaml:1:9: error: unexpected '=' in an expression
    1 |   - vec = 4
      |         ^
  hint: write '=='
)"},
    {R"(!transposed)", std::nullopt, R"(
op.yaml:1:5: error: unexpected '!' in an expression
    1 |   - !transposed
      |     ^
  hint: write 'not'
)"},
    {R"(vec # 4)", std::nullopt, R"(
op.yaml:1:9: error: unexpected '#' in an expression
    1 |   - vec # 4
      |         ^
)"},
    {R"(vec ü)", std::nullopt, R"(
op.yaml:1:9: error: unexpected '\xc3' in an expression
    1 |   - vec ü
      |         ^
)"},
    {R"(12abc)", std::nullopt, R"(
op.yaml:1:5: error: '12abc' is neither a number nor a name
    1 |   - 12abc
      |     ^~~~~
  expected: a decimal number such as 12, 0.5 or 1e4, or a name that begins with a letter
)"},
    {R"(0x10)", std::nullopt, R"(
op.yaml:1:5: error: '0x10' is neither a number nor a name
    1 |   - 0x10
      |     ^~~~
  expected: a decimal number such as 12, 0.5 or 1e4, or a name that begins with a letter
)"},
    {R"(1.)", std::nullopt, R"(
op.yaml:1:6: error: unexpected '.' in an expression
    1 |   - 1.
      |      ^
)"},
    {R"(.5)", std::nullopt, R"(
op.yaml:1:5: error: unexpected '.' in an expression
    1 |   - .5
      |     ^
)"},
    {R"(9223372036854775808)", std::nullopt, R"(
op.yaml:1:5: error: the integer does not fit 64 bits
    1 |   - 9223372036854775808
      |     ^~~~~~~~~~~~~~~~~~~
  expected: at most 9223372036854775807
)"},
    {R"(1e999)", std::nullopt, R"(
op.yaml:1:5: error: the number does not fit a double
    1 |   - 1e999
      |     ^~~~~
)"},
    {R"(vce + 1)", std::nullopt, R"(
op.yaml:1:5: error: unknown name 'vce'
    1 |   - vce + 1
      |     ^~~
  expected: one of eps, input_dtype, numel, output_dtype, storage, transposed, vec, width, workgroup
  hint: did you mean 'vec'?
)"},
    {R"(device.subgroup_sise * 2)", std::nullopt, R"(
op.yaml:1:5: error: unknown name 'device.subgroup_sise'
    1 |   - device.subgroup_sise * 2
      |     ^~~~~~~~~~~~~~~~~~~~
  expected: one of device.bytes_per_us, device.compute_units, device.subgroup_size
  hint: did you mean 'device.subgroup_size'?
)"},
    {R"(subgroup_size)", std::nullopt, R"(
op.yaml:1:5: error: unknown name 'subgroup_size'
    1 |   - subgroup_size
      |     ^~~~~~~~~~~~~
  expected: one of eps, input_dtype, numel, output_dtype, storage, transposed, vec, width, workgroup
  hint: did you mean 'device.subgroup_size'?
)"},
    {R"(width % vce == 0 and numle > 0)", std::nullopt, R"(
op.yaml:1:13: error: unknown name 'vce'
    1 |   - width % vce == 0 and numle > 0
      |             ^~~
  expected: one of eps, input_dtype, numel, output_dtype, storage, transposed, vec, width, workgroup
  hint: did you mean 'vec'?
op.yaml:1:26: error: unknown name 'numle'
    1 |   - width % vce == 0 and numle > 0
      |                          ^~~~~
  expected: one of eps, input_dtype, numel, output_dtype, storage, transposed, vec, width, workgroup
  hint: did you mean 'numel'?
)"},
    {R"(f32 == f16)", std::nullopt, R"(
op.yaml:1:5: error: the word 'f32' is not compared with anything
    1 |   - f32 == f16
      |     ^~~
)"},
    {R"(f32 == inptu_dtype)", std::nullopt, R"(
op.yaml:1:12: error: unknown name 'inptu_dtype'
    1 |   - f32 == inptu_dtype
      |            ^~~~~~~~~~~
  expected: one of eps, input_dtype, numel, output_dtype, storage, transposed, vec, width, workgroup
  hint: did you mean 'input_dtype'?
)"},
    {R"(input_dtype == f23)", std::nullopt, R"(
op.yaml:1:20: error: 'f23' is not a value of parameter 'input_dtype'
    1 |   - input_dtype == f23
      |                    ^~~
  expected: one of f16, f32
  hint: did you mean 'f32'?
op.yaml:7:3: note: 'input_dtype' is declared here
)"},
    {R"(input_dtype in (f32, f61))", std::nullopt, R"(
op.yaml:1:26: error: 'f61' is not a value of parameter 'input_dtype'
    1 |   - input_dtype in (f32, f61)
      |                          ^~~
  expected: one of f16, f32
  hint: did you mean 'f16'?
op.yaml:7:3: note: 'input_dtype' is declared here
)"},
    {R"(f32 in (input_dtype, output_dtype))", std::nullopt, R"(
op.yaml:1:5: error: 'f32' is not a value of parameter 'output_dtype'
    1 |   - f32 in (input_dtype, output_dtype)
      |     ^~~
  expected: one of f16, i8
op.yaml:7:3: note: 'output_dtype' is declared here
)"},
    {R"(storage == input_dtype)", std::nullopt, R"(
op.yaml:1:16: error: 'storage' and 'input_dtype' have no value in common
    1 |   - storage == input_dtype
      |                ^~~~~~~~~~~
  hint: storage is one of buffer, texture3d; input_dtype is one of f16, f32
)"},
    {R"(vec == f32)", std::nullopt, R"(
op.yaml:1:12: error: the word 'f32' is compared with an integer
    1 |   - vec == f32
      |            ^~~
)"},
    {R"(vec == fast)", std::nullopt, R"(
op.yaml:1:12: error: unknown name 'fast'
    1 |   - vec == fast
      |            ^~~~
  expected: one of eps, input_dtype, numel, output_dtype, storage, transposed, vec, width, workgroup
)"},
    {R"(vec == storage)", std::nullopt, R"(
op.yaml:1:12: error: a word is compared with an integer
    1 |   - vec == storage
      |            ^~~~~~~
)"},
    {R"(transposed == 1)", std::nullopt, R"(
op.yaml:1:19: error: an integer is compared with a boolean
    1 |   - transposed == 1
      |                   ^
)"},
    {R"(transposed < true)", std::nullopt, R"(
op.yaml:1:5: error: '<' takes numbers, and this is a boolean
    1 |   - transposed < true
      |     ^~~~~~~~~~
)"},
    {R"(storage < buffer)", std::nullopt, R"(
op.yaml:1:5: error: '<' takes numbers, and this is a word
    1 |   - storage < buffer
      |     ^~~~~~~
)"},
    {R"(f32)", std::nullopt, R"(
op.yaml:1:5: error: the word 'f32' is not compared with anything
    1 |   - f32
      |     ^~~
)"},
    {R"(vec + storage)", std::nullopt, R"(
op.yaml:1:11: error: '+' takes numbers, and this is a word
    1 |   - vec + storage
      |           ^~~~~~~
)"},
    {R"(vec + transposed)", std::nullopt, R"(
op.yaml:1:11: error: '+' takes numbers, and this is a boolean
    1 |   - vec + transposed
      |           ^~~~~~~~~~
)"},
    {R"(vec % eps)", std::nullopt, R"(
op.yaml:1:11: error: '%' takes integers, and this is a real
    1 |   - vec % eps
      |           ^~~
)"},
    {R"(ceil_div(numel, 2.0))", std::nullopt, R"(
op.yaml:1:21: error: 'ceil_div' takes integers, and this is a real
    1 |   - ceil_div(numel, 2.0)
      |                     ^~~
)"},
    {R"(not vec)", std::nullopt, R"(
op.yaml:1:9: error: 'not' takes booleans, and this is an integer
    1 |   - not vec
      |         ^~~
)"},
    {R"(vec and transposed)", std::nullopt, R"(
op.yaml:1:5: error: 'and' takes booleans, and this is an integer
    1 |   - vec and transposed
      |     ^~~
)"},
    {R"(-transposed)", std::nullopt, R"(
op.yaml:1:6: error: '-' takes numbers, and this is a boolean
    1 |   - -transposed
      |      ^~~~~~~~~~
)"},
    {R"(ceil_div(numel))", std::nullopt, R"(
op.yaml:1:5: error: 'ceil_div' takes 2 arguments, and is given 1
    1 |   - ceil_div(numel)
      |     ^~~~~~~~~~~~~~~
)"},
    {R"(bytes(input_dtype, vec))", std::nullopt, R"(
op.yaml:1:5: error: 'bytes' takes 1 argument, and is given 2
    1 |   - bytes(input_dtype, vec)
      |     ^~~~~~~~~~~~~~~~~~~~~~~
)"},
    {R"(choose(vec, 1, transposed))", std::nullopt, R"(
op.yaml:1:12: error: 'choose' takes a boolean first, and this is an integer
    1 |   - choose(vec, 1, transposed)
      |            ^~~
op.yaml:1:20: error: 'choose' takes numbers, and this is a boolean
    1 |   - choose(vec, 1, transposed)
      |                    ^~~~~~~~~~
)"},
    {R"(bytes(vec))", std::nullopt, R"(
op.yaml:1:11: error: 'bytes' takes a dtype, and this is an integer
    1 |   - bytes(vec)
      |           ^~~
)"},
    {R"(bytes(storage))", std::nullopt, R"(
op.yaml:1:11: error: 'bytes' takes a dtype, and 'storage' can be 'buffer'
    1 |   - bytes(storage)
      |           ^~~~~~~
)"},
    {R"(bytes(f33))", std::nullopt, R"(
op.yaml:1:11: error: unknown name 'f33'
    1 |   - bytes(f33)
      |           ^~~
  expected: one of eps, input_dtype, numel, output_dtype, storage, transposed, vec, width, workgroup
)"},
    {R"(cell_div(numel, 4))", std::nullopt, R"(
op.yaml:1:5: error: unknown function 'cell_div'
    1 |   - cell_div(numel, 4)
      |     ^~~~~~~~~~~~~~~~~~
  expected: one of bytes, ceil_div, choose, dispatch_us, glsl_type, half, max, min, occupancy, overlapped_waves, packed, waves
  hint: did you mean 'ceil_div'?
)"},
    {R"(overlapped_waves(nuemel))", std::nullopt, R"(
op.yaml:1:22: error: unknown name 'nuemel'
    1 |   - overlapped_waves(nuemel)
      |                      ^~~~~~
  expected: one of eps, input_dtype, numel, output_dtype, storage, transposed, vec, width, workgroup
  hint: did you mean 'numel'?
)"},
    {R"(waves(numel, 2))", std::nullopt, R"(
op.yaml:1:5: error: 'waves' takes 1 argument, and is given 2
    1 |   - waves(numel, 2)
      |     ^~~~~~~~~~~~~~~
)"},
    {R"(glsl_type())", std::nullopt, R"(
op.yaml:1:5: error: 'glsl_type' takes 1 to 2 arguments, and is given 0
    1 |   - glsl_type()
      |     ^~~~~~~~~~~
)"},
    {R"(glsl_type(vec))", std::nullopt, R"(
op.yaml:1:15: error: 'glsl_type' takes a word, and this is an integer
    1 |   - glsl_type(vec)
      |               ^~~
)"},
    {R"(glsl_type(input_dtype, transposed))", std::nullopt, R"(
op.yaml:1:28: error: 'glsl_type' takes an integer, and this is a boolean
    1 |   - glsl_type(input_dtype, transposed)
      |                            ^~~~~~~~~~
)"},
    {R"(half(storage))", std::nullopt, R"(
op.yaml:1:10: error: 'half' takes a real, and this is a word
    1 |   - half(storage)
      |          ^~~~~~~
)"},
    {R"(glsl_type(f32) + 1)", std::nullopt, R"(
op.yaml:1:5: error: '+' takes numbers, and this is a text
    1 |   - glsl_type(f32) + 1
      |     ^~~~~~~~~~~~~~
)"},
    {R"(vec + 1)", Type::boolean, R"(
op.yaml:1:5: error: the expression is an integer
    1 |   - vec + 1
      |     ^~~~~~~
  expected: a boolean
)"},
    {R"(storage)", Type::boolean, R"(
op.yaml:1:5: error: the expression is a word
    1 |   - storage
      |     ^~~~~~~
  expected: a boolean
)"},
    {R"(eps)", Type::integer, R"(
op.yaml:1:5: error: the expression is a real
    1 |   - eps
      |     ^~~
  expected: an integer
)"},
    {R"(numel == 4)", Type::integer, R"(
op.yaml:1:5: error: the expression is a boolean
    1 |   - numel == 4
      |     ^~~~~~~~~~
  expected: an integer
)"},
    {R"(glsl_type(f32))", Type::integer, R"(
op.yaml:1:5: error: the expression is a text
    1 |   - glsl_type(f32)
      |     ^~~~~~~~~~~~~~
  expected: an integer
)"},
};

TEST(Expression, SaysWhatIsWrong) {
  const Scope scope = scope_for_tests();
  for (const Case& row : kCases) {
    SCOPED_TRACE(row.written);
    const std::string line = "  - " + std::string(row.written);
    const auto parsed = parse(row.written, {"op.yaml", 1, 5}, scope, row.wanted);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(to_text(parsed.error(), {{"op.yaml", line}}), row.report.substr(1));
  }
}

}  // namespace
}  // namespace qgen::expression
