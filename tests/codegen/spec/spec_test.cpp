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
    {", shape: [N, K], weight: true", ", weight: true", "'weight' has no 'shape', and other operands have one"},
    {"layout: weight_q8_rows, ", "", "weight 'weight' has no layout of a weight"},
    {"shape: [N, K], weight", "shape: [..., K], weight", "weight 'weight' is neither a matrix nor a window"},
    {"row_sums_of: weight", "row_sums_of: input", "'input' is not a weight"},
    {"row_sums_of: weight", "row_sums_of: wieght", "'wieght' is not an operand"},
    {"in_place: [input]", "in_place: [inptu]", "hint: did you mean 'input'?"},
    {"in_place: [input]", "in_place: [output]", "expected: an output in place of an input"},
    {"in_place: [input]", "in_place: [weight]", "expected: two operands that may have the same dtype"},
    {"shape: [N, K], weight: true", "shape: [N, K], weight: true, in_place: [input]",
     "'weight' cannot be written in place of 'input'"},
    {"template: \"op.comp\"\n", "",
     "'output' cannot be written in place of 'input'\n  expected: a spec without recipes"},
    {"like: input", "like: output", "'output' is like 'output'"},
    {"like: input", "like: inptu", "hint: did you mean 'input'?"},
    {"[..., 3, K]", "[3, ..., K]", "'...' stands before all other sides"},
    {"[..., 3, K]", "[a, b, c, d, e, f, g, h, i]", "'shape' has 9 sides"},
    {"[..., 3, K]", "[2x, K]", "'2x' is not a name"},
    {"[..., 3, K]", "K", "'shape' is a single value"},
    {"[2^-125, 0.5]", "[2^-125]", "'range' has 1 bounds"},
    {"[2^-125, 0.5]", "[0.5, 2^-125]", "0.5 is above 2^-125"},
    {"[2^-125, 0.5]", "[2^x, 1]", "'2^x' is not a bound"},
    {"[2^-125, 0.5]", "sometimes", "'sometimes' is not a range"},
    {"type: real, range", "type: boolean, range", "attribute 'scale' is true or false, and has a 'range'"},
    {"range: i8, default: -3", "range: [0, 0.5]", "'count' is an integer from 0 to 0.5"},
    {"default: -3", "default: -300", "the default of 'count' is '-300'"},
    {"default: -3", "default: 2^2", "the default of 'count' is '2^2'"},
    {"default: -3", "default: 0.5", "expected: an integer, or a text in parentheses"},
    {"default: true", "default: yes", "the default of 'exact' is 'yes'"},
    {"default: up", "default: pu", "hint: did you mean 'up'?"},
    {"default: f16", "default: i8", "expected: one of f16, f32, or a text in parentheses"},
    {"default: \"(all, that is)\"", "default: 4", "a list has no default that fits all shapes"},
    {"type: dtype, of: output", "type: dtype", "attribute 'to' is a dtype, and does not say which"},
    {"type: dtype, of: output", "type: layout, of: output", "'output' is always in the layout that its storage says"},
    {"type: real", "of: input, type: real", "'of' says whose dtype or layout an attribute is"},
    {"words: [none, relu]", "help: none", "attribute 'activation' is a word, and does not say which"},
    {"words: [none, relu]", "words: [none, none]", "'activation' has the word none twice"},
    {"words: [none, relu]", "words: [none, relu], type: integer",
     "attribute 'activation' is an integer, and has words"},
    {"words: [i8, u8]", "words: [i8, u9]", "'u9' is not a dtype"},
    {"dtype: [f32], help", "dtype: [i8], help", "no kernel accepts i8 for 'input'"},
    {"input: {dtype: [f32]", "inptu: {dtype: [f32]", "'inptu' is not an operand"},
    {"help: \"\"}", "optional: true}", "'input' is not optional to the kernels"},
    {"with: [scale", "with: [scal", "hint: did you mean 'scale'?"},
    {"without: [block", "without: [blok", "hint: did you mean 'block'?"},
    {"operator: op", "kernel: op", "attribute 'scale' is for callers, and a kernel has none"},
};

TEST(Spec, RefusesWhatCallersCannotBeTold) {
  for (const Mistake& row : kMistakes) {
    std::string yaml(kSignature);
    const size_t place = yaml.find(row.instead_of);
    ASSERT_NE(place, std::string::npos) << row.instead_of;
    EXPECT_THAT(errors_of(yaml.replace(place, row.instead_of.size(), row.is)), testing::HasSubstr(row.message));
  }
}

