// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Kernels that the generator compiles for one chain give the bits of the kernel that interprets it: random chains of all
// steps, on inputs that are broadcast and have special values.
//
// QGEN_TEST_SHARE=1 runs more of them; QGEN_TEST_SEED draws others. QGEN_GENERATOR names another qgen than that of this
// build; without one, as on a machine that tests were copied to, the tests are skipped.
#include <cmath>
#include <numeric>

#include "operators.h"
#include "runtime/engine/operators/pointwise/chain_file.h"
#include "runtime/workshop/measure/trial.h"
#include "runtime/workshop/runner/compile_chains.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/source_folder.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using chains::Formula;
using chains::Step;
using testing::Random;

// All that chains of such elements may have, but `keep`, which encoded() adds.
std::vector<Step> steps_for(DType dtype) {
  std::vector<Step> steps;
  for (size_t i = 0; i < std::size(generated::words::kPointwiseStep); ++i) {
    const auto step = static_cast<Step>(i);
    const auto others =
        is_real(dtype) ? chains::OperationInfo::Elements::integers : chains::OperationInfo::Elements::reals;
    if (step != Step::keep && chains::info_of(step).elements != others) steps.push_back(step);
  }
  return steps;
}

constexpr int64_t kInputs = 4;  // and a mask

// One chain of these steps: each reads results of the last few steps, inputs or constants.
Formula chain_of(std::span<const Step> steps, DType dtype, Random& random) {
  constexpr double kReals[] = {0.5, 1, -1, 2, 3, -0.0, 1e-3, 20};
  Formula formula;
  std::vector<uint32_t> results;
  const auto source = [&] {
    const int64_t kind = random.integer(0, 5);
    if (kind == 0) return formula.input(random.integer(0, kInputs - 1));
    if (kind == 1 && is_real(dtype)) return formula.real(kReals[random.integer(0, std::ssize(kReals) - 1)]);
    if (kind == 1) return formula.bits(random.integer(-3, 40));
    if (kind == 2) return formula.input(chains::kMaskInput);
    const int64_t last = std::ssize(results) - 1;
    return last < 0 ? formula.input(0)
                    : results[static_cast<size_t>(random.integer(std::max<int64_t>(0, last - 3), last))];
  };
  for (const Step step : steps) {
    const uint32_t a = results.empty() ? formula.input(0) : source(), b = source(), c = source();
    results.push_back(formula.step(step, a, b, c));
  }
  return formula;
}

HostTensor input_of(DType dtype, const Shape& shape, Random& random) {
  if (!is_real(dtype)) return random.integers(dtype, shape, dtype == DType::u8 ? 0 : -100, 100);
  HostTensor tensor = random.reals(dtype, shape, -3, 3);
  constexpr double kSpecial[] = {0, -0.0, 1, kInfinity, -kInfinity, kNan, 1e-40, 88, -1};
  const int64_t count = element_count(shape);
  for (int64_t i = 0; i < count; i += 5)
    set_element(tensor, i, kSpecial[static_cast<size_t>(random.integer(0, std::ssize(kSpecial) - 1))]);
  return tensor;
}

class ChainKernelsTest : public testing::KernelTest {
 protected:
  static Request request_of(const chains::TypedChain& typed, Random& random) {
    constexpr int64_t kRows = 6, kColumns = 19;
    Request request;
    const Shape shapes[kInputs] = {{kRows, kColumns}, {kColumns}, {kRows, 1}, {1}};
    for (size_t i = 0; i < kInputs; ++i)
      request.inputs[fmt::format("input_{}", i + 1)] = input_of(typed.dtype, shapes[i], random);
    request.inputs["mask"] = random.integers(DType::u8, {kRows, kColumns}, 0, 1);
    request.attributes["steps"] = typed.chain.steps;
    request.attributes["constants"] = typed.chain.constants;
    request.attributes["output_dtype"] = std::string(name(typed.output_dtype));
    return request;
  }

