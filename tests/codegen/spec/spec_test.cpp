// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Correct specs and their values. Wrong specs and their messages are in tests/bad_specs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "codegen/spec/device_names.h"
#include "codegen/spec/parse_spec.h"
#include "codegen/spec/signature.h"
#include "codegen/spec/words.h"
#include "tests/support/expected_text.h"
#include "tests/support/source_folder.h"

namespace qgen::spec {
namespace {

using expression::Type;

constexpr std::string_view kFull = R"(# a comment
operator: op
summary: 'it''s "all" of \ it'
template: quant/op.comp
operands:
  input: {access: read, dtype: $dtype, storage: $storage, layout: width_packed}
  weight:
    access: read_write
    dtype: i8
    optional: true
  out: {access: write, dtype: f32, layout: strided}
problem: {numel: u32, offset: i32, eps: f32, sizes: "u32[8]", ends: {words: [open, closed], enum: bracket}}
parameters:
  dtype: [f32, "f16"]
  storage: [texture3d]
  fast: [true, false]
  vec: [1, 4]
  types:
    - {load: f32, lanes: 4}
    - lanes: 8
      load: "f16"
specialization:
  workgroup: [64, 128]
  tile: [{rows: 1, columns: 2}]
constants: {is_wide: ((numel)) > 16, rest: numel % 4, closes: ends == closed}
fit: {move: 2^-1, wait_us: 1e-3}
require: [vec in (1, 4), (fast or dtype == f32)]
applies_when:
  - ((numel)) % vec == 0
  - "offset > -1"
require_device: [device.subgroup_size >= 32]
subgroup_size: vec * 8
target: vulkan1.2
grid: [ceil_div(numel, vec * workgroup), max(1, min(numel, 2)), 1]
cost: |
  numel
  * 2 * move + wait_us
verify:
  reference: op
  tolerance: {abs: 0.5, rel: 1e-6, f16: {rel: 2^-11}, computed: k * 2^-23, why: rounding}
recipes:
  self:
    applies_when: [numel > 10, eps < 0.5]
    scratch:
      partial: {dtype: f32, elements: ceil_div(numel, 4), }
    steps:
      - kernel: op
        operands: {input: input, out: partial}
        problem: {numel: min(numel, 7), offset: -offset, ends: open}
        with: {dtype: f32, fast: true, vec: 4, types.load: f16}
rarely_best:
  - {when: (vec) == 4 and tile.rows == 1, on: [hopper, ada], because: "never, in 3"}
)";

constexpr std::string_view kCanonical = R"(operator: op
summary: "it's \"all\" of \\ it"
template: "quant/op.comp"
operands:
  input: {access: read, dtype: $dtype, storage: $storage, layout: width_packed}
  weight: {access: read_write, dtype: i8, storage: buffer, optional: true}
  out: {access: write, dtype: f32, storage: buffer, layout: strided}
problem:
  numel: u32
  offset: i32
  eps: f32
  sizes: u32[8]
  ends: {words: [open, closed], enum: bracket}
parameters:
  dtype: [f32, f16]
  storage: [texture3d]
  fast: [true, false]
  vec: [1, 4]
  types: [{load: f32, lanes: 4}, {load: f16, lanes: 8}]
specialization:
  workgroup: [64, 128]
  tile: [{rows: 1, columns: 2}]
constants:
  is_wide: numel > 16
  rest: numel % 4
  closes: ends == closed
fit:
  move: 0.5
  wait_us: 0.001
require:
  - vec in (1, 4)
  - fast or dtype == f32
applies_when:
  - numel % vec == 0
  - offset > -1
require_device:
  - device.subgroup_size >= 32
rarely_best:
  - when: vec == 4 and tile.rows == 1
    on: [hopper, ada]
    because: "never, in 3"
subgroup_size: vec * 8
target: vulkan1.2
grid:
  - ceil_div(numel, vec * workgroup)
  - max(1, min(numel, 2))
  - 1
cost: numel * 2 * move + wait_us
verify:
  reference: op
  tolerance: {abs: 0.5, rel: 1e-06, f16: {abs: 0, rel: 0.00048828125}, computed: "k * 2^-23", why: "rounding"}
recipes:
  self:
    applies_when:
      - numel > 10
      - eps < 0.5
    scratch:
      partial:
        dtype: f32
        elements: ceil_div(numel, 4)
    steps:
      - kernel: op
        operands:
          input: input
          out: partial
        problem:
          numel: min(numel, 7)
          offset: "-offset"
          ends: open
        with:
          dtype: f32
          fast: true
          vec: 4
          types.load: f16
)";

Spec parse_good(std::string_view yaml, const std::string& file = "op.yaml") {
  auto parsed = parse_spec(yaml, file);
  if (!parsed) ADD_FAILURE() << to_text(parsed.error(), {{file, std::string(yaml)}});
  return parsed ? *std::move(parsed) : Spec();
}

std::string errors_of(std::string_view yaml, const std::string& file = "op.yaml") {
  const auto parsed = parse_spec(yaml, file);
  return parsed ? "" : to_text(parsed.error(), {});
}

TEST(Spec, IsPrintedInOneForm) {
  EXPECT_EQ(to_text(parse_good(kFull)), kCanonical);
  EXPECT_EQ(to_text(parse_good(kCanonical)), kCanonical);
}

constexpr std::string_view kSignature = R"yaml(operator: op
template: "op.comp"
operands:
  input: {access: read, dtype: $dtype, storage: buffer, shape: [..., 3, K], view: true, help: "a, b: c"}
  weight: {access: read, dtype: i8, storage: buffer, layout: weight_q8_rows, shape: [N, K], weight: true}
  sums: {access: read, dtype: i32, storage: buffer, row_sums_of: weight}
  scales: {access: read, dtype: f32, storage: buffer, optional: true, shape: [[N], [N, G]]}
  output: {access: write, dtype: $dtype, storage: buffer, in_place: [input], shape: [...], like: input}
attributes:
  scale: {type: real, range: [2^-125, 0.5], unit: "volts"}
  count: {type: integer, range: i8, default: -3}
  block: {type: integers, default: "(all, that is)"}
  exact: {type: boolean, default: true, help: "whether"}
  mapping: {words: [up, down], enum: direction, default: up}
  activation: {words: [none, relu]}
  to: {type: dtype, of: output, default: f16}
  wanted: {type: dtype, words: [i8, u8]}
operators:
  op_of_all:
    with: [scale, count]
  op_of_some:
    summary: "some"
    operands:
      input: {dtype: [f32], help: ""}
      scales: {optional: false}
    without: [block]
    aliases:
      _other: "a part"
parameters:
  dtype: [f32, f16]
grid:
  - 1
  - 1
  - 1
)yaml";

TEST(Spec, PrintsWhatCallersSee) { EXPECT_EQ(to_text(parse_good(kSignature)), kSignature); }

TEST(Spec, HasASignatureForEachPublicOperator) {
  const Spec spec = parse_good(kSignature);
  const auto signatures = signatures_of(spec);
  ASSERT_EQ(signatures.size(), 2U);
  const Signature& all = signatures[0];
  const Signature& some = signatures[1];
  EXPECT_EQ(all.name, "op_of_all");
  EXPECT_EQ(some.aliases[0].name.value, "_other");
  using Role = TensorInfo::Role;
  const Role roles[] = {Role::input, Role::weight, Role::derived, Role::input, Role::output};
  for (size_t i = 0; i < all.tensors.size(); ++i) EXPECT_EQ(all.tensors[i].role, roles[i]) << i;
  EXPECT_THAT(all.tensors[0].dtypes, testing::ElementsAre("f32", "f16"));
  EXPECT_THAT(some.tensors[0].dtypes, testing::ElementsAre("f32"));
  EXPECT_EQ(all.tensors[0].help, "a, b: c");
  EXPECT_EQ(some.tensors[0].help, "");
  EXPECT_TRUE(all.tensors[3].is_optional);
  EXPECT_FALSE(some.tensors[3].is_optional);
  EXPECT_EQ(all.attributes.size(), 8U);
  EXPECT_EQ(some.attributes.size(), 5U);
  EXPECT_EQ(all.attributes[0]->range->least, 0x1p-125);
  EXPECT_EQ(all.attributes[1]->range->text, "-128 to 127");
  EXPECT_THAT(words_of(spec, some, *all.attributes[6]), testing::ElementsAre("f32", "f16"));
  EXPECT_THAT(words_of(spec, some, *all.attributes[7]), testing::ElementsAre("i8", "u8"));
}

TEST(Spec, HasNoSignatureWithoutShapes) { EXPECT_TRUE(signatures_of(parse_good(kFull)).empty()); }

