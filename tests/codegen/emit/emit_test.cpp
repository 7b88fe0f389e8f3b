// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The whole text of every generated file, for three specs that use everything: an operator with kernels, a kernel
// family that only recipes use, and an operator that consists of a recipe and shares a fragment with this family. The expected files are golden/cpp. They are
// compiled into this test, so they are known to compile, and their functions' results are checked below.
//
// After a change that is meant: QGEN_UPDATE_EXPECTED=1 test_emit, then read the diff.
#include "codegen/emit/emit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/tuning.h"
#include "codegen/spec/parse_spec.h"
#include "common/files.h"
#include "runtime/engine/library/blob_format.h"
#include "runtime/engine/library/kernel_library.h"
#include "runtime/engine/library/signature_info.h"
#include "runtime/engine/library/tuning_info.h"
#include "tests/codegen/emit/golden/cpp/operators.h"
#include "tests/codegen/emit/golden/cpp/registry.h"
#include "tests/codegen/emit/golden/cpp/row_sum.h"
#include "tests/codegen/emit/golden/cpp/row_sum_partial.h"
#include "tests/codegen/emit/golden/cpp/scale.h"
#include "tests/support/expected_text.h"
#include "tests/support/source_folder.h"
#include "vocabulary/features.h"

namespace qgen::emit {
namespace {

using expression::Word;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kScale = R"yaml(
operator: scale
summary: multiplies by "alpha"
template: elementwise/scale.comp
operands:
  input:  {access: read, dtype: $dtype, storage: $storage}
  bias:   {access: read, dtype: f32, optional: true}
  output: {access: write, dtype: $dtype, storage: $storage, layout: strided, in_place: [input]}
problem:
  numel: u32
  alpha: f32
  sizes: i32[4]
  rounding: {words: [nearest, down]}
parameters:
  dtype: [f32, f16]
  storage: [buffer]
  mode: [exact, fast]
  vec: [1, 4]
  fused: [false, true]
specialization:
  workgroup: [64, 128]
  unroll: [1, 2]
constants: {is_long: numel > 1000, rest: numel - 1000, is_down: rounding == down}
fit: {move: 1.5, wait_us: 0.25}
define:
  groups: ceil_div(numel, vec * workgroup * unroll)
  is_exact: mode == exact
  moved: numel * (bytes(dtype) + bytes(dtype))
  kept: dtype
require: [vec == 4 or not fused]
applies_when:
  - numel % vec == 0
  - is_exact or device.is_cpu
  - rounding == nearest or not fused
require_device: [workgroup <= device.max_workgroup_invocations]
rarely_best:
  - {when: workgroup == 64 and unroll == 2, on: [hopper, ada], because: "never the \"best\" in 100 problems"}
  - {when: vec == 1 and device.is_integrated, on: [storage_buffer_8bit], because: slow}
grid: [groups, 1, 1]
cost: device.launch_us + move * moved / device.bytes_per_us + wait_us + choose(is_exact and bytes(kept) == 2, groups * 0.0, 0)
verify: {tolerance: {abs: 0.25, rel: 1e-6, f16: {rel: 2^-11}, computed: numel * 2^-23, why: it rounds}}
)yaml";

constexpr std::string_view kRowWalk = R"yaml(
fragment: row_walk
problem:
  stride: u32[2]
  rounding: {words: [nearest, down]}
)yaml";

constexpr std::string_view kRowSumPartial = R"yaml(
kernel: row_sum_partial
summary: sums of parts of rows
template: reduction/row_sum_partial.comp
operands:
  input: {access: read, dtype: f32}
  sums:  {access: write, dtype: f32}
problem: [{rows: u32, length: u32}, row_walk]
parameters:
  stage: [first, last]
subgroup_size: 32
grid: [rows, 1, 1]
cost: rows
)yaml";

// Parameters of an operator without kernels are for operands alone: the tables know nothing of them.
constexpr std::string_view kRowSum = R"yaml(
operator: row_sum
summary: the sum of each row
operands:
  input:  {access: read, dtype: $dtype, shape: [..., K], view: true, help: the "rows"}
  output: {access: write, dtype: f32, shape: [[...], [..., 1]], like: input}
attributes:
  keepdim: {type: boolean, default: true, help: "false drops the 1"}
  scale:   {type: real, range: [2^-125, 2], default: 0.5, unit: volts}
  mode:    {words: [exact, fast], default: "(exact, if there is time)"}
operators:
  row_sum:  {with: [mode]}
  half_sum:
    summary: the sum of each row of halves
    operands: {input: {dtype: [f16]}}
    aliases: {sum_half: without a scale}