  // A generator with sanitizers compiles many times slower. Nothing is new with robust access.
  void SetUp() override {
    KernelTest::SetUp();
    const bool is_sanitized = QGEN_SANITIZED;
    if (is_sanitized || testing::RobustAccess::is_wanted()) GTEST_SKIP();
  }

  // Compiles the chains, and runs each on both kinds of kernels.
  void expect_the_bits_of_the_interpreter(const std::vector<chains::TypedChain>& all, Random& random) {
    const char* named = std::getenv("QGEN_GENERATOR");
    const std::string program = named ? named : QGEN_GENERATOR;
    if (!std::filesystem::exists(program)) GTEST_SKIP() << "there is no generator '" << program << "'";
    const auto generator = runner::find_generator(program, tests::source_folder());
    ASSERT_TRUE(generator) << to_text(generator.error());
    const auto blob = runner::compile_chains(all, *generator, {});
    ASSERT_TRUE(blob) << to_text(blob.error());
    const auto kernels = chains::read_chains(chains::write_chains(all, *blob), generated::library());
    ASSERT_TRUE(kernels) << to_text(kernels.error());
    const auto library = KernelLibrary::open((*kernels)->library());
    ASSERT_TRUE(library) << to_text(library.error());
    auto executor = Executor::create(device(), *library, {.guard_bytes = 256});
    ASSERT_TRUE(executor) << to_text(executor.error());
    Context on_device{.profile = context().profile, .library = *library, .executor = *executor};
    for (const chains::TypedChain& chain : all) expect_the_bits_of_the_interpreter(on_device, chain, random);
  }

 private:
  static void expect_the_bits_of_the_interpreter(Context& on_device, const chains::TypedChain& chain, Random& random) {
    SCOPED_TRACE(glsl_of(chain));
    const Request request = request_of(chain, random);
    const auto prepared = prepare(on_device, *find_operator("pointwise"), request);
    ASSERT_TRUE(prepared) << to_text(prepared.error());
    const Problem& problem = prepared->call.problem;
    EXPECT_TRUE(chains::chain_of(problem) == chain);
    const auto ranked = select(problem, on_device.profile, on_device.library).ranked;
    ASSERT_EQ(ranked.size(), 2u);
    EXPECT_TRUE(ranked[0].id.starts_with(chains::kernel_id(chain))) << ranked[0].id;
    const auto interpreted = measure::run_trial(on_device, *prepared, ranked[1]);
    ASSERT_TRUE(interpreted) << to_text(interpreted.error());
    for (const uint32_t workgroup : {64, 256}) {
      const std::string id = fmt::format("{}/workgroup{}", chains::kernel_id(chain), workgroup);
      const auto forced = select(problem, on_device.profile, on_device.library, {.force = id}).ranked;
      ASSERT_EQ(forced.size(), 1u) << id;
      const auto compiled = measure::run_trial(on_device, *prepared, forced[0], &interpreted->written);
      ASSERT_TRUE(compiled) << to_text(compiled.error());
      EXPECT_EQ(difference(*interpreted, *compiled), "") << id;
    }
  }

  // The first output element that differs. Vulkan leaves open which bits a NaN has.
  static std::string difference(const measure::Trial& expected, const measure::Trial& got) {
    if (got.is_as_known) return "";
    const auto a = elements_of(expected), b = elements_of(got);
    if (!a || !b) return "the outputs have no elements";
    const HostTensor &x = a->at("output"), &y = b->at("output");
    for (int64_t i = 0; i < element_count(x.shape); ++i) {
      const auto at = static_cast<size_t>(i) * bytes(x.dtype);
      if (std::equal(x.data.begin() + static_cast<ptrdiff_t>(at),
                     x.data.begin() + static_cast<ptrdiff_t>(at + bytes(x.dtype)),
                     y.data.begin() + static_cast<ptrdiff_t>(at)))
        continue;
      if (std::isnan(element(x, i)) && std::isnan(element(y, i))) continue;
      return fmt::format("element {} is {}, and interpreted {}", i, element(y, i), element(x, i));
    }
    return "";
  }
};

