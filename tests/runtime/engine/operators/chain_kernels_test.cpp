// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Kernels of chains: their GLSL, their place in a library, and their file. The modules are some words, which nothing
// runs; tests/kernels/chain_kernels_test.cpp runs real ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/library/blob_join.h"
#include "runtime/engine/library/blob_writer.h"
#include "runtime/engine/operators/pointwise/chain_file.h"
#include "runtime/engine/selector/select.h"
#include "tests/support/described_device.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using chains::ChainKernels;
using chains::Formula;
using chains::Step;
using chains::TypedChain;

TypedChain silu(DType dtype = DType::f32) {
  Formula formula;
  const auto x = formula.input(0);
  formula.step(Step::multiply, x, formula.step(Step::sigmoid, x));
  return {dtype, dtype, *chains::encoded(formula)};
}

TypedChain shifted(double by) {
  Formula formula;
  formula.step(Step::add, formula.input(0), formula.real(by));
  return {DType::f32, DType::f32, *chains::encoded(formula)};
}

std::vector<std::byte> blob_of(size_t modules) {
  std::vector<blob_format::Module> words;
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < modules; ++i) {
    words.push_back({0x07230203, 0x00010600, 0, 8, 0, static_cast<uint32_t>(i)});
    rows.push_back(static_cast<uint32_t>(i));
  }
  const auto packed = blob_format::pack(words);
  const blob_format::BlobFamily family{&packed, rows};
  const std::string blob = blob_format::write_blob({&family, 1});
  const auto bytes = std::as_bytes(std::span(blob));
  return {bytes.begin(), bytes.end()};
}

Problem problem_of(const TypedChain& typed) {
  const auto call = generated::operators::pointwise_call(
      {.input_1 = TensorDesc{typed.dtype, {32, 100}}},
      {.steps = typed.chain.steps, .constants = typed.chain.constants, .output_dtype = typed.output_dtype});
  EXPECT_TRUE(call) << (call ? "" : to_text(call.error()));
  return call->problem;
}

std::vector<std::string> ranked(const Problem& problem, const KernelLibrary& library) {
  std::vector<std::string> ids;
  for (const Choice& choice : select(problem, tests::described_device("nvidia-h200"), library).ranked)
    ids.push_back(choice.id.substr(0, choice.id.find('/')));
  return ids;
}

TEST(ChainGlsl, HasAStepALine) {
  EXPECT_TEXT(
      glsl_of(silu()),
      R"(// The steps of one chain on f32, in the place of a loop over the problem's steps. Written by qgen-model chains.
$needs uvec4 previous
$needs uvec4 operate(uint operation, uvec4 a, uvec4 b, uvec4 c)
$needs uvec4 load_1(uint quad)
$gives void run_steps(uint quad)

// The same bits, which no optimiser can know: the operation of a step is below 128. Drivers may put in the
// values of fields that conditions read, and no condition reads these.
uvec4 hidden(uvec4 bits) { return bits ^ (problem.steps[0] & 0x80u); }
uvec4 hidden_apart(uvec4 bits) { return bits ^ (problem.steps[1] & 0x80u); }

void run_steps(uint quad) {
  const uvec4 v0 = load_1(quad);
  const uvec4 v1 = hidden(operate(kPointwiseStepSigmoid, hidden(v0), hidden_apart(v0), hidden_apart(v0)));
  const uvec4 v2 = operate(kPointwiseStepMultiply, hidden(v0), hidden_apart(v1), hidden_apart(v1));
  previous = v2;
}
)");
}

// Integers are exact. What is kept has a name like any value.
TEST(ChainGlsl, HidesNoIntegers) {
  Formula formula;
  const auto sum = formula.step(Step::add, formula.input(0), formula.input(chains::kMaskInput));
  const auto product = formula.step(Step::multiply, sum, formula.bits(-1));
  formula.step(Step::choose, sum, formula.step(Step::divide, product, formula.input(1)), sum);
  EXPECT_TEXT(
      glsl_of(TypedChain{DType::i8, DType::i32, *chains::encoded(formula)}),
      R"(// The steps of one chain on i8, in the place of a loop over the problem's steps. Written by qgen-model chains.
$needs uvec4 previous
$needs uvec4 operate(uint operation, uvec4 a, uvec4 b, uvec4 c)
$needs uvec4 load_1(uint quad)
$needs uvec4 load_2(uint quad)
$needs uvec4 load_mask(uint quad)
$gives void run_steps(uint quad)

void run_steps(uint quad) {
  const uvec4 v0 = load_1(quad);
  const uvec4 v1 = load_mask(quad);
  const uvec4 v2 = operate(kPointwiseStepAdd, v0, v1, v1);
  const uvec4 v3 = uvec4(0xffffffffu);
  const uvec4 v4 = operate(kPointwiseStepMultiply, v2, v3, v3);
  const uvec4 v5 = load_2(quad);
  const uvec4 v6 = operate(kPointwiseStepDivide, v4, v5, v5);
  const uvec4 v7 = operate(kPointwiseStepChoose, v2, v6, v2);
  previous = v7;
}
)");
}