parameters:
  dtype: [f32, f16]
problem: [{rows: u32, columns: u32}, row_walk]
recipes:
  two_pass:
    applies_when: [columns >= 64]
    scratch:
      partial: {dtype: f32, elements: rows * 64}
    steps:
      - kernel: row_sum_partial
        operands: {input: input, sums: partial}
        problem: {length: "ceil_div(columns, 64)", rounding: down}
        with: {stage: first}
      - kernel: row_sum_partial
        operands: {input: partial, sums: output}
        problem: {length: "64"}
        with: {stage: last}
)yaml";

spec::Spec parsed(std::string_view yaml, const std::string& file) {
  auto specs = spec::parse_specs({{"specs/lib/row_walk.yaml", kRowWalk}, {file, yaml}});
  if (!specs) ADD_FAILURE() << to_text(specs.error(), {});
  return std::move(specs->front());
}

reflect::Member member(std::string name, uint32_t offset, reflect::Member::Kind kind, uint32_t count = 1) {
  return {std::move(name), offset, 4 * count, count, kind};
}

reflect::Binding buffer(uint32_t binding, std::string name, Access access, bool is_aliased = false) {
  return {0, binding, BindingKind::storage_buffer, access, std::move(name), {}, is_aliased};
}

Kernel scale_kernel(const spec::Spec& spec, std::string id, std::string dtype, std::string mode, int vec, bool fused) {
  using Kind = reflect::Member::Kind;
  Kernel kernel;
  kernel.variant = {std::move(id), {Word{dtype}, Word{"buffer"}, Word{mode}, Integer(vec), fused}};
  kernel.module_digest = 0x123456789abcdef + static_cast<uint64_t>(vec);
  kernel.interface.bindings = {buffer(0, "InputBuffer", Access::read, true),
                               buffer(2, "OutputBuffer", Access::write, true)};
  kernel.interface.push_constants = {member("numel", 0, Kind::u32), member("alpha", 4, Kind::f32),
                                     member("sizes", 16, Kind::i32, 4)};
  kernel.interface.push_constants_bytes = 32;
  kernel.interface.specialization = {{"workgroup", 0, 64}, {"unroll", 1, 1}, {"is_down", 4, 0}};
  if (dtype == "f16") kernel.interface.needs = bit(Feature::shader_float16) | bit(Feature::storage_buffer_16bit);
  for (const auto& row : specialization_rows(spec)) kernel.resources.push_back({{row[0], 1, 1}, 0, {}});
  return kernel;
}

Kernel partial_kernel(std::string stage, uint32_t shared_bytes) {
  Kernel kernel;
  kernel.variant = {"row_sum_partial." + stage, {Word{stage}}, 32};
  kernel.interface.bindings = {buffer(0, "InputBuffer", Access::read),
                               buffer(1, "SumsBuffer", Access::write),
                               {0, 2, BindingKind::uniform_buffer, Access::read, "ProblemBuffer", {}}};
  using Kind = reflect::Member::Kind;
  kernel.interface.bindings[2].members = {member("rows", 0, Kind::u32), member("length", 4, Kind::u32),
                                          member("stride", 8, Kind::u32, 2)};
  kernel.resources = {{{64, 1, 1}, shared_bytes, {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false}}}};
  return kernel;
}