TEST(Spec, NeedsShapesForWhatCallersSay) {
  std::string yaml(kFull);
  yaml += "attributes: {a: {type: real}}\n";
  EXPECT_THAT(errors_of(yaml), testing::HasSubstr("attribute 'a' is for callers, and no operand has a 'shape'"));
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
  EXPECT_EQ(to_text(spec.grid[1]->where()), "specs/op.yaml:33:42");
  EXPECT_EQ(to_text(spec.cost->where()), "specs/op.yaml:34") << "a block has no columns";
  EXPECT_EQ(to_text(spec.recipes[0].steps[0].problem[1].first.where), "specs/op.yaml:48:41");
}

TEST(Spec, ReportsAllErrorsOfAFile) {
  EXPECT_TEXT(errors_of("operator: op\nopernads: {}\ntemplate: [a]\nproblem: {a: u64, b: u8}\n"),
              "op.yaml:2:1: error: unknown key 'opernads' in the spec\n"
              "  expected: one of applies_when, attributes, constants, cost, define, fit, grid, kernel, "
              "operands, operator, operators, parameters, problem, rarely_best, recipes, recipes_use, require, "
              "require_device, specialization, subgroup_size, summary, template, use, verify\n"
              "  hint: did you mean 'operands'?\n"
              "op.yaml:3:11: error: 'template' is a list\n"
              "  expected: a single value, such as 'some text'\n"
              "op.yaml:4:14: error: 'u64' is not a type of problem fields\n"
              "  expected: u32, i32 or f32, or an array of up to 256 of them: u32[8]; or {words: [a, b]}\n"
              "op.yaml:4:22: error: 'u8' is not a type of problem fields\n"
              "  expected: u32, i32 or f32, or an array of up to 256 of them: u32[8]; or {words: [a, b]}\n");
}

struct Snippet {
  std::string_view yaml;
  std::string_view message;
};

// Cases without a file in bad_specs.
constexpr Snippet kRefused[] = {
    {"", "op.yaml:1:1: error: the file is empty"},
    {"# nothing\n", "op.yaml:1:1: error: the file is empty"},
    {"~", "op.yaml:1:1: error: the file is empty"},
    {"op", "op.yaml:1:1: error: a spec is a map of keys"},
    {"{[a]: b}", "op.yaml:1:2: error: a key must be a name"},
    {"operator:\n", "'operator' is empty"},
    {"operator: {a: b}\n", "'operator' is a map"},
    {"operator: op\noperands: {}\n", "the spec has no operands"},
    {"a: {b: c(d, e)f: g}\n", "error: unexpected ':' inside parentheses"},
    {"a: {b: 'c(d', e: f}\n", "unknown key 'a' in the spec"},
    {"a: 'b\n", "op.yaml:1:4: error: this quote is never closed"},
    {"a: 'it''s\n", "op.yaml:1:4: error: this quote is never closed"},
    {"a: \"it\\\"s\n", "op.yaml:1:4: error: this quote is never closed"},
    {"operator: op\noperands: {out: {access: write, dtype: f32}}\nparameters: {a: [\"null\"]}\ntemplate: a\ngrid: [1, "
     "1, 1]\n",
     "'null' already has a meaning in qgen"},
    {"a: \"\\q\"\n", "unknown escape character: q"},
    {"a: *b\n", "op.yaml:1:4: error:"},
    {"a: \xc0\xaf\n", "op.yaml:1:4: error: the file contains the byte \\xc0, which is not UTF-8"},
    {"a: \xed\xa0\x80\n", "op.yaml:1:4: error: the file contains the byte \\xed, which is not UTF-8"},
    {"a: \xf4\x90\x80\x80\n", "op.yaml:1:4: error: the file contains the byte \\xf4, which is not UTF-8"},
    {"%YAML 3.0\n---\na: b\n", "YAML major version too large"},
};