// Each mistake is one line of the spec above, written otherwise.
struct Mistake {
  std::string_view instead_of, is;
  std::string_view message;
};
constexpr Mistake kMistakes[] = {
    {", shape: [N, K], weight: true", ", weight: true",
     "op.yaml:5:3: error: 'weight' has no 'shape', "
     "and other operands have one\n"
     "  expected: such as [..., N, K]; [...] "
     "is any\n"},
    {"layout: weight_q8_rows, ", "",
     "op.yaml:5:3: error: weight 'weight' has no layout of a weight\n"
     "  expected: a layout weight_...\n"},
    {"shape: [N, K], weight", "shape: [..., K], weight",
     "op.yaml:5:3: error: weight 'weight' is "
     "neither a matrix nor a window\n"
     "  expected: shape: [N, K], or [N, C, H, "
     "W]\n"},
    {"row_sums_of: weight", "row_sums_of: input",
     "op.yaml:6:66: error: 'input' is not a weight\n"
     "  hint: sums of rows are made from a weight\n"
     "op.yaml:4:3: note: declared here\n"},
    {"row_sums_of: weight", "row_sums_of: wieght",
     "op.yaml:6:66: error: 'wieght' is not an operand\n"
     "  expected: one of input, output, scales, sums, "
     "weight\n"
     "  hint: did you mean 'weight'?\n"},
    {"in_place: [input]", "in_place: [inptu]",
     "op.yaml:8:70: error: 'inptu' is not an operand\n"
     "  expected: one of input, output, scales, sums, "
     "weight\n"
     "  hint: did you mean 'input'?\n"},
    {"in_place: [input]", "in_place: [output]",
     "op.yaml:8:70: error: 'output' cannot be written "
     "in place of 'output'\n"
     "  expected: an output in place of an input\n"},
    {"in_place: [input]", "in_place: [weight]",
     "op.yaml:8:70: error: 'output' cannot be written "
     "in place of 'weight'\n"
     "  expected: two operands that may have the same "
     "dtype\n"},
    {"shape: [N, K], weight: true", "shape: [N, K], weight: true, in_place: [input]",
     "op.yaml:5:118: error: 'weight' cannot be written in place of 'input'\n"
     "  expected: an output in place of an input\n"
     "op.yaml:5:118: error: 'weight' cannot be written in place of 'input'\n"
     "  expected: two operands that may have the same dtype\n"},
    {"template: \"op.comp\"\n", "",
     "op.yaml:1:1: error: the spec has no 'template'\n"
     "  expected: the GLSL template, relative to the template root\n"
     "  hint: an operator without one is made of recipes only\n"},
    {"like: input", "like: output",
     "op.yaml:8:98: error: 'output' is like 'output'\n"
     "  expected: an output with the representation of an input\n"},
    {"like: input", "like: inptu",
     "op.yaml:8:98: error: 'inptu' is not an operand\n"
     "  expected: one of input, output, scales, sums, weight\n"
     "  hint: did you mean 'input'?\n"},
    {"[..., 3, K]", "[3, ..., K]", "op.yaml:4:68: error: '...' stands before all other sides\n"},
    {"[..., 3, K]", "[a, b, c, d, e, f, g, h, i]",
     "op.yaml:4:64: error: 'shape' has 9 sides\n"
     "  expected: 8 at most\n"},
    {"[..., 3, K]", "[2x, K]",
     "op.yaml:4:65: error: '2x' is not a name: letters, digits and single "
     "'_', beginning with a letter\n"},
    {"[..., 3, K]", "K",
     "op.yaml:4:64: error: 'shape' is a single value\n"
     "  expected: a list, such as [..., N, K]\n"},
    {"[2^-125, 0.5]", "[2^-125]",
     "op.yaml:10:30: error: 'range' has 1 bounds\n"
     "  expected: two: the least and the greatest\n"},
    {"[2^-125, 0.5]", "[0.5, 2^-125]", "op.yaml:10:30: error: 0.5 is above 2^-125\n"},
    {"[2^-125, 0.5]", "[2^x, 1]",
     "op.yaml:10:31: error: '2^x' is not a bound\n"
     "  expected: a number, such as -128, 0.5 or 2^-125\n"},
    {"[2^-125, 0.5]", "sometimes",
     "op.yaml:10:30: error: 'sometimes' is not a range\n"
     "  expected: one of i16, i32, i8, not_negative, positive, u16, "
     "u32, u8\n"},
    {"type: real, range", "type: boolean, range",
     "op.yaml:10:3: error: attribute 'scale' is true "
     "or false, and has a 'range'\n"
     "  expected: a range of numbers\n"},
    {"range: i8, default: -3", "range: [0, 0.5]",
     "op.yaml:11:3: error: 'count' is an integer from "
     "0 to 0.5\n"
     "  expected: bounds that are integers\n"},
    {"default: -3", "default: -300",
     "op.yaml:11:46: error: the default of 'count' is '-300'\n"
     "  expected: -128 to 127\n"},
    {"default: -3", "default: 2^2",
     "op.yaml:11:46: error: the default of 'count' is '2^2'\n"
     "  expected: an integer, or a text in parentheses\n"},
    {"default: -3", "default: 0.5",
     "op.yaml:11:46: error: the default of 'count' is '0.5'\n"
     "  expected: an integer, or a text in parentheses\n"},
    {"default: true", "default: yes",
     "op.yaml:13:35: error: the default of 'exact' is 'yes'\n"
     "  expected: true or false\n"},
    {"default: up", "default: pu",
     "op.yaml:14:58: error: the default of 'mapping' is 'pu'\n"
     "  expected: one of down, up, or a text in parentheses\n"
     "  hint: did you mean 'up'?\n"},
    {"default: f16", "default: i8",
     "op.yaml:16:42: error: the default of 'to' is 'i8'\n"
     "  expected: one of f16, f32, or a text in parentheses\n"},
    {"default: \"(all, that is)\"", "default: 4",
     "op.yaml:12:36: error: the default of 'block' "
     "is '4'\n"
     "  expected: a text in parentheses: a list has "
     "no default that fits all shapes\n"},
    {"type: dtype, of: output", "type: dtype",
     "op.yaml:16:3: error: attribute 'to' is a dtype, "
     "and does not say which\n"
     "  expected: 'of: <operand>'\n"},
    {"type: dtype, of: output", "type: layout, of: output",
     "op.yaml:16:26: error: 'output' is always "
     "in the layout that its storage says\n"
     "  expected: an operand with a 'layout'\n"},
    {"type: real", "of: input, type: real",
     "op.yaml:10:15: error: attribute 'scale' is a number\n"
     "  hint: 'of' says whose dtype or layout an attribute "
     "is\n"},
    {"words: [none, relu]", "help: none",
     "op.yaml:15:3: error: attribute 'activation' is a word, "
     "and does not say which\n"
     "  expected: a 'type', or 'words: [none, relu]'\n"},
    {"words: [none, relu]", "words: [none, none]",
     "op.yaml:15:30: error: 'activation' has the word "
     "none twice\n"
     "op.yaml:15:24: note: first given here\n"},
    {"words: [none, relu]", "words: [none, relu], type: integer",
     "op.yaml:15:24: error: attribute 'activation' is an integer, and has words\n"
     "  hint: leave the type out\n"},
    {"words: [i8, u8]", "words: [i8, u9]",
     "op.yaml:17:37: error: 'u9' is not a dtype\n"
     "  expected: one of bf16, f16, f32, i16, i32, i8, u16, "
     "u32, u8\n"
     "  hint: did you mean 'u8'?\n"},
    {"dtype: [f32], help", "dtype: [i8], help",
     "op.yaml:24:23: error: no kernel accepts i8 for "
     "'input'\n"
     "  expected: one of f16, f32\n"},
    {"input: {dtype: [f32]", "inptu: {dtype: [f32]",
     "op.yaml:24:7: error: 'inptu' is not an operand\n"
     "  expected: one of input, output, scales, "
     "sums, weight\n"
     "  hint: did you mean 'input'?\n"},
    {"help: \"\"}", "optional: true}",
     "op.yaml:24:7: error: 'input' is not optional to the kernels\n"
     "  hint: an operator can omit only operands that no kernel "
     "requires\n"},
    {"with: [scale", "with: [scal",
     "op.yaml:20:12: error: 'scal' is not an attribute\n"
     "  expected: one of activation, block, count, exact, mapping, "
     "scale, to, wanted\n"
     "  hint: did you mean 'scale'?\n"},
    {"without: [block", "without: [blok",
     "op.yaml:26:15: error: 'blok' is not an attribute\n"
     "  expected: one of activation, block, count, exact, mapping, "
     "scale, to, wanted\n"
     "  hint: did you mean 'block'?\n"},
    {"operator: op", "kernel: op",
     "op.yaml:10:3: error: attribute 'scale' is for callers, and a "
     "kernel has none\n"
     "op.yaml:19:3: error: operator 'op_of_all' is for callers, and "
     "a kernel has none\n"},
};

TEST(Spec, RefusesWhatCallersCannotBeTold) {
  for (const Mistake& row : kMistakes) {
    std::string yaml(kSignature);
    const size_t place = yaml.find(row.instead_of);
    ASSERT_NE(place, std::string::npos) << row.instead_of;
    EXPECT_TEXT(errors_of(yaml.replace(place, row.instead_of.size(), row.is)), row.message);
  }
}