class Emit : public testing::Test {
 protected:
  Emit()
      : scale_(parsed(kScale, "specs/scale.yaml")),
        partial_(parsed(kRowSumPartial, "specs/row_sum_partial.yaml")),
        row_sum_(parsed(kRowSum, "specs/row_sum.yaml")) {
    Family scale{&scale_, "specs/scale.yaml", {}};
    scale.kernels = {scale_kernel(scale_, "scale.f16.buffer.fast.vec4.fused", "f16", "fast", 4, true),
                     scale_kernel(scale_, "scale.f32.buffer.exact.vec1.not_fused", "f32", "exact", 1, false),
                     scale_kernel(scale_, "scale.f32.buffer.exact.vec4.fused", "f32", "exact", 4, true)};
    Family partial{&partial_, "specs/row_sum_partial.yaml", {partial_kernel("first", 0), partial_kernel("last", 256)}};
    families_ = {{&row_sum_, "specs/row_sum.yaml", {}}, partial, scale};
    tuning_.device.name = "Example \"GPU\" 1";
    tuning_.device.vendor_id = 0x10de;
    tuning_.device.numbers.bytes_per_us = 5e5;
    const uint64_t both[] = {0, 0};  // the digests of a recipe's steps
    const uint64_t recipe = blob_format::checksum(std::as_bytes(std::span(both)));
    const uint64_t vec1 = scale.kernels[1].module_digest, vec4 = scale.kernels[2].module_digest;
    const auto row = [this](const char* problem, const char* kernel, uint64_t digest, double us, const char* date) {
      tuning_.rows.push_back({problem, kernel, digest, us, us, us, date, ""});
    };
    row(kLong, "row_sum.two_pass(row_sum_partial.first, row_sum_partial.last)", recipe, 12.5, "2026-11-22");
    tuning_.rows.back().is_cold = true;
    row(kLong, "row_sum.two_pass(row_sum_partial.first)", recipe, 12.5, "2026-11-22");
    row(kEven, "scale.f32.buffer.exact.vec4.fused/workgroup64.unroll2", vec4, 3, "2026-11-23");
    row(kEven, "scale.f32.buffer.exact.vec1.not_fused/workgroup64.unroll1", vec1, 4.25, "2026-11-22");
    row(kEven, "scale.f32.buffer.exact.vec1.not_fused/workgroup64.unroll2", vec4, 5, "2026-11-24");
    row(kOdd, "scale.f32.buffer.exact.vec1.not_fused/workgroup64.unroll2", vec1, 4.5, "2026-11-21");
    row(kOdd, "scale.f32.buffer.exact.vec1.not_fused/workgroup32.unroll2", vec1, 4.5, "2026-11-21");
    row(kOdd, "scale.f32.buffer.exact.vec2.not_fused/workgroup64.unroll2", vec1, 4.5, "2026-11-21");
    row("shift numel=1", "shift.vec1", vec1, 4.5, "2026-11-21");
  }
  std::vector<CheckedTuning> checked() const { return {check_tuning("example-gpu", tuning_, families_)}; }

  static constexpr const char* kLong = "row_sum columns=4096 input=f32:strided output=f32:strided";
  static constexpr const char* kEven = "scale numel=1024 input=f32:strided bias=none output=f32:strided";
  static constexpr const char* kOdd = "scale numel=1023 input=f32:strided bias=none output=f32:strided";
  tuning::TuningFile tuning_;

  spec::Spec scale_, partial_, row_sum_;
  std::vector<Family> families_;
};

const std::string kGolden = tests::source_folder() + "/tests/codegen/emit/golden/";

TEST_F(Emit, EveryFileIsAsExpected) {
  const auto files = emit(families_, checked(), {});
  ASSERT_TRUE(files) << to_text(files.error(), {});
  std::vector<std::string> made;
  for (const File& file : *files) {
    made.push_back(file.path);
    if (::getenv("QGEN_UPDATE_EXPECTED")) {
      ASSERT_TRUE(write_file(kGolden + file.path, file.text));
    }
    const auto expected = read_file(kGolden + file.path);
    ASSERT_TRUE(expected) << file.path;
    EXPECT_EQ(file.text, *expected) << file.path;
  }
  EXPECT_EQ(made, *list_files(kGolden));
}

TEST_F(Emit, TimesOfOtherKernelsAreLeftOut) {
  const CheckedTuning tuning = checked().front();
  EXPECT_TEXT(to_text(tuning),
              "tuning of Example \"GPU\" 1: 4 times, 0.6 kB of tables; 1 time left out, of kernels that have changed "
              "since, the first of 'scale.f32.buffer.exact.vec1.not_fused/workgroup64.unroll2'; 4 times left out, of "
              "kernels that do not exist, the first of 'row_sum.two_pass(row_sum_partial.first)'");
  std::vector<std::vector<KernelIndex>> kernels;
  for (const CheckedRow& row : tuning.rows) kernels.push_back(row.kernels);
  EXPECT_THAT(kernels, ElementsAre(ElementsAre(KernelIndex{1, 0}, KernelIndex{1, 1}), ElementsAre(KernelIndex{2, 1}),
                                   ElementsAre(KernelIndex{2, 2}), ElementsAre(KernelIndex{2, 1})));
}