TEST(ChainKernels, AreRankedBesideTheInterpreter) {
  const auto kernels = ChainKernels::create(generated::library(), {silu(), shifted(1), silu(DType::f16)}, blob_of(3));
  ASSERT_TRUE(kernels) << to_text(kernels.error());
  const auto library = KernelLibrary::open((*kernels)->library());
  ASSERT_TRUE(library) << to_text(library.error());
  const Problem problem = problem_of(silu());
  EXPECT_EQ(ranked(problem, *library), (std::vector<std::string>{kernel_id(silu()), "pointwise.f32.f32"}));
  EXPECT_EQ(ranked(problem_of(silu(DType::f16)), *library),
            (std::vector<std::string>{kernel_id(silu(DType::f16)), "pointwise.f16.f16"}));
  // Another constant is another chain.
  EXPECT_EQ(ranked(problem_of(shifted(1)), *library),
            (std::vector<std::string>{kernel_id(shifted(1)), "pointwise.f32.f32"}));
  EXPECT_EQ(ranked(problem_of(shifted(2)), *library), std::vector<std::string>{"pointwise.f32.f32"});
  // The shipped library knows nothing of them.
  const auto shipped = KernelLibrary::open(generated::library());
  ASSERT_TRUE(shipped);
  EXPECT_EQ(ranked(problem, *shipped), std::vector<std::string>{"pointwise.f32.f32"});

  const auto selection = select(problem, tests::described_device("nvidia-h200"), *library);
  EXPECT_LT(selection.ranked[0].cost_us, selection.ranked[1].cost_us);
  const auto refused = std::ranges::find(selection.rejected, kernel_id(shifted(1)), &Rejection::id);
  ASSERT_NE(refused, selection.rejected.end());
  EXPECT_EQ(refused->reason, "applies_when `the kernel was compiled for this chain` does not hold");

  const std::string id = selection.ranked[0].id;
  EXPECT_EQ(digest_of(*problem.op, id, *library), library->digest(*selection.ranked[0].launches[0].kernel));
  EXPECT_NE(digest_of(*problem.op, id, *library), digest_of(*problem.op, "pointwise.f32.f32", *library));
  EXPECT_EQ(digest_of(*problem.op, "pointwise.f32.f32", *library),
            digest_of(*problem.op, "pointwise.f32.f32", *shipped));
}

TEST(ChainKernels, SayWhatDoesNotFit) {
  const auto said = [](std::vector<TypedChain> all, size_t modules) {
    const auto kernels = ChainKernels::create(generated::library(), std::move(all), blob_of(modules));
    return kernels ? "accepted" : to_text(kernels.error());
  };
  EXPECT_TEXT(said({silu()}, 1), "accepted");
  EXPECT_TEXT(said({silu()}, 2), "there are 2 modules for 1 chains");
  EXPECT_TEXT(said({silu(), silu()}, 2), fmt::format("'{}' is there twice", kernel_id(silu())));
  EXPECT_TEXT(said({silu(DType::i16)}, 1), "no kernel of 'pointwise' has i16 inputs and an output of i16");
  const LibraryInfo empty{};
  const auto kernels = ChainKernels::create(empty, {silu()}, blob_of(1));
  ASSERT_FALSE(kernels);
  EXPECT_TEXT(to_text(kernels.error()), "the program has no operator 'pointwise', whose chains these kernels are for");
}

TEST(ChainFile, KeepsItsChains) {
  const std::vector<TypedChain> all{silu(), shifted(-0.5)};
  const auto kernels = chains::read_chains(chains::write_chains(all, blob_of(2)), generated::library());
  ASSERT_TRUE(kernels) << to_text(kernels.error());
  EXPECT_TRUE(std::ranges::equal((*kernels)->chains(), all));
}

TEST(ChainFile, SaysWhatIsWrong) {
  std::vector<std::byte> file = chains::write_chains(std::vector{silu()}, blob_of(1));
  const auto said = [](std::vector<std::byte> bytes) {
    const auto kernels = chains::read_chains(bytes, generated::library());
    return kernels ? "accepted" : kernels.error().message;
  };
  EXPECT_TEXT(said(file), "accepted");
  for (size_t i = 0; i < file.size(); ++i) {
    std::vector<std::byte> damaged = file;
    damaged[i] ^= std::byte{1};
    EXPECT_NE(said(damaged), "accepted") << "byte " << i;
  }
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_NE(said({file.begin(), file.begin() + static_cast<ptrdiff_t>(size)}), "accepted") << size << " bytes";
  EXPECT_TEXT(said({}), "it is no file of chain kernels: it is too short");
}

TEST(JoinedBlob, HasTheModulesOfBoth) {
  const auto first = blob_of(3), second = blob_of(5);
  const auto joined = joined_blob(first, second);
  ASSERT_TRUE(joined) << to_text(joined.error());
  const auto blob = Blob::open(*joined);
  ASSERT_TRUE(blob) << to_text(blob.error());
  ASSERT_EQ(blob->module_count(), 8u);
  EXPECT_EQ(blob->family_count(), 2u);
  for (size_t i = 0; i < 8; ++i) {
    const auto words = blob->module(i);
    ASSERT_TRUE(words) << to_text(words.error());
    EXPECT_EQ(words->back(), i < 3 ? i : i - 3);
  }
}

}  // namespace
}  // namespace qgen