TEST(Spec, NeedsShapesForWhatCallersSay) {
  std::string yaml(kFull);
  yaml += "attributes: {a: {type: real}}\n";
  EXPECT_TEXT(errors_of(yaml),
              "op.yaml:53:14: error: attribute 'a' is for callers, and no operand has a 'shape'\n"
              "  hint: 'shape' makes an operand public: input: {..., shape: [..., K]}\n");
}

TEST(Specs, ShareNoPublicName) {
  std::string yaml(kSignature);
  const Spec first = parse_good(yaml, "op.yaml");
  yaml.replace(yaml.find("operator: op"), 12, "operator: no");
  yaml.replace(yaml.find("[none, relu]"), 12, "[relu, none]");
  const Spec second = parse_good(yaml, "no.yaml");
  EXPECT_TEXT(to_text(check_specs({first, second}), {}),
              "no.yaml:15:3: error: the words of 'activation' are relu, none here\n"
              "  expected: none, relu\n"
              "  hint: give other words another name by 'enum'\n"
              "op.yaml:15:3: note: the others are here\n"
              "no.yaml:19:3: error: operator 'op_of_all' is already the name of an operator\n"
              "op.yaml:19:3: note: the other is here\n"
              "no.yaml:21:3: error: operator 'op_of_some' is already the name of an operator\n"
              "op.yaml:21:3: note: the other is here\n"
              "no.yaml:28:7: error: alias '_other' is already the name of an operator\n"
              "op.yaml:28:7: note: the other is here\n");
}

constexpr std::string_view kDefinitions = R"(operator: op
template: op.comp
operands:
  out: {access: write, dtype: $dtype}
problem: {rows: u32}
parameters:
  dtype: [f32, f16]
specialization:
  tile: [4, 8]
define:
  kept: dtype
  is_wide: kept == f32 or bytes(kept) > 2
  tiles: ceil_div(rows, tile) - 1
  twice: "tiles * 2"
require: [is_wide]
grid: [rows - tiles, -tiles, twice]
cost: min(twice, 0.5)
)";

// Definitions are replaced by their expressions: nothing that is printed, ranked or emitted knows them.
TEST(Spec, PutsDefinitionsWhereTheyAreNamed) {
  const Spec spec = parse_good(kDefinitions);
  EXPECT_EQ(spec.require[0].text, "dtype == f32 or bytes(dtype) > 2");
  EXPECT_EQ(expression::to_text(*spec.grid[0]), "rows - (ceil_div(rows, tile) - 1)");
  EXPECT_EQ(expression::to_text(*spec.grid[1]), "-(ceil_div(rows, tile) - 1)");
  EXPECT_EQ(expression::to_text(*spec.grid[2]), "(ceil_div(rows, tile) - 1) * 2");
  EXPECT_EQ(expression::to_text(*spec.cost), "min((ceil_div(rows, tile) - 1) * 2, 0.5)");
  EXPECT_EQ(to_text(expression::uses_of(*spec.grid[0])[1].where), "op.yaml:16:15") << "where it is mentioned";
}

TEST(Spec, LetsDefinitionsGrowToALimit) {
  std::string yaml(kDefinitions);
  std::string doubled = "  d0: rows + 1\n";
  for (int i = 1; i < 12; ++i) doubled += fmt::format("  d{}: d{} + d{}\n", i, i - 1, i - 1);
  yaml.insert(yaml.find("require:"), doubled);
  EXPECT_THAT(errors_of(yaml),
              testing::StartsWith("op.yaml:23:7: error: the expression has more than 1000 names, numbers and "
                                  "operators, together with its definitions and functions\n"));
}

TEST(Spec, MayHaveCarriageReturnsAndAByteOrderMark) {
  std::string yaml = "\xef\xbb\xbf";
  for (char c : kCanonical) yaml += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(to_text(parse_good(yaml)), kCanonical);
}

TEST(Spec, HasAScopeInAFixedOrder) {
  const Spec spec = parse_good(kFull);
  std::vector<std::string> names;
  for (const auto& symbol : spec.scope.symbols()) {
    names.push_back(std::string(expression::name(symbol.type)) + " " + symbol.kind + " " + symbol.name);
  }
  EXPECT_THAT(
      names,
      testing::ElementsAre(
          "word parameter dtype", "word parameter storage", "boolean parameter fast", "integer parameter vec",
          "word parameter types.load", "integer parameter types.lanes", "integer specialization constant workgroup",
          "integer specialization constant tile.rows", "integer specialization constant tile.columns",
          "integer problem field numel", "integer problem field offset", "real problem field eps",
          "word problem field ends", "integer device number device.subgroup_size",
          "integer device number device.max_workgroup_invocations", "integer device number device.max_workgroup_size_x",
          "integer device number device.shared_memory_bytes", "integer device number device.max_storage_buffer_bytes",
          "integer device number device.max_image_extent", "boolean device number device.is_cpu",
          "boolean device number device.is_integrated", "integer device number device.compute_units",
          "real device number device.bytes_per_us", "integer device number device.cache_bytes",
          "real device number device.cache_bytes_per_us", "real device number device.f32_ops_per_us",
          "real device number device.f16_ops_per_us", "real device number device.int8_ops_per_us",
          "real device number device.int8_matrix_ops_per_us", "real device number device.f16_matrix_ops_per_us",
          "real device number device.launch_us", "real device number device.barrier_us", "real fitted constant move",
          "real fitted constant wait_us"));
}

TEST(Spec, KnowsThePlaceOfEachField) {
  const Spec spec = parse_good(kFull, "specs/op.yaml");
  EXPECT_EQ(to_text(spec.name.where), "specs/op.yaml:2:11");
  EXPECT_EQ(to_text(spec.operands[1].name.where), "specs/op.yaml:7:3");
  EXPECT_EQ(to_text(spec.operands[0].dtype.where), "specs/op.yaml:6:32");
  EXPECT_EQ(to_text(spec.parameters[3].values[1].where), "specs/op.yaml:17:12");
  EXPECT_EQ(to_text(spec.require[1].expression.where()), "specs/op.yaml:27:26");
  EXPECT_EQ(to_text(spec.applies_when[1].expression.where()), "specs/op.yaml:30:6") << "inside the quotes";
  EXPECT_EQ(to_text(spec.grid[1]->where()), "specs/op.yaml:34:42");
  EXPECT_EQ(to_text(spec.cost->where()), "specs/op.yaml:35") << "a block has no columns";
  EXPECT_EQ(to_text(spec.recipes[0].steps[0].problem[1].first.where), "specs/op.yaml:49:41");
}

TEST(Spec, ReportsAllErrorsOfAFile) {
  EXPECT_TEXT(errors_of("operator: op\nopernads: {}\ntemplate: [a]\nproblem: {a: u64, b: u8}\n"),
              "op.yaml:2:1: error: unknown key 'opernads' in the spec\n"
              "  expected: one of all_recipes, applies_when, attributes, constants, cost, define, "
              "fit, grid, kernel, operands, operator, operators, parameters, problem, rarely_best, "
              "recipes, recipes_use, require, require_device, specialization, subgroup_size, summary, "
              "target, template, use, verify\n"
              "  hint: did you mean 'operands'?\n"
              "op.yaml:3:11: error: 'template' is a list\n"
              "  expected: a single value, such as 'some text'\n"
              "op.yaml:4:14: error: 'u64' is not a type of problem fields\n"
              "  expected: u32, i32 or f32, or an array of up to 256 of them: u32[8]; or {words: "
              "[a, b]}\n"
              "op.yaml:4:22: error: 'u8' is not a type of problem fields\n"
              "  expected: u32, i32 or f32, or an array of up to 256 of them: u32[8]; or {words: "
              "[a, b]}\n");
}

struct Snippet {
  std::string_view yaml;
  std::string_view message;
};