TEST(EmittedTables, HoldTimesByProblem) {
  ASSERT_EQ(generated::library().tunings.size(), 1U);
  const TuningInfo& tuning = *generated::library().tunings[0];
  EXPECT_EQ(tuning.name, "Example \"GPU\" 1");
  EXPECT_EQ(tuning.vendor_id, 0x10deU);
  EXPECT_EQ(tuning.date, "2026-11-23");
  EXPECT_EQ(tuning.numbers.bytes_per_us, 5e5);
  const auto even = tuning.times_of("scale numel=1024 input=f32:strided bias=none output=f32:strided");
  ASSERT_EQ(even.size(), 2U);
  EXPECT_EQ(tuning.choices[even[0].choice], "scale.f32.buffer.exact.vec4.fused/workgroup64.unroll2");
  EXPECT_EQ(even[0].us, 3);
  EXPECT_EQ(even[1].us, 4.25);
  EXPECT_FALSE(even[1].is_cold);
  const auto cold = tuning.times_of("row_sum columns=4096 input=f32:strided output=f32:strided");
  ASSERT_EQ(cold.size(), 1U);
  EXPECT_TRUE(cold[0].is_cold);
  EXPECT_EQ(tuning.times_of("row_sum columns=4096 input=f32:strided output=f32:strided").size(), 1U);
  EXPECT_TRUE(tuning.times_of("scale numel=1 input=f32:strided bias=none output=f32:strided").empty());
}

TEST(EmittedTables, SayWhatCallersSee) {
  const SignatureInfo& sum = generated::row_sum::signatures[0];
  const SignatureInfo& half = generated::row_sum::signatures[1];
  EXPECT_EQ(sum.op, &generated::row_sum::op);
  EXPECT_EQ(sum.tensors[0].help, "the \"rows\"");
  EXPECT_EQ(sum.tensors[0].dtypes, bit(DType::f32) | bit(DType::f16));
  EXPECT_EQ(half.tensors[0].dtypes, bit(DType::f16));
  EXPECT_EQ(sum.tensors[1].role, TensorInfo::Role::output);
  EXPECT_EQ(sum.tensors[1].source, 0);
  EXPECT_EQ(sum.tensors[1].shapes[1].sides[0], "1");
  EXPECT_EQ(sum.attributes[1].least, 0x1p-125);
  EXPECT_EQ(sum.attributes[1].range, "2^-125 to 2");
  EXPECT_THAT(sum.attributes[2].words, ElementsAre("exact", "fast"));
  EXPECT_FALSE(sum.attributes[2].has_value());
  EXPECT_EQ(half.attributes.size(), 2U);
  EXPECT_EQ(half.aliases[0].name, "sum_half");
  ASSERT_EQ(generated::library().signatures.size(), 2U);
  EXPECT_EQ(generated::library().signatures[0], &half) << "by name";
}

TEST_F(Emit, ANewVariantOnlyAddsLines) {
  const auto full = emit(families_, {}, {});
  auto& kernels = families_[2].kernels;
  kernels.erase(kernels.begin() + 1);
  const auto less = emit(families_, {}, {});
  ASSERT_TRUE(full && less);
  for (size_t i = 0; i < full->size(); ++i) {
    // Every line that is there without the variant is there with it, in the same order.
    std::string_view rest = (*full)[i].text;
    std::string_view lines = (*less)[i].text;
    while (!lines.empty()) {
      const std::string line = "\n" + std::string(lines.substr(0, lines.find('\n') + 1));
      const size_t at = rest.find(std::string_view(line).substr(rest.data() == (*full)[i].text.data() ? 1 : 0));
      ASSERT_NE(at, rest.npos) << (*full)[i].path << ": " << line;
      rest.remove_prefix(at + line.size() - 2);
      lines.remove_prefix(line.size() - 1);
    }
  }
}

TEST_F(Emit, AnotherNamespaceMakesQgenKnown) {
  const auto files = emit(families_, {}, {.name_space = "acme::kernels"});
  ASSERT_TRUE(files);
  for (const File& file : *files) {
    if (!file.path.starts_with("cpp/")) continue;
    EXPECT_EQ(file.text.find("qgen::generated"), file.text.npos) << file.path;
    const bool is_assembly = file.path == "cpp/blob.S";
    EXPECT_THAT(file.text, HasSubstr(is_assembly ? "acme_kernels_blob:\n" : "\nusing namespace ::qgen;\n"))
        << file.path;
  }
}

// ---- modules that do not fit their spec -----------------------------------------------------------------------------

struct BadKernel {
  std::string_view name;
  void (*spoil)(Kernel&);
  std::string_view expected;
};