TEST(Spec, RefusesWhatIsNoSpec) {
  for (const Snippet& row : kRefused) {
    SCOPED_TRACE(row.yaml);
    EXPECT_THAT(errors_of(row.yaml), testing::HasSubstr(row.message));
  }
  EXPECT_THAT(errors_of("a: " + std::string(1 << 20, 'b')), testing::HasSubstr("the file has 1048579 bytes"));
  EXPECT_THAT(errors_of(std::string(100'000, '[')), testing::HasSubstr("nested deeper than 32"));
  EXPECT_THAT(errors_of("a: [" + std::string(300'000, '(') + "b, c, d]\n"), testing::HasSubstr("unknown key 'a'"));
}

// Names that a compiler refused in an operator's printed code.
TEST(Spec, RefusesOperatorsThatCannotBeNamespacesAndHeaders) {
  const auto told = [](const std::string& name) {
    const auto parsed = parse_spec("operator: " + name + "\n", name + ".yaml");
    return parsed ? "" : to_text(parsed.error(), {});
  };
  EXPECT_THAT(told("registry"), testing::HasSubstr("registry.yaml:1:11: error: 'registry.h' is a header that qgen"));
  EXPECT_THAT(told("errno"), testing::HasSubstr("errno.yaml:1:11: error: the header of 'errno' would be errno.h"));
  for (const char* name : {"library", "std", "table", "min", "size_t", "qgen"}) {
    EXPECT_THAT(told(name), testing::HasSubstr("' already has a meaning in generated code\n  hint: take another name"))
        << name;
  }
  EXPECT_THAT(told("Problem"), testing::HasSubstr("'Problem' begins with a capital"));
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
  EXPECT_THAT(errors("seen_as: {input: packed_4h4w}, steps: [{kernel: rows}]"),
              testing::HasSubstr("'input' of 'rows' is never packed_4h4w\n  expected: one of packed_4w, strided"));
  EXPECT_THAT(errors("seen_as: {inputs: packed_4w}, steps: [{kernel: rows}]"),
              testing::HasSubstr("no step of 'one' has a 'inputs'"));
  EXPECT_THAT(errors("steps: [{kernel: rows, seen_as: {inptu: strided}}]"),
              testing::HasSubstr("'rows' has no operand 'inptu'"));
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
  EXPECT_THAT(errors("f32"), testing::HasSubstr("this step passes 'add' no 'offset'"));
  EXPECT_THAT(errors("{type: u32, default: 1.5}"), testing::HasSubstr("'offset' is given a real"));
  EXPECT_THAT(errors("{default: 1.5}"), testing::HasSubstr("'offset' has neither 'words' nor 'type'"));
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
  EXPECT_THAT(errors("tiles.cost.yaml", "cost_of: tiles\ndefine: {tiles: 3}\ncost: tiles\n"),
              testing::HasSubstr("tiles.cost.yaml:2:10: error: 'tiles' is given twice"));
  EXPECT_THAT(errors("tiles.cost.yaml", "cost_of: tiles\nfit: {tile_us: {value: 1}}\ncost: tile_us\n"),
              testing::HasSubstr("'tile_us' has no 'unit'"));
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
  EXPECT_THAT(errors("gives: [walk_us]", "gives: [walk_us, rounds]"),
              testing::HasSubstr("lib/walk.yaml:5:18: error: 'walk' gives 'rounds', and does not define it"));
  EXPECT_THAT(errors("rounds * round_us * items", "round_us * items"),
              testing::HasSubstr("lib/walk.yaml:3:3: error: 'walk' takes 'rounds', and never reads it"));
  EXPECT_THAT(errors("half:    4", "rounds: 4"),
              testing::HasSubstr("lib/walk.yaml:3:3: error: 'walk' takes 'rounds', and declares it too"));
  EXPECT_THAT(errors("rounds * round_us * items", "rounds * round_us * items * rows"),
              testing::HasSubstr("lib/walk.yaml:9:40: error: fragment 'walk' does not take 'rows'\n"
                                 "  hint: write 'rows: <what it is>' under 'takes'\n"
                                 "op.yaml:5:7: note: used by 'op' here"));
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
  EXPECT_THAT(errors_of(files), testing::HasSubstr("'sizes' is the name of two fragments\n"));
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
  EXPECT_TEXT(
      errors_of(files),
      "lib/sizes.yaml:2:1: error: unknown key 'use' in the fragment\n"
      "  expected: one of applies_when, attributes, bind, constants, cost, define, fit, fragment, gives, grid, lists, "
      "operands, parameters, problem, rarely_best, recipes, require, require_device, scratch, seen_as, specialization, "
      "steps, subgroup_size, takes, verify\n"
      "lib/sizes.yaml:3:10: error: 'problem' of a fragment or cost is a list\n"
      "  expected: a map, such as problem: {name: ...}\n"
      "  hint: a fragment names no others: what a spec is made of, the spec says\n");
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

TEST(JsonSchema, IsAsInTheGolden) {
  std::ifstream file(tests::source_folder() + "/tests/codegen/spec/schema.json");
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(json_schema(), golden.str());
}

}  // namespace
}  // namespace qgen::spec