// Cases without a file in bad_specs.
constexpr Snippet kRefused[] = {
    {"",
     "op.yaml:1:1: error: the file is empty\n"
     "  expected: a spec, which begins with 'operator: <name>'\n"},
    {"# nothing\n",
     "op.yaml:1:1: error: the file is empty\n"
     "  expected: a spec, which begins with 'operator: <name>'\n"},
    {"~",
     "op.yaml:1:1: error: the file is empty\n"
     "  expected: a spec, which begins with 'operator: <name>'\n"},
    {"op",
     "op.yaml:1:1: error: a spec is a map of keys\n"
     "  expected: 'operator: <name>', 'template: <path>', ...\n"},
    {"{[a]: b}", "op.yaml:1:2: error: a key must be a name\n"},
    {"operator:\n",
     "op.yaml:1:1: error: 'operator' is empty\n"
     "  expected: a single value, such as 'quantize_affine'\n"},
    {"operator: {a: b}\n",
     "op.yaml:1:11: error: 'operator' is a map\n"
     "  expected: a single value, such as 'quantize_affine'\n"},
    {"operator: op\noperands: {}\n",
     "op.yaml:1:1: error: the spec has no 'template'\n"
     "  expected: the GLSL template, relative to the template root\n"
     "  hint: an operator without one is made of recipes only\n"
     "op.yaml:1:11: error: the spec has no operands\n"
     "  expected: at least one\n"},
    {"a: {b: c(d, e)f: g}\n", "op.yaml:1:18: error: unexpected ':' inside parentheses\n"},
    {"a: {b: 'c(d', e: f}\n",
     "op.yaml:1:1: error: unknown key 'a' in the spec\n"
     "  expected: one of all_recipes, applies_when, attributes, constants, cost, define, fit, grid, "
     "kernel, operands, operator, operators, parameters, problem, rarely_best, recipes, recipes_use, "
     "require, require_device, specialization, subgroup_size, summary, target, template, use, verify\n"},
    {"a: 'b\n", "op.yaml:1:4: error: this quote is never closed\n"},
    {"a: 'it''s\n", "op.yaml:1:4: error: this quote is never closed\n"},
    {"a: \"it\\\"s\n", "op.yaml:1:4: error: this quote is never closed\n"},
    {"operator: op\noperands: {out: {access: write, dtype: f32}}\nparameters: {a: [\"null\"]}\ntemplate: a\ngrid: [1, "
     "1, 1]\n",
     "op.yaml:3:18: error: 'null' already has a meaning in qgen\n"
     "  expected: integers, true and false, or words\n"},
    {"a: \"\\q\"\n", "op.yaml:1:7: error: this is not YAML: unknown escape character: q\n"},
    {"a: *b\n", "op.yaml:1:4: error: this is not YAML: the referenced anchor is not defined\n"},
    {"a: \xc0\xaf\n",
     "op.yaml:1:4: error: the file contains the byte \\xc0, which is not UTF-8\n"
     "  expected: text in UTF-8\n"},
    {"a: \xed\xa0\x80\n",
     "op.yaml:1:4: error: the file contains the byte \\xed, which is not UTF-8\n"
     "  expected: text in UTF-8\n"},
    {"a: \xf4\x90\x80\x80\n",
     "op.yaml:1:4: error: the file contains the byte \\xf4, which is not "
     "UTF-8\n"
     "  expected: text in UTF-8\n"},
    {"%YAML 3.0\n---\na: b\n", "op.yaml:1:1: error: this is not YAML: YAML major version too large\n"},
};