// clang-format off
const BadKernel kBadKernels[] = {
    {"a push constant of its own", [](Kernel& k) { k.interface.push_constants[0].name = "count"; },
     "specs/scale.yaml: error: push constant 'count' is no problem field\n"
     "  expected: one of alpha, numel, rounding, sizes\n"
     "  hint: use declare_problem(), or name the block's members as the problem's fields\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
    {"a push constant of another type", [](Kernel& k) { k.interface.push_constants[2].kind = reflect::Member::Kind::f32; },
     "specs/scale.yaml: error: push constant 'sizes' has another type than the problem field\n"
     "  expected: i32[4], tightly packed\n"
     "  hint: use declare_problem()\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
    {"a binding that is no operand", [](Kernel& k) { k.interface.bindings[1].binding = 7; },
     "specs/scale.yaml: error: 'OutputBuffer' has binding 7, which is no operand\n"
     "  expected: 0 to 3: the operands in their order, then the problem buffer\n"
     "  hint: use declare()\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
    {"another set", [](Kernel& k) { k.interface.bindings[1].set = 1; },
     "specs/scale.yaml: error: 'OutputBuffer' is bound in descriptor set 1\n"
     "  expected: set 0\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
    {"a uniform buffer", [](Kernel& k) { k.interface.bindings[0].kind = BindingKind::uniform_buffer; },
     "specs/scale.yaml: error: operand 'input' is bound as a uniform buffer\n"
     "  expected: a storage buffer or a storage image\n"
     "  hint: use declare()\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
    {"bytes that are said to be no other's", [](Kernel& k) { k.interface.bindings[0].is_aliased = false; },
     "specs/scale.yaml: error: operand 'input' is declared 'restrict', and the spec has an 'in_place'\n"
     "  hint: use declare()\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
    {"a workgroup that is not the axis of that name", [](Kernel& k) { k.resources[2].workgroup = {64, 1, 1}; },
     "specs/scale.yaml:21:3: error: 'workgroup' is 128, but the module has workgroups of 64x1x1\n"
     "  expected: that many invocations in a workgroup, or in one of its dimensions\n"
     "  hint: declare it in the template: ${local_size(workgroup)}\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
    {"a workgroup that no device has", [](Kernel& k) { k.resources[2].workgroup = {128, 65536, 65536}; },
     "specs/scale.yaml:21:19: error: a kernel has workgroups of 128 x 65536 x 65536 invocations\n"
     "  expected: at most 65536; the largest known device takes 2048\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
    {"an unknown constant", [](Kernel& k) { k.interface.specialization[1] = {"tiles", 5, 1}; },
     "specs/scale.yaml: error: specialization constant 'tiles' has constant_id 5, which the spec does not declare\n"
     "  expected: less than 5, the spec's specialization constants\n"
     "  hint: add it to `specialization` or `constants`, whose order gives the ids\n"
     "  in variant scale.f16.buffer.fast.vec4.fused\n"},
};
// clang-format on

TEST_F(Emit, ModulesThatDoNotFitAreRefused) {
  for (const BadKernel& bad : kBadKernels) {
    std::vector<Family> families = families_;
    for (Kernel& kernel : families[2].kernels) bad.spoil(kernel);  // one report, although all share the fault
    const auto files = emit(families, {}, {});
    ASSERT_FALSE(files) << bad.name;
    EXPECT_TEXT(to_text(files.error(), {}), bad.expected) << bad.name;
  }
}

TEST_F(Emit, AWorkgroupMayHaveSeveralSides) {
  for (Kernel& kernel : families_[2].kernels) {
    for (auto& row : kernel.resources) row.workgroup = {row.workgroup[0] / 4, 2, 2};
    kernel.resources.back().workgroup = {2, 128, 1};
  }
  EXPECT_TRUE(emit(families_, {}, {}));
}

TEST_F(Emit, TheLargestWorkgroup) {
  for (Kernel& kernel : families_[2].kernels) kernel.resources.back().workgroup = {128, 512, 1};
  EXPECT_TRUE(emit(families_, {}, {}));
  families_[2].kernels.front().resources.back().workgroup = {128, 512, 2};
  EXPECT_FALSE(emit(families_, {}, {}));
}

TEST_F(Emit, ARecipeNeedsTheKernelsItNames) {
  families_.erase(families_.begin() + 1);
  const auto files = emit(families_, {}, {});
  ASSERT_FALSE(files);
  EXPECT_TEXT(to_text(files.error(), {}),
              "specs/row_sum.yaml:26:17: error: no spec of this run is named "
              "'row_sum_partial'\n"
              "  hint: add the spec of that kernel to the command line\n"
              "specs/row_sum.yaml:30:17: error: no spec of this run is named "
              "'row_sum_partial'\n"
              "  hint: add the spec of that kernel to the command line\n");
}

TEST(CppNames, WordsThatCppKeepsGetATail) {
  EXPECT_EQ(identifier("vec4"), "vec4");
  EXPECT_EQ(identifier("default"), "default_");
  for (const char* macro : {"linux", "unix", "errno", "EOF", "INT_MAX", "M_PIl", "I", "assert", "major", "NULL"}) {
    EXPECT_EQ(identifier(macro), std::string(macro) + "_");
  }
  EXPECT_EQ(identifier("INT.MAX"), "INT_MAX_") << "a record's field";
  for (const char* name : {"K", "Kernel", "linux_like", "f32"}) EXPECT_EQ(identifier(name), name);
  EXPECT_EQ(identifier("f32.not_fused"), "f32_not_fused");
  EXPECT_EQ(identifier("2x4"), "n2x4");
  EXPECT_EQ(quoted("a \"b\"\n\\"), "\"a \\\"b\\\" \\\\\"");
}

TEST(Depfile, EscapesWhatMakeWouldRead) {
  const std::vector<std::string> inputs = {"specs/a.yaml", "odd name#$.comp"};
  EXPECT_EQ(depfile("out/MANIFEST.tsv", inputs), "out/MANIFEST.tsv: \\\n  specs/a.yaml \\\n  odd\\ name\\#$$.comp\n");
}

// ---- what the generated code says -----------------------------------------------------------------------------------

namespace generated = qgen::generated;

struct ScaleScope {
  generated::scale::Problem problem{
      .numel = 1024, .alpha = 2.5f, .sizes = std::array<int32_t, 4>{}, .rounding = generated::words::Rounding{}};
  generated::scale::Parameters parameters{DType::f16, Storage::buffer, generated::scale::Mode::fast, 4, true};
  uint32_t specialization[2] = {128, 2};
  DeviceNumbers device;
  SelectionScope scope() const { return {&problem, &parameters, specialization, &device}; }
};

TEST(GeneratedCode, EvaluatesTheSpecsExpressions) {
  const OperatorInfo& op = generated::scale::op;
  ScaleScope s;
  s.device.bytes_per_us = 100;
  s.device.launch_us = 3;
  Integer groups[3];
  op.grid(s.scope(), groups);
  EXPECT_EQ(groups[0], Integer(1));
  EXPECT_EQ(groups[2], Integer(1));
  EXPECT_DOUBLE_EQ(op.cost(s.scope()).value, 3 + 1.5 * 1024 * 4 / 100.0 + 0.25);
  const double fit[] = {2, 0.5};
  SelectionScope fitted = s.scope();
  fitted.fit = fit;
  EXPECT_DOUBLE_EQ(op.cost(fitted).value, 3 + 2 * 1024 * 4 / 100.0 + 0.5);
  EXPECT_THAT(op.fit_names, ElementsAre("scale.move", "scale.wait_us"));
  EXPECT_THAT(op.fit_values, ElementsAre(1.5, 0.25));
  EXPECT_EQ(op.first_failing(s.scope()), 1);  // fast needs a CPU
  s.device.is_cpu = true;
  EXPECT_EQ(op.first_failing(s.scope()), kAllHold);
  s.problem.rounding = generated::words::Rounding::down;
  EXPECT_EQ(op.first_failing(s.scope()), 2);  // fused rounds to nearest
  s.problem.rounding = generated::words::Rounding::nearest;
  s.problem.numel = 1023;
  EXPECT_EQ(op.first_failing(s.scope()), 0);
  EXPECT_EQ(op.first_failing_device(s.scope()), kAllHold);
  s.device.max_workgroup_invocations = 64;
  EXPECT_EQ(op.first_failing_device(s.scope()), 0);
}

TEST(GeneratedCode, TellsWhatIsRarelyTheBest) {
  const OperatorInfo& op = generated::scale::op;
  ASSERT_EQ(op.rarely_best.size(), 2u);
  EXPECT_EQ(op.rarely_best[0].when, "workgroup == 64 and unroll == 2");
  EXPECT_THAT(op.rarely_best[0].on, ElementsAre("hopper", "ada"));
  EXPECT_EQ(op.rarely_best[0].because, "never the \"best\" in 100 problems");
  EXPECT_THAT(op.rarely_best[1].on, ElementsAre("storage_buffer_8bit"));
  ScaleScope s;
  EXPECT_EQ(op.rarely_best_when(s.scope()), 0u);
  s.specialization[0] = 64;
  EXPECT_EQ(op.rarely_best_when(s.scope()), 1u);
  s.parameters.vec = 1;
  s.device.is_integrated = true;
  EXPECT_EQ(op.rarely_best_when(s.scope()), 3u);
}

TEST(GeneratedCode, ProblemsDecideConstants) {
  const OperatorInfo& op = generated::scale::op;
  ScaleScope s;
  EXPECT_THAT(specialization_values(op, 1, &s.problem), ElementsAre(64, 2, 1, 24, 0));
  s.problem.numel = 7;
  s.problem.rounding = generated::words::Rounding::down;
  EXPECT_THAT(specialization_values(op, 2, &s.problem), ElementsAre(128, 1, 0, 0, 1)) << "what is negative is 0";
  EXPECT_THAT(specialization_values(generated::row_sum_partial::op, 0, nullptr), IsEmpty());
}

TEST(GeneratedCode, CostsEachKernel) {
  const OperatorInfo& op = generated::scale::op;
  ScaleScope s;
  s.device.bytes_per_us = 7e3;
  s.problem.numel = 1021;
  for (const KernelInfo& kernel : op.kernels) {
    const double moved = 1021.0 * 2 * (generated::scale::parameters(kernel).dtype == DType::f16 ? 2 : 4);
    for (size_t row = 0; row < op.specialization_count(); ++row) {
      const SelectionScope scope{&s.problem, kernel.parameters, op.specialization(row), &s.device};
      EXPECT_EQ(op.cost(scope).value, s.device.launch_us + 1.5 * moved / s.device.bytes_per_us + 0.25) << kernel.id;
    }
  }
}

TEST(GeneratedCode, NamesHaveValues) {
  const OperatorInfo& op = generated::scale::op;
  ScaleScope s;
  s.device.launch_us = 7.9;
  std::vector<std::string> shown;
  for (size_t i = 0; i < op.names.size(); ++i) {
    const int64_t value = op.value(i, s.scope()).value;
    const auto& words = op.names[i].words;
    shown.push_back(std::string(op.names[i].name) + "=" +
                    (words.empty() ? std::to_string(value) : std::string(words[value])));
  }
  EXPECT_THAT(shown, ElementsAre("dtype=f16", "storage=buffer", "mode=fast", "vec=4", "fused=1", "workgroup=128",
                                 "unroll=2", "numel=1024", "alpha=2", "rounding=nearest", "device.subgroup_size=32",
                                 "device.max_workgroup_invocations=128", "device.max_workgroup_size_x=128",
                                 "device.shared_memory_bytes=16384", "device.max_storage_buffer_bytes=134217728",
                                 "device.max_image_extent=256", "device.is_cpu=0", "device.is_integrated=0",
                                 "device.compute_units=1", "device.bytes_per_us=10000", "device.cache_bytes=1048576",
                                 "device.cache_bytes_per_us=20000", "device.f32_ops_per_us=100000",
                                 "device.f16_ops_per_us=100000", "device.int8_ops_per_us=100000",
                                 "device.int8_matrix_ops_per_us=100000", "device.f16_matrix_ops_per_us=100000",
                                 "device.launch_us=7", "device.barrier_us=1"));
  EXPECT_THAT(op.conditions[0].names, ElementsAre(3, 7));
  EXPECT_THAT(op.device_conditions[0].names, ElementsAre(5, 11));
}

TEST(GeneratedCode, TablesDescribeTheKernels) {
  const OperatorInfo& op = generated::scale::op;
  using generated::scale::Variant;
  const KernelInfo& kernel = generated::scale::kernel(Variant::f32_buffer_exact_vec4_fused);
  EXPECT_EQ(kernel.id, "scale.f32.buffer.exact.vec4.fused");
  EXPECT_EQ(generated::scale::parameters(kernel).vec, 4u);
  EXPECT_EQ(kernel.module, 4u) << "two modules of row_sum_partial stand before those of scale";
  EXPECT_EQ(op.interface_of(op.kernels[0]).needs, bit(Feature::shader_float16) | bit(Feature::storage_buffer_16bit));
  EXPECT_EQ(op.interface_of(kernel).needs, 0u);
  EXPECT_EQ(op.specialization_count(), 4u);
  EXPECT_EQ(op.specialization(1)[1], 2u);
  EXPECT_EQ(op.interface_of(kernel).workgroup_of(2)[0], 128u);
  const OperandForm output = op.form(kernel.parameters, 2);
  EXPECT_EQ(output.dtype, DType::f32);
  EXPECT_EQ(output.layouts, 1u);
  const auto& fields = op.interface_of(kernel).push_constants;
  ASSERT_EQ(fields.size(), 2u) << "numel and alpha are neighbours in both";
  EXPECT_EQ(fields[0].size_bytes, 8);
  EXPECT_EQ(fields[1].offset, 16);
  EXPECT_EQ(fields[1].problem_offset, 8);
  EXPECT_EQ(fields[1].size_bytes, 16);
}

TEST(GeneratedCode, OperandsAreNamedByCallers) {
  const generated::scale::Operands<int> operands{.input = 1, .output = 3};
  EXPECT_THAT(generated::scale::in_order(operands), ElementsAre(1, 0, 3));
}

TEST(GeneratedCode, RecipesMakeTheProblemsOfTheirSteps) {
  const RecipeInfo& recipe = generated::row_sum::op.recipes[0];
  EXPECT_EQ(recipe.id, "row_sum.two_pass");
  const generated::row_sum::Problem problem{
      .rows = 3,
      .columns = 1000,
      .row_walk = {.stride = std::array<uint32_t, 2>{7, 9}, .rounding = generated::words::Rounding::nearest}};
  const DeviceNumbers device;
  const SelectionScope scope{&problem, nullptr, nullptr, &device};
  EXPECT_EQ(recipe.first_failing(scope), kAllHold);
  EXPECT_EQ(recipe.scratch[0].elements(scope), Integer(192));
  ASSERT_EQ(recipe.steps.size(), 2u);
  EXPECT_EQ(recipe.steps[0].family, &generated::row_sum_partial::op);
  EXPECT_TRUE(recipe.steps[0].operands[1].is_scratch);
  EXPECT_EQ(recipe.steps[1].operands[1].index, 1);

  alignas(generated::row_sum_partial::Problem) std::byte memory[sizeof(generated::row_sum_partial::Problem)] = {};
  recipe.steps[0].make_problem(scope, memory);
  const auto& step = *reinterpret_cast<const generated::row_sum_partial::Problem*>(memory);
  EXPECT_EQ(step.rows, 3u);
  EXPECT_EQ(step.length, 16u);
  EXPECT_EQ(step.row_walk.stride[1], 9u);
  EXPECT_EQ(step.row_walk.rounding, generated::words::Rounding::down);
  recipe.steps[1].make_problem(scope, memory);  // it changes no field of row_walk
  EXPECT_EQ(step.row_walk.stride[1], 9u);
  EXPECT_EQ(step.row_walk.rounding, generated::words::Rounding::nearest);
  const auto& first = generated::row_sum_partial::op.kernels[0];
  EXPECT_TRUE(recipe.steps[0].takes(first.parameters));
  EXPECT_FALSE(recipe.steps[1].takes(first.parameters));
}

// A typed function checks the signature first, and then calls infer(), with names for all arguments.
TEST(GeneratedCode, TypedFunctionsCheckAndInfer) {
  using namespace generated::operators;
  const TensorDesc rows{DType::f32, {3, 1000}};
  const auto call = row_sum_call({.input = rows}, {.scale = 2});
  ASSERT_TRUE(call) << to_text(call.error());
  EXPECT_EQ(call->problem.op, &generated::row_sum::op);
  EXPECT_EQ(call->operands[1]->shape, (Shape{3, 2}));  // the scale, which infer() below writes there
  const auto refused = half_sum_call({.input = rows});
  ASSERT_FALSE(refused);
  EXPECT_TEXT(to_text(refused.error()), "input is f32, and can be f16");
  EXPECT_TEXT(to_text(row_sum_call({.input = rows}, {.scale = 3}).error()), "scale is 3, and can be 2^-125 to 2");
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_EQ(entries()[1].name, "row_sum");
}

TEST(GeneratedCode, TheLibraryHasAllOperators) {
  const LibraryInfo& library = generated::library();
  ASSERT_EQ(library.operators.size(), 3u);
  EXPECT_EQ(library.operators[0]->name, "row_sum");
  EXPECT_EQ(library.operators[1]->is_internal, true);
  EXPECT_EQ(library.blob.size(), 8u);  // tests/CMakeLists.txt stands a stub in for it
}

}  // namespace
}  // namespace qgen::emit

// The code that a project writes for the operators of its specs.
namespace qgen::generated::operators {
namespace {

template <typename Inputs>
Call call_of(const Inputs& inputs, double scale) {
  const TensorDesc& input = inputs.input->tensor;
  const row_sum::Problem fields{.rows = static_cast<uint32_t>(input.shape[0]),
                                .columns = static_cast<uint32_t>(input.shape[1]),
                                .row_walk = {std::array<uint32_t, 2>{1, 1}, Rounding::nearest}};
  const TensorDesc output{DType::f32, {input.shape[0], static_cast<int64_t>(scale)}};
  return make_call(fields, inputs, {.output = output});
}

}  // namespace

Expected<Call> infer(const RowSumInputs<Described>& inputs, const RowSumAttributes& attributes) {
  return call_of(inputs, attributes.scale);
}
Expected<Call> infer(const HalfSumInputs<Described>& inputs, const HalfSumAttributes& attributes) {
  return call_of(inputs, attributes.scale);
}

}  // namespace qgen::generated::operators