// Each step is in one of the chains: those of a dtype are its steps, in random order.
TEST_F(ChainKernelsTest, GiveTheBitsOfTheInterpreter) {
  constexpr size_t kLength = 9;
  constexpr DType kDTypes[] = {DType::f32, DType::i32, DType::f16, DType::i8, DType::u8};
  const measure::SampleOptions& sample = testing::sampled_runs().sample.options();
  Random random(static_cast<uint32_t>(sample.seed));
  std::vector<chains::TypedChain> all;
  for (const DType dtype : kDTypes) {
    std::vector<Step> steps = steps_for(dtype);
    for (size_t i = steps.size() - 1; i > 0; --i)
      std::swap(steps[i], steps[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i)))]);
    const bool is_whole = sample.share >= 1 || dtype == DType::f32 || dtype == DType::i32;
    for (size_t begin = 0; begin < (is_whole ? steps.size() : 1); begin += kLength) {
      const auto part = std::span(steps).subspan(begin, std::min(kLength, steps.size() - begin));
      const auto chain = chains::encoded(chain_of(part, dtype, random));
      ASSERT_TRUE(chain);
      all.push_back({dtype, begin == 0 ? dtype : kDTypes[random.integer(0, std::ssize(kDTypes) - 1)], *chain});
    }
  }
  // Each shard has some of them.
  std::vector<chains::TypedChain> own;
  for (size_t i = sample.shard; i < all.size(); i += sample.shards) own.push_back(all[i]);
  expect_the_bits_of_the_interpreter(own, random);
}

// Products at the end of one function and at the begin of the next, which an optimiser would like to join.
TEST_F(ChainKernelsTest, AreRoundedAfterEachStep) {
  if (testing::sampled_runs().sample.options().shard != 0) GTEST_SKIP() << "the first shard runs it";
  Random random(1);
  Formula formula;
  const auto x = formula.input(0), two = formula.real(2);
  const auto power = formula.step(Step::power, formula.step(Step::logarithm, formula.step(Step::absolute, x)), two);
  const auto root = formula.step(Step::square_root, formula.step(Step::exponential, power));
  formula.step(Step::divide, formula.step(Step::multiply, root, formula.real(3)), formula.real(3));
  expect_the_bits_of_the_interpreter({{DType::f32, DType::f32, *chains::encoded(formula)}}, random);
}

// What an optimiser would like to take for zero: x - x of infinity, and products with a truth or a zero.
TEST_F(ChainKernelsTest, KeepNanAndSignedZeros) {
  if (testing::sampled_runs().sample.options().shard != 0) GTEST_SKIP() << "the first shard runs it";
  Random random(1);
  std::vector<chains::TypedChain> all;
  const auto add = [&](auto&& last_of) {
    Formula formula;
    last_of(formula, formula.input(0));
    all.push_back({DType::f32, DType::f32, *chains::encoded(formula)});
  };
  add([](Formula& f, uint32_t x) { f.step(Step::subtract, x, x); });
  add([](Formula& f, uint32_t x) { f.step(Step::multiply, x, f.input(chains::kMaskInput)); });
  add([](Formula& f, uint32_t x) { f.step(Step::multiply, f.real(0), x); });
  add([](Formula& f, uint32_t x) { f.step(Step::add, x, f.real(0)); });
  add([](Formula& f, uint32_t x) {
    f.step(Step::multiply, f.step(Step::less, x, f.real(1)), f.step(Step::negate, x));
  });
  add([](Formula& f, uint32_t x) { f.step(Step::minimum, f.real(-0.0), f.step(Step::multiply, x, f.real(-0.0))); });
  expect_the_bits_of_the_interpreter(all, random);
}

}  // namespace
}  // namespace qgen