TEST(Spec, RefusesWhatIsNoSpec) {
  for (const Snippet& row : kRefused) {
    SCOPED_TRACE(row.yaml);
    EXPECT_TEXT(errors_of(row.yaml), row.message);
  }
  EXPECT_TEXT(errors_of("a: " + std::string(1 << 20, 'b')),
              "op.yaml:1:1: error: the file has 1048579 "
              "bytes\n"
              "  expected: at most 1048576\n");
  EXPECT_TEXT(errors_of(std::string(100'000, '[')),
              "op.yaml:1:17: error: the file is nested deeper "
              "than 32\n");
  EXPECT_TEXT(errors_of("a: [" + std::string(300'000, '(') + "b, c, d]\n"),
              "op.yaml:1:1: error: unknown key 'a' in the spec\n"
              "  expected: one of all_recipes, applies_when, attributes, constants, cost, define, "
              "fit, grid, kernel, operands, operator, operators, parameters, problem, rarely_best, "
              "recipes, recipes_use, require, require_device, specialization, subgroup_size, summary, "
              "target, template, use, verify\n");
}

// Names that a compiler refused in an operator's printed code.
TEST(Spec, RefusesOperatorsThatCannotBeNamespacesAndHeaders) {
  const auto told = [](const std::string& name) {
    const auto parsed = parse_spec("operator: " + name + "\n", name + ".yaml");
    return parsed ? "" : to_text(parsed.error(), {});
  };
  EXPECT_TEXT(told("registry"),
              "registry.yaml:1:11: error: 'registry.h' is a header that qgen writes "
              "for all operators\n"
              "  hint: take another name\n");
  EXPECT_TEXT(told("errno"),
              "errno.yaml:1:11: error: the header of 'errno' would be errno.h, and "
              "the system has one of that name\n"
              "  hint: take another name\n");
  for (const char* name : {"library", "std", "table", "min", "size_t", "qgen"}) {
    EXPECT_EQ(told(name), fmt::format("{0}.yaml:1:11: error: '{0}' already has a meaning in generated code\n"
                                      "  hint: take another name\n",
                                      name));
  }
  EXPECT_TEXT(told("Problem"),
              "Problem.yaml:1:11: error: 'Problem' begins with a capital, as the "
              "types of generated code do\n"
              "  hint: take another name\n");
}

TEST(Words, NamespacesAreOfNames) {
  for (const char* good : {"mine", "qgen::generated", "a::b::c"}) EXPECT_EQ(fault_of_namespace(good), std::nullopt);
  for (const char* bad : {"", "a b;c", "a::", "::a", "a:b", "std", "std::mine", "a::linux", "a::class", "1a", "EOF"}) {
    EXPECT_NE(fault_of_namespace(bad), std::nullopt) << bad;
  }
}

// ---- fragments

using Files = std::vector<SpecText>;

std::string errors_of(const Files& files, UnusedFragments unused = UnusedFragments::are_fine) {
  const auto specs = parse_specs(files, unused);
  return specs ? "" : to_text(specs.error(), {});
}

constexpr std::string_view kSizes = R"(fragment: sizes
problem: {m: u32, n: u32}
)";
constexpr std::string_view kForms = R"(fragment: forms
takes: {form: of the input, m: rows, vec: elements of a load}
gives: [is_even]
operands:
  input: {access: read, dtype: $dtype, layout: $form}
parameters:
  dtype: [i8, u8]
define:
  is_even: m % vec == 0
require: [vec == 4 or dtype == i8]
verify: {tolerance: {abs: 1}}
)";
constexpr std::string_view kCopied = R"(fragment: copied
takes: {m: rows}
scratch: {copy: {dtype: f32, elements: m}}
steps: [{kernel: copy, operands: {output: copy}}]
)";
constexpr std::string_view kUser = R"(operator: op
template: op.comp
use: [forms]
operands: {output: {access: write, dtype: f32}}
problem: [sizes, {k: u32}]
parameters: {vec: [1, 4]}
define: {form: packed_4w}
require: [vec == 4 or dtype != u8]
applies_when: [is_even, form == packed_4w]
grid: [m, 1, 1]
recipes:
  two:
    use: [copied]
    steps: [{kernel: op, operands: {input: copy}}]
)";
const Files kUsed = {{"lib/sizes.yaml", kSizes}, {"op.yaml", kUser}, {"forms.yaml", kForms}, {"copied.yaml", kCopied}};

// A printed spec contains its fragments, in the order of use; later rooms do not know fragments.
TEST(Fragments, StandWhereTheyAreNamed) {
  const auto specs = parse_specs(kUsed, UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  ASSERT_EQ(specs->size(), 1U);
  EXPECT_TEXT(to_text(specs->front()), R"(operator: op
template: "op.comp"
operands:
  input: {access: read, dtype: $dtype, storage: buffer, layout: packed_4w}   # forms
  output: {access: write, dtype: f32, storage: buffer}
problem:
  m: u32   # sizes
  n: u32   # sizes
  k: u32
parameters:
  dtype: [i8, u8]   # forms
  vec: [1, 4]
require:
  - vec == 4 or dtype == i8   # forms
  - vec == 4 or dtype != u8
applies_when:
  - m % vec == 0
  - packed_4w == packed_4w
grid:
  - m
  - 1
  - 1
verify:
  reference: op
  tolerance: {abs: 1, rel: 0}
recipes:
  two:
    scratch:
      copy:   # copied
        dtype: f32
        elements: m
    steps:
      - kernel: copy   # copied
        operands:
          output: copy
      - kernel: op
        operands:
          input: copy
)");
  EXPECT_EQ(to_text(specs->front().problem[1].name.where), "lib/sizes.yaml:2:19");
}

TEST(Fragments, BeginEveryRecipe) {
  const auto specs = parse_specs({{"copied.yaml",
                                   "fragment: copied\ntakes: {m: rows}\nscratch: {copy: {dtype: f32, elements: m}}\n"
                                   "bind: {input: copy}\nsteps: [{kernel: copy}]\n"},
                                  {"op.yaml",
                                   "operator: op\noperands: {output: {access: write, dtype: f32}}\n"
                                   "problem: {m: u32}\nrecipes_use: [copied]\n"
                                   "recipes: {one: {steps: [{kernel: a}]}, two: {steps: [{kernel: b}]}}\n"}},
                                 UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const std::string text = to_text(specs->front());
  EXPECT_TEXT(text.substr(text.find("recipes:")), R"(recipes:
  one:
    scratch:
      copy:   # copied
        dtype: f32
        elements: m
    bind:
      input: copy
    steps:
      - kernel: copy   # copied
      - kernel: a
  two:
    scratch:
      copy:   # copied
        dtype: f32
        elements: m
    bind:
      input: copy
    steps:
      - kernel: copy   # copied
      - kernel: b
)");
}

TEST(Fragments, EndEveryRecipe) {
  const auto specs = parse_specs({{"ends.yaml",
                                   "fragment: ends\nscratch: {copy: {dtype: f32, elements: m}}\ntakes: {m: rows}\n"
                                   "bind: {output: copy}\nsteps: [{kernel: first}]\n"
                                   "last_steps: [{kernel: last, operands: {input: copy, output: output}}]\n"},
                                  {"checked.yaml", "fragment: checked\nlast_steps: [{kernel: check}]\n"},
                                  {"op.yaml",
                                   "operator: op\noperands: {output: {access: write, dtype: f32}}\n"
                                   "problem: {m: u32}\nrecipes_use: [ends, checked]\n"
                                   "recipes: {one: {steps: [{kernel: a}, {kernel: b}]}}\n"},
                                  {"check_only.yaml",
                                   "operator: check_only\noperands: {output: {access: write, dtype: f32}}\n"
                                   "recipes: {one: {use: [checked]}}\n"}},
                                 UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const auto recipes = [](const Spec& spec) {
    const std::string text = to_text(spec);
    return text.substr(text.find("recipes:"));
  };
  const auto op = std::ranges::find(*specs, "op", [](const Spec& spec) { return spec.name.value; });
  const auto check_only = std::ranges::find(*specs, "check_only", [](const Spec& spec) { return spec.name.value; });
  EXPECT_TEXT(recipes(*op), R"(recipes:
  one:
    scratch:
      copy:   # ends
        dtype: f32
        elements: m
    bind:
      output: copy
    steps:
      - kernel: first   # ends
      - kernel: a
      - kernel: b
      - kernel: last   # ends
        operands:
          input: copy
          output: output
      - kernel: check   # checked
)");
  EXPECT_TEXT(recipes(*check_only), R"(recipes:
  one:
    steps:
      - kernel: check   # checked
)");
}

// After the fragments for all recipes, and without a fragment.
TEST(Fragments, EveryRecipeHasTheSectionsOfAllRecipes) {
  const auto specs = parse_specs({{"copied.yaml", "fragment: copied\nsteps: [{kernel: copy}]\n"},
                                  {"op.yaml",
                                   "operator: op\noperands: {output: {access: write, dtype: f32}}\n"
                                   "problem: {m: u32}\nrecipes_use: [copied]\n"
                                   "all_recipes:\n"
                                   "  scratch: {half: {dtype: f16, elements: m}}\n"
                                   "  bind: {output: half}\n"
                                   "  steps: [{kernel: first}]\n"
                                   "  last_steps: [{kernel: last, operands: {input: half, output: output}}]\n"
                                   "recipes:\n"
                                   "  one: {scratch: {own: {dtype: i8, elements: m}}, steps: [{kernel: a}]}\n"
                                   "  two: {recipes_use: none, steps: [{kernel: b}]}\n"}},
                                 UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const std::string text = to_text(specs->front());
  EXPECT_TEXT(text.substr(text.find("recipes:")), R"(recipes:
  one:
    scratch:
      half:
        dtype: f16
        elements: m
      own:
        dtype: i8
        elements: m
    bind:
      output: half
    steps:
      - kernel: copy   # copied
      - kernel: first
      - kernel: a
      - kernel: last
        operands:
          input: half
          output: output
  two:
    steps:
      - kernel: b
)");
}

// A recipe lists its steps in their order, and an operator has none.
TEST(Fragments, AloneHaveLastSteps) {
  const std::string op = "operator: op\noperands: {output: {access: write, dtype: f32}}\n";
  EXPECT_TEXT(errors_of(Files{{"op.yaml", op + "recipes: {one: {steps: [{kernel: a}], last_steps: [{kernel: b}]}}\n"}}),
              "op.yaml:3:39: error: unknown key 'last_steps' in 'one'\n"
              "  expected: one of applies_when, bind, recipes_use, scratch, seen_as, steps, use\n");
  EXPECT_TEXT(
      errors_of(Files{{"op.yaml", op + "use: [ends]\n"}, {"ends.yaml", "fragment: ends\nlast_steps: [{kernel: a}]\n"}}),
      "op.yaml:3:7: error: 'ends' contains 'last_steps', which a spec cannot have\n"
      "ends.yaml:2:1: note: 'last_steps' is given here\n");
}

// A kernel that uses a fragment has its operands and problem, and an operator has its recipes.
TEST(Fragments, GiveKernelsNoRecipes) {
  const auto specs = parse_specs({{"ends.yaml",
                                   "fragment: ends\noperands: {output: {access: write, dtype: f32}}\n"
                                   "problem: {m: u32}\nrecipes: {one: {steps: [{kernel: last}]}}\n"},
                                  {"last.yaml", "kernel: last\ntemplate: a\nuse: [ends]\ngrid: [m, 1, 1]\n"},
                                  {"op.yaml",
                                   "operator: op\noperands: {output: {access: write, dtype: f32}}\n"
                                   "problem: {m: u32}\nrecipes: [ends]\n"}},
                                 UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  for (const Spec& spec : *specs) EXPECT_EQ(spec.recipes.size(), spec.name.value == "op" ? 1u : 0u) << spec.name.value;
}

TEST(Fragments, BeginNoRecipeThatUsesNone) {
  const auto specs = parse_specs({{"copied.yaml", "fragment: copied\nsteps: [{kernel: copy}]\n"},
                                  {"op.yaml",
                                   "operator: op\noperands: {output: {access: write, dtype: f32}}\n"
                                   "recipes_use: [copied]\n"
                                   "recipes: {one: {recipes_use: none, steps: [{kernel: a}]}, "
                                   "two: {steps: [{kernel: b}]}}\n"}},
                                 UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const std::string text = to_text(specs->front());
  EXPECT_TEXT(text.substr(text.find("recipes:")), R"(recipes:
  one:
    steps:
      - kernel: a
  two:
    steps:
      - kernel: copy   # copied
      - kernel: b
)");
}

// Two uses pass different kernels, or leave it at the default.
TEST(Fragments, TakeKernels) {
  const auto specs =
      parse_specs({{"tiled.yaml",
                    "fragment: tiled\ntakes: {m: rows, tiles: {help: the kernel, default: plain}}\n"
                    "recipes: {tiled: {applies_when: [m > 4], steps: [{kernel: $tiles}, {kernel: last}]}}\n"},
                   {"a.yaml",
                    "operator: a\nuse: [{tiled: {tiles: wide}}]\nproblem: {m: u32}\n"
                    "operands: {output: {access: write, dtype: f32}}\n"},
                   {"b.yaml",
                    "operator: b\nuse: [tiled]\nproblem: {m: u32}\n"
                    "operands: {output: {access: write, dtype: f32}}\n"}},
                  UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const auto kernels = [](const Spec& spec) {
    std::vector<std::string> names;
    for (const Step& step : spec.recipes.front().steps) names.push_back(step.kernel.value);
    return names;
  };
  EXPECT_THAT(kernels((*specs)[0]), testing::ElementsAre("wide", "last"));
  EXPECT_THAT(kernels((*specs)[1]), testing::ElementsAre("plain", "last"));
}

// Two uses pass different values of a step's parameter, or leave it at the default. A spec that uses another section of
// the fragment needs none.
TEST(Fragments, TakeValuesOfParameters) {
  const auto specs =
      parse_specs({{"tiled.yaml",
                    "fragment: tiled\ntakes: {turn: {help: which way, default: forward}, rows: of a tile}\n"
                    "gives: [height]\ndefine: {height: 4 * m}\nproblem: {m: u32}\n"
                    "recipes: {tiled: {steps: [{kernel: tile, with: {turn: $turn, rows: $rows}}]}}\n"},
                   {"a.yaml",
                    "operator: a\nuse: [{tiled: {turn: back, rows: 4}}]\n"
                    "operands: {output: {access: write, dtype: f32}}\n"},
                   {"b.yaml",
                    "operator: b\nuse: [{tiled: {rows: 8}}]\n"
                    "operands: {output: {access: write, dtype: f32}}\n"},
                   {"c.yaml",
                    "operator: c\nproblem: [tiled]\ndefine: [tiled]\n"
                    "operands: {output: {access: write, dtype: f32}}\n"
                    "recipes: {one: {applies_when: [height > 4], steps: [{kernel: tile}]}}\n"}},
                  UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const auto values = [](const Spec& spec) {
    std::vector<std::string> texts;
    for (const auto& [parameter, value] : spec.recipes.front().steps.front().with)
      texts.push_back(fmt::format("{}={}", parameter.value, to_text(value.value)));
    return texts;
  };
  EXPECT_THAT(values((*specs)[0]), testing::ElementsAre("turn=back", "rows=4"));
  EXPECT_THAT(values((*specs)[1]), testing::ElementsAre("turn=forward", "rows=8"));
  EXPECT_THAT(values((*specs)[2]), testing::IsEmpty());
}

// A fragment has the tolerance, and the spec the reference. Neither may have what the other has.
TEST(Fragments, HaveAPartOfVerify) {
  const auto parsed = [](std::string_view verify) {
    return parse_specs({{"bounded.yaml", "fragment: bounded\nverify: {tolerance: {abs: 2^-9, why: two roundings}}\n"},
                        {"a.yaml", fmt::format("operator: a\nuse: [bounded]\nproblem: {{m: u32}}\n"
                                               "operands: {{output: {{access: write, dtype: f32}}}}\n"
                                               "verify: {{{}}}\nrecipes: {{one: {{steps: [{{kernel: b}}]}}}}\n",
                                               verify)}},
                       UnusedFragments::are_errors);
  };
  const auto specs = parsed("reference: other");
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  EXPECT_EQ(specs->front().verify->reference.value, "other");
  EXPECT_EQ(specs->front().verify->tolerance.abs, 0x1p-9);
  const auto twice = parsed("reference: other, tolerance: {abs: 0, why: exact}");
  ASSERT_FALSE(twice);
  EXPECT_TEXT(to_text(twice.error(), {}),
              "a.yaml:5:28: error: 'tolerance' is given twice\n"
              "bounded.yaml:2:10: note: first given here\n");
}

// A fragment passes the kernel that it takes on to a fragment of its recipe.
TEST(Fragments, PassKernelsOn) {
  const auto parsed = [](std::string_view passed) {
    return parse_specs({{"split.yaml", "fragment: split\ntakes: {tiles: a kernel}\nsteps: [{kernel: $tiles}]\n"},
                        {"layer.yaml", fmt::format("fragment: layer\ntakes: {{vectors: a kernel}}\nrecipes:\n"
                                                   "  whole: {{steps: [{{kernel: $vectors}}]}}\n"
                                                   "  parts: {{use: [{{split: {{tiles: {}}}}}]}}\n",
                                                   passed)},
                        {"a.yaml",
                         "operator: a\nuse: [{layer: {vectors: wide}}]\n"
                         "operands: {output: {access: write, dtype: f32}}\n"}},
                       UnusedFragments::are_errors);
  };
  const auto specs = parsed("$vectors");
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  for (const Recipe& recipe : specs->front().recipes) EXPECT_EQ(recipe.steps.front().kernel.value, "wide");
  const auto unknown = parsed("$tiles");
  ASSERT_FALSE(unknown);
  EXPECT_TEXT(to_text(unknown.error(), {}),
              "layer.yaml:5:33: error: '$tiles' is no name that this file takes\n"
              "  hint: '$' is for the recipes of fragments; elsewhere, write the kernel's name\n"
              "a.yaml:2:8: note: used by 'a' here\n");
}

// A step before an indirect one counts its workgroups.
TEST(Recipes, CountTheWorkgroupsOfIndirectSteps) {
  const auto errors = [](std::string_view counter, std::string_view grid, std::string_view recipe) {
    const auto specs = parse_specs(
        {{"count.yaml", fmt::format("kernel: count\ntemplate: count.comp\noperands: {{counted: {{access: write, dtype: "
                                    "u32}}}}\nproblem: {{{}}}\ngrid: [1, 1, 1]\n",
                                    counter)},
         {"rows.yaml", fmt::format("kernel: rows\ntemplate: rows.comp\noperands: {{output: {{access: write, dtype: "
                                   "f32}}}}\ngrid: {}\n",
                                   grid)},
         {"op.yaml",
          fmt::format("operator: op\noperands: {{output: {{access: write, dtype: f32}}}}\nrecipes: {{one: {{{}}}}}\n",
                      recipe)}},
        UnusedFragments::are_errors);
    return to_text(specs ? check_specs(*specs) : specs.error(), {});
  };
  const std::string_view most = "most_workgroups: u32", line = "[4, 1, 1]";
  const std::string_view sound =
      "scratch: {counted: {dtype: u32, elements: 3}}, steps: [{kernel: count}, {kernel: rows, indirect: counted}]";
  EXPECT_EQ(errors(most, line, sound), "");
  EXPECT_TEXT(errors("most: {type: u32, default: 0}", line, sound),
              "op.yaml:3:114: error: 'count' "
              "counts workgroups, and has "
              "no 'most_workgroups'\n"
              "  expected: 'most_workgroups: "
              "u32' in its problem, which "
              "gets the number of workgroups "
              "of 'rows'\n");
  EXPECT_TEXT(errors(most, "[4, 2, 1]", sound),
              "op.yaml:3:114: error: the grid of 'rows' has more "
              "than one dimension\n"
              "  expected: a kernel with a grid of one dimension: "
              "'[<expression>, 1, 1]'\n");
  const std::string_view late =
      "scratch: {counted: {dtype: u32, elements: 3}}, steps: [{kernel: rows, indirect: counted}, {kernel: count}]";
  EXPECT_TEXT(errors(most, line, late),
              "op.yaml:3:97: error: no step before 'rows' writes 'counted'\n"
              "  expected: a step that counts the workgroups\n");
  const std::string_view twice =
      "scratch: {counted: {dtype: u32, elements: 3}}, "
      "steps: [{kernel: count}, {kernel: rows, indirect: counted}, {kernel: rows, indirect: counted}]";
  EXPECT_TEXT(errors(most, line, twice),
              "op.yaml:3:149: error: 'count' already counts the workgroups of an earlier step, 'rows'\n"
              "  expected: a counter for each indirect step\n");
  EXPECT_TEXT(errors(most, line, "steps: [{kernel: rows, indirect: output}]"),
              "op.yaml:3:50: error: "
              "'output' is no scratch "
              "of u32\n"
              "  expected: scratch "
              "of dtype u32 with "
              "3 elements: x, y "
              "and z\n");
  const std::string_view direct =
      "scratch: {counted: {dtype: u32, elements: 3}}, steps: [{kernel: count}, {kernel: rows}]";
  EXPECT_TEXT(errors(most, line, direct),
              "op.yaml:3:81: error: this step passes 'count' no 'most_workgroups'\n"
              "  expected: 'most_workgroups: <expression>' under 'problem', "
              "or a problem field or definition of this name\n"
              "count.yaml:4:11: note: 'most_workgroups' is declared "
              "here\n");
}

// A step may take memory for another layout, as its recipe says or it says itself.
TEST(Recipes, SeeOperandsInAnotherLayout) {
  const std::string families =
      "kernel: rows\ntemplate: rows.comp\noperands:\n"
      "  input:  {access: read, dtype: i8, layout: $form}\n  output: {access: write, dtype: i8, layout: packed_4w}\n"
      "parameters: {form: [strided, packed_4w]}\ngrid: [1, 1, 1]\n";
  const auto with = [&](std::string_view said) {
    return parse_specs({{"rows.yaml", families},
                        {"op.yaml", fmt::format("operator: op\noperands:\n"
                                                "  input: {{access: read, dtype: i8, layout: packed_4c}}\n"
                                                "  output: {{access: write, dtype: i8, layout: packed_4c}}\n"
                                                "recipes: {{one: {{{}}}}}\n",
                                                said)}},
                       UnusedFragments::are_errors);
  };
  const auto errors = [&](std::string_view said) {
    const auto specs = with(said);
    if (!specs) return to_text(specs.error(), {});
    const Diagnostics found = check_specs(*specs);
    return to_text(found, {});
  };
  EXPECT_EQ(errors("seen_as: {input: packed_4w, output: packed_4w}, steps: [{kernel: rows}]"), "");
  EXPECT_EQ(errors("steps: [{kernel: rows, seen_as: {input: strided, output: packed_4w}}]"), "");
  EXPECT_TEXT(errors("seen_as: {input: packed_4h4w}, steps: [{kernel: rows}]"),
              "op.yaml:5:34: error: 'input' of 'rows' is never packed_4h4w\n"
              "  expected: one of packed_4w, strided\n"
              "  hint: did you mean 'packed_4w'?\n"
              "rows.yaml:4:3: note: 'input' is declared here\n");
  EXPECT_TEXT(errors("seen_as: {inputs: packed_4w}, steps: [{kernel: rows}]"),
              "op.yaml:5:27: error: "
              "no step of 'one' "
              "has a 'inputs'\n");
  EXPECT_TEXT(errors("steps: [{kernel: rows, seen_as: {inptu: strided}}]"),
              "op.yaml:5:50: error: "
              "'rows' has no operand "
              "'inptu'\n"
              "  expected: one of "
              "input, output\n"
              "  hint: did you mean "
              "'input'?\n"
              "rows.yaml:1:9: note: "
              "'rows' is declared "
              "here\n");
}

// A step that says nothing of a field passes its default.
TEST(Recipes, PassDefaults) {
  const auto errors = [](std::string_view given) {
    const auto specs = parse_specs(
        {{"add.yaml",
          fmt::format("kernel: add\ntemplate: add.comp\noperands: {{out: {{access: write, dtype: f32}}}}\n"
                      "problem: {{offset: {}, mode: {{words: [near, down], default: down}}}}\ngrid: [1, 1, 1]\n",
                      given)},
         {"op.yaml",
          "operator: op\noperands: {out: {access: write, dtype: f32}}\nrecipes: {one: {steps: [{kernel: add}]}}\n"}},
        UnusedFragments::are_errors);
    if (!specs) return to_text(specs.error(), {});
    EXPECT_THAT(to_text(specs->front()), testing::HasSubstr("  mode: {words: [near, down], default: down}\n"));
    return to_text(check_specs(*specs), {});
  };
  EXPECT_EQ(errors("{type: f32, default: 1.5}"), "");
  EXPECT_TEXT(errors("f32"),
              "op.yaml:3:34: error: this step passes 'add' no 'offset'\n"
              "  expected: 'offset: <expression>' under 'problem', or a problem field "
              "or definition of this name\n"
              "add.yaml:4:11: note: 'offset' is declared here\n");
  EXPECT_TEXT(errors("{type: u32, default: 1.5}"),
              "op.yaml:3:34: error: 'offset' is given a real\n"
              "  expected: a value for u32\n");
  EXPECT_TEXT(errors("{default: 1.5}"),
              "add.yaml:4:11: error: 'offset' has neither 'words' nor "
              "'type'\n"
              "  expected: 'words' or 'type'\n");
}

// The list stands once, and who takes it has a type of its name.
TEST(Fragments, ListWords) {
  const auto specs = parse_specs({{"names.yaml", "fragment: names\nlists: {rounding: [near, down]}\n"},
                                  {"op.yaml",
                                   "operator: op\ntemplate: op.comp\n"
                                   "operands: {out: {access: write, dtype: f32, shape: [N]}}\n"
                                   "attributes: {mode: {words: names.rounding, default: near}}\n"
                                   "problem: {mode: {words: names.rounding}, rounding: {words: names.rounding}}\n"
                                   "applies_when: [mode == rounding or mode == down]\ngrid: [1, 1, 1]\n"}},
                                 UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const std::string text = to_text(specs->front());
  EXPECT_THAT(text, testing::HasSubstr("attributes:\n"
                                       "  mode: {words: [near, down], enum: rounding, default: near}\n"
                                       "problem:\n"
                                       "  mode: {words: [near, down], enum: rounding}\n"
                                       "  rounding: {words: [near, down]}\n"));
  EXPECT_EQ(to_text(specs->front().problem[1].words[1].where), "names.yaml:2:26");
}

constexpr std::string_view kWide =
    "fragment: wide\nrequire:\n  - widht == 4\ntakes: {width: elements of a load}\ndefine: {twice: 2 * width}\n";

// A constant's location names the file with its number: one for all specs that read it.
TEST(Fragments, HoldConstantsOfCosts) {
  constexpr std::string_view kHead =
      "template: op.comp\noperands: {out: {access: write, dtype: f32}}\ngrid: [1, 1, 1]\n";
  const auto specs = parse_specs(
      Files{{"lib/waits.yaml", "fragment: waits\ngives: [step_us]\nfit: {step_us: 0.5}\n"},
            {"op.yaml", fmt::format("operator: op\n{}fit: [waits, {{tile_us: 2}}]\ncost: step_us + tile_us\n", kHead)}},
      UnusedFragments::are_errors);
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  const std::vector<FitConstant>& fit = specs->front().fit;
  ASSERT_EQ(fit.size(), 2U);
  EXPECT_EQ(fit[0].name.value + " " + to_text(fit[0].name.where), "step_us lib/waits.yaml:3:7");
  EXPECT_EQ(fit[0].value, 0.5);
  EXPECT_EQ(fit[0].label, "waits.step_us");
  EXPECT_EQ(fit[1].name.value + " " + to_text(fit[1].name.where), "tile_us op.yaml:5:15");
}

// ---- costs in files of their own

constexpr std::string_view kTiles = R"(operator: tiles
template: op.comp
use: [steps]
operands: {out: {access: write, dtype: f32}}
problem: {rows: u32}
define: {tiles: ceil_div(rows, 16)}
grid: [tiles, 1, 1]
)";
constexpr std::string_view kSteps = "fragment: steps\ntakes: {rows: of the output}\ngives: [steps_us]\n";
constexpr std::string_view kCostOfTiles = R"(cost_of: tiles
measured: on one device
fit: {tile_us: {value: 0.5, unit: us, help: "of a tile"}}
define: {tiles_us: tiles * tile_us}
cost: tiles_us + steps_us
)";
constexpr std::string_view kCostOfSteps = "cost_of: steps\nfit: {step_us: 0.25}\ndefine: {steps_us: rows * step_us}\n";

TEST(CostFiles, StandAtTheEndOfTheirSpecsAndFragments) {
  const auto specs = parse_specs(Files{{"tiles.cost.yaml", kCostOfTiles},
                                       {"tiles.yaml", kTiles},
                                       {"lib/steps.cost.yaml", kCostOfSteps},
                                       {"lib/steps.yaml", kSteps}});
  ASSERT_TRUE(specs) << to_text(specs.error(), {});
  ASSERT_EQ(specs->size(), 1U);
  const Spec& spec = specs->front();
  EXPECT_EQ(expression::to_text(*spec.cost), "ceil_div(rows, 16) * tile_us + rows * step_us");
  ASSERT_EQ(spec.fit.size(), 2U);
  for (const FitConstant& constant : spec.fit) {
    const bool is_of_tiles = constant.label == "tiles.tile_us";
    EXPECT_TRUE(is_of_tiles || constant.label == "steps.step_us") << constant.label;
    EXPECT_EQ(constant.value, is_of_tiles ? 0.5 : 0.25);
    EXPECT_EQ(constant.unit, is_of_tiles ? "us" : "");
    EXPECT_EQ(constant.help, is_of_tiles ? "of a tile" : "");
  }
  EXPECT_THAT(to_text(spec), testing::HasSubstr("  tile_us: {value: 0.5, unit: \"us\", help: \"of a tile\"}"));
}

TEST(CostFiles, SayWhatIsWrong) {
  const auto errors = [](std::string_view file, std::string_view cost) {
    return errors_of(
        {{std::string(file), cost}, {"tiles.yaml", kTiles}, {"steps.yaml", kSteps}, {"steps.cost.yaml", kCostOfSteps}});
  };
  EXPECT_THAT(errors("other.cost.yaml", "cost_of: other\ncost: 1\n"),
              testing::StartsWith("other.cost.yaml:1:10: error: no spec or fragment of this run is named 'other'"));
  EXPECT_THAT(errors("wrong.cost.yaml", "cost_of: tiles\ncost: 1\n"),
              testing::StartsWith("wrong.cost.yaml:1:10: error: the cost of 'tiles' is in a file named 'wrong'\n"
                                  "  expected: 'tiles.cost.yaml'"));
  EXPECT_THAT(errors("tiles.cost.yaml", "cost_of: tiles\ngrid: [1, 1, 1]\n"),
              testing::StartsWith("tiles.cost.yaml:2:1: error: unknown key 'grid' in the cost"));
  EXPECT_TEXT(errors("tiles.cost.yaml", "cost_of: tiles\ndefine: {tiles: 3}\ncost: tiles\n"),
              "tiles.cost.yaml:2:10: error: 'tiles' is given twice\n"
              "tiles.yaml:6:10: note: first given here\n");
  EXPECT_TEXT(errors("tiles.cost.yaml", "cost_of: tiles\nfit: {tile_us: {value: 1}}\ncost: tile_us\n"),
              "tiles.cost.yaml:2:7: error: 'tile_us' has no 'help'\n"
              "  expected: its meaning, in one line\n"
              "tiles.cost.yaml:2:7: error: 'tile_us' has no 'unit'\n"
              "  expected: us, bytes, operations; factor: none\n");
}

// A cost of rounds, whose number the user gives.
constexpr std::string_view kWalk = R"(fragment: walk
takes:
  rounds: of workgroups on each compute unit
  items:  {help: of an invocation, default: 2 * half}
gives: [walk_us]
fit: {round_us: 0.5}
define:
  half:    4
  walk_us: rounds * round_us * items
)";

Spec parse_with_walk(std::string_view rest) {
  const auto specs = parse_specs(Files{
      {"lib/walk.yaml", kWalk},
      {"op.yaml", fmt::format("operator: op\ntemplate: op.comp\noperands: {{out: {{access: write, dtype: f32}}}}\n"
                              "problem: {{rows: u32}}\ngrid: [rows, 1, 1]\n{}",
                              rest)}});
  if (!specs) ADD_FAILURE() << to_text(specs.error(), {});
  return specs ? specs->front() : Spec();
}

// A fragment's expressions contain its arguments and defaults. The spec knows them by no name.
TEST(Fragments, TakeWhatTheyAreHanded) {
  const Spec spec = parse_with_walk("use: [{walk: {rounds: waves(2 * rows)}}]\ncost: walk_us\n");
  EXPECT_EQ(expression::to_text(*spec.cost), "ceil_div(2 * rows, device.compute_units) * round_us * (2 * 4)");
  EXPECT_TRUE(spec.hidden.contains("rounds") && spec.hidden.contains("items") && spec.hidden.contains("half"));
  EXPECT_FALSE(spec.hidden.contains("walk_us"));
  EXPECT_THAT(to_text(spec),
              testing::HasSubstr("\ncost: ceil_div(2 * rows, device.compute_units) * round_us * (2 * 4)\n"));
  EXPECT_THAT(to_text(spec), testing::HasSubstr("fit:\n  round_us: 0.5   # walk\n")) << "the line's origin";
}

// An argument of the same name needs no entry, and another name is a renaming; records are passed as a whole.
TEST(Fragments, TakeWhatTheSpecHas) {
  EXPECT_EQ(expression::to_text(
                *parse_with_walk("use: [walk]\ndefine: {rounds: waves(rows), items: 3}\ncost: walk_us\n").cost),
            "ceil_div(rows, device.compute_units) * round_us * 3");
  EXPECT_EQ(expression::to_text(*parse_with_walk("use: [{walk: {rounds: rows, items: tile.rows}}]\n"
                                                 "specialization: {tile: [{rows: 1, columns: 2}]}\ncost: walk_us\n")
                                     .cost),
            "rows * round_us * tile.rows");
}

// A private name of a fragment may also be a name of the spec.
TEST(Fragments, KeepNamesToThemselves) {
  const Spec spec = parse_with_walk(
      "use: [{walk: {rounds: rows}}]\nfit: {round_us: 3}\ndefine: {half: 7, rounds: half}\ncost: walk_us + half * "
      "round_us + rounds\n");
  EXPECT_EQ(expression::to_text(*spec.cost), "rows * walk_round_us * (2 * 4) + 7 * round_us + 7");
  ASSERT_EQ(spec.fit.size(), 2U);
  EXPECT_EQ(spec.fit[0].label + " " + spec.fit[1].label, "walk.round_us op.round_us");
}

TEST(Fragments, HaveAnInterface) {
  const auto errors = [](std::string_view from, std::string_view to) {
    std::string walk(kWalk);
    walk.replace(walk.find(from), from.size(), to);
    return errors_of(
        Files{{"lib/walk.yaml", walk},
              {"op.yaml",
               "operator: op\ntemplate: op.comp\noperands: {out: {access: write, dtype: f32}}\n"
               "problem: {rows: u32}\nuse: [walk]\ngrid: [rows, 1, 1]\ncost: walk_us\ndefine: {rounds: rows}\n"}});
  };
  EXPECT_EQ(errors("gives: [walk_us]", "gives: [walk_us]"), "");
  EXPECT_TEXT(errors("gives: [walk_us]", "gives: [walk_us, rounds]"),
              "lib/walk.yaml:5:18: error: 'walk' gives 'rounds', and does not define it\n"
              "  expected: a name of 'define' or 'fit'\n"
              "  hint: all others are the spec's without it\n");
  EXPECT_TEXT(errors("rounds * round_us * items", "round_us * items"),
              "lib/walk.yaml:3:3: error: 'walk' takes 'rounds', and never reads it\n");
  EXPECT_TEXT(errors("half:    4", "rounds: 4"),
              "lib/walk.yaml:3:3: error: 'walk' takes 'rounds', and declares it too\n"
              "lib/walk.yaml:4:49: error: unknown name 'half'\n"
              "  expected: one of round_us, rounds\n"
              "op.yaml:5:7: note: used by 'op' here\n");
  EXPECT_TEXT(errors("rounds * round_us * items", "rounds * round_us * items * rows"),
              "lib/walk.yaml:9:40: error: fragment 'walk' does not take 'rows'\n"
              "  hint: write 'rows: <what it is>' under 'takes'\n"
              "op.yaml:5:7: note: used by 'op' here\n");
}

TEST(Fragments, AreBlamedOnceForAllThatUseThem) {
  const auto user = [](const std::string& name) {
    return "kernel: " + name + "\ntemplate: op.comp\nuse: [wide]\noperands: {out: {access: write, dtype: f32}}\n" +
           "parameters: {width: [1, 4]}\ngrid: [1, 1, 1]\n";
  };
  const std::string a = user("a"), b = user("b"), c = user("c");
  EXPECT_TEXT(errors_of(Files{{"a.yaml", a}, {"b.yaml", b}, {"c.yaml", c}, {"wide.yaml", kWide}}),
              "wide.yaml:3:5: error: unknown name 'widht'\n"
              "  expected: one of twice, width\n"
              "  hint: did you mean 'width'?\n"
              "a.yaml:3:7: note: used by 'a' here\n"
              "  and by 2 more\n");
}

TEST(Fragments, AreUsed) {
  Files files = kUsed;
  files.push_back({"wide.yaml", "fragment: wide\nrequire: [vec == 4]\n"});
  EXPECT_EQ(errors_of(files), "");
  EXPECT_TEXT(errors_of(files, UnusedFragments::are_errors),
              "wide.yaml:1:11: error: no spec uses fragment 'wide'\n  hint: name it, or delete it\n");
  files.back() = {"sizes.yaml", "fragment: sizes\ngrid: [1, 1, 1]\n"};
  EXPECT_TEXT(errors_of(files),
              "sizes.yaml:1:11: error: 'sizes' is the name of two fragments\n"
              "lib/sizes.yaml:1:11: note: the other is here\n");
  Files partly = kUsed;
  const std::string sizes = std::string(kSizes) + "require: [vec == 4]\n";
  partly[0].text = sizes;
  EXPECT_TEXT(errors_of(partly, UnusedFragments::are_errors),
              "lib/sizes.yaml:3:1: error: no spec uses 'require' of fragment 'sizes'\n");
}

TEST(Fragments, BearTheNamesOfTheirFiles) {
  EXPECT_TEXT(errors_of(Files{{"size.yaml", kSizes}}),
              "size.yaml:1:11: error: the file of 'sizes' is named 'size'\n"
              "  expected: 'sizes.yaml'\n"
              "  hint: a file contains one spec or fragment, and has its name\n");
  EXPECT_TEXT(errors_of(kSizes, "sizes.yaml"),
              "sizes.yaml:1:1: error: the file is a fragment, not "
              "a spec\n");
}

// A fault in a fragment's shape is reported once, and not again for the specs that then lack it.
TEST(Fragments, HaveAShape) {
  Files files = kUsed;
  files[0].text = "fragment: sizes\nuse: [forms]\nproblem: [forms]\n";
  EXPECT_TEXT(errors_of(files),
              "lib/sizes.yaml:2:1: error: unknown key 'use' in the fragment\n"
              "  expected: one of applies_when, attributes, bind, constants, cost, define, fit, fragment, "
              "gives, grid, last_steps, lists, operands, parameters, problem, rarely_best, recipes, require, "
              "require_device, scratch, seen_as, specialization, steps, subgroup_size, takes, verify\n"
              "lib/sizes.yaml:3:10: error: 'problem' of a fragment or cost is a list\n"
              "  expected: a map, such as problem: {name: ...}\n"
              "  hint: a fragment cannot use others: list them all in the spec\n");
}

// Otherwise a file of a megabyte could describe a tree of terabytes.
TEST(Fragments, GrowToALimit) {
  std::string steps = "fragment: many\nsteps:\n";
  for (int i = 0; i < 5000; ++i) steps += "  - {kernel: op}\n";
  std::string user = "operator: op\noperands: {out: {access: write, dtype: f32}}\nrecipes:\n";
  for (int i = 0; i < 5000; ++i) user += fmt::format("  r{}: {{use: [many]}}\n", i);
  EXPECT_TEXT(errors_of(Files{{"op.yaml", user}, {"many.yaml", steps}}),
              "many.yaml:5002:5: error: with this the spec and its fragments have more than 20000 parts\n"
              "op.yaml:4:14: note: used by 'op' here\n");
}

TEST(Specs, BearDifferentNames) {
  const Spec first = parse_good(kCanonical, "a/op.yaml");
  const Spec second = parse_good(kCanonical, "b/op.yaml");
  EXPECT_TEXT(to_text(check_specs({first, second}), {}),
              "b/op.yaml:1:11: error: 'op' is the name of two specs\na/op.yaml:1:11: note: the other is here\n");
}

// The file that the first line of each spec names.
TEST(JsonSchema, IsTheFileInSpecs) {
  std::ifstream file(tests::source_folder() + "/specs/spec.schema.json");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(json_schema(), text.str()) << "qgen --schema > specs/spec.schema.json";
}

}  // namespace
}  // namespace qgen::spec
