// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compiled models on the kernels that their files hold, without any library of the program; and parts that do not hold
// together.
#include "runtime/models/graph/own_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "common/files.h"
#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/model.h"
#include "tests/support/device_test.h"
#include "tests/support/networks.h"
#include "tests/support/source_folder.h"

namespace qgen::graph {
namespace {

using ::testing::HasSubstr;

class OwnKernelsTest : public testing::DeviceTest {
 protected:
  // A model that was run by the shipped library, written, and read again.
  void SetUp() override {
    DeviceTest::SetUp();
    const auto library = KernelLibrary::open(generated::library());
    ASSERT_TRUE(library) << to_text(library.error());
    auto executor = Executor::create(device(), *library, {});
    ASSERT_TRUE(executor) << to_text(executor.error());
    Context context{device().profile(), *library, *executor};
    Model model = Model::create(context, generated::operators::entries(), testing::joined_network(kAnySide), {});
    const auto outputs = model.run(inputs());
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    outputs_ = *outputs;
    const auto compiled = model.compiled();
    ASSERT_TRUE(compiled) << to_text(compiled.error());
    auto read = read_compiled(write_compiled(*compiled));
    ASSERT_TRUE(read) << to_text(read.error());
    compiled_ = *std::move(read);
  }

  static Tensors inputs(int64_t batch = 1) {
    return {{"image", testing::Random(3).reals(DType::f32, {batch, 3, 8, 12}, -4, 4)}};
  }

  Expected<Tensors> run(const Compiled& compiled, const Tensors& given) {
    const KernelLibrary& library = compiled.own_kernels->library();
    auto executor = Executor::create(device(), library, {});
    if (!executor) return executor.error();
    Context context{device().profile(), library, *executor};
    return Model::create(context, generated::operators::entries(), compiled, {}).run(given);
  }

  Compiled compiled_;
  Tensors outputs_;
};

// A format that changes leaves older seeds behind, and then the fuzzer only meets refusals.
TEST(OwnKernels, SeedsOfTheFuzzerAreRead) {
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(tests::source_folder() + "/tests/fuzz/corpus/compiled")) {
    const auto bytes = read_file(file.path().string());
    ASSERT_TRUE(bytes) << file;
    const auto compiled = read_compiled(std::as_bytes(std::span(*bytes)));
    EXPECT_TRUE(compiled) << file << to_text(compiled.error());
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST_F(OwnKernelsTest, GiveTheSame) {
  const auto outputs = run(compiled_, inputs());
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  EXPECT_TRUE(outputs->at("classes").data == outputs_.at("classes").data);
}

TEST_F(OwnKernelsTest, AreThoseThatAreLaunchedEachOnce) {
  const OwnKernels::Parts& parts = compiled_.own_kernels->parts();
  std::set<uint32_t> launched;
  for (const auto& choice : parts.choices) {
    for (const auto& launch : choice.launches) launched.insert(launch.kernel);
  }
  EXPECT_EQ(launched.size(), parts.kernels.size());
  const Blob& blob = compiled_.own_kernels->library().blob();
  std::set<uint64_t> digests;
  for (size_t i = 0; i < blob.module_count(); ++i) digests.insert(blob.module_digest(i));
  EXPECT_EQ(digests.size(), blob.module_count());
  EXPECT_LE(blob.module_count(), parts.kernels.size());
}

TEST_F(OwnKernelsTest, AreForNoOtherShapes) {
  const auto outputs = run(compiled_, inputs(2));
  ASSERT_FALSE(outputs);
  EXPECT_THAT(outputs.error().message, HasSubstr("kernels for another device, driver or shapes only"));
}

TEST_F(OwnKernelsTest, AreNoneToChooseFrom) {
  const KernelLibrary& library = compiled_.own_kernels->library();
  EXPECT_EQ(library.find("q8ta_conv2d"), nullptr);
  const OperatorInfo& op = *library.operators().front();
  std::vector<OperandDesc> descs(op.operands.size());
  for (size_t i = 0; i < descs.size(); ++i) {
    const OperandForm form = op.form(op.kernels.front().parameters, i);
    descs[i].dtype = form.dtype;
    for (const LayoutInfo& row : kLayouts) {
      if ((form.layouts & bit(row.layout)) != 0) descs[i].layout = row.layout;
    }
  }
  const Selection selection = select(make_problem(op, {}, std::move(descs)), device().profile(), library);
  EXPECT_TRUE(selection.ranked.empty());
}

TEST_F(OwnKernelsTest, DamagedModulesAreRefused) {
  OwnKernels::Parts parts = compiled_.own_kernels->parts();
  parts.blob.back() = static_cast<char>(parts.blob.back() ^ 1);
  auto own = OwnKernels::create(std::move(parts));
  ASSERT_TRUE(own) << to_text(own.error());
  Compiled damaged = compiled_;
  damaged.own_kernels = *own;
  const auto outputs = run(damaged, inputs());
  ASSERT_FALSE(outputs);
  EXPECT_THAT(outputs.error().message, HasSubstr("the kernel blob is damaged: module"));
}

TEST_F(OwnKernelsTest, PartsThatDoNotHoldTogetherAreRefused) {
  const OwnKernels::Parts whole = compiled_.own_kernels->parts();
  const auto refusal = [&](const std::function<void(OwnKernels::Parts&)>& change) {
    OwnKernels::Parts parts = whole;
    change(parts);
    const auto own = OwnKernels::create(std::move(parts));
    return own ? "nothing is refused" : own.error().message;
  };
  using Parts = OwnKernels::Parts;
  const std::pair<std::function<void(Parts&)>, std::string> rows[] = {
      {[](Parts& p) { p.kernels[0].bindings[0].operand = 77; }, "binds an operand that it does not have"},
      {[](Parts& p) { p.kernels[0].bindings[0].operand = kProblemOperand; }, "binds a block of no bytes"},
      {[](Parts& p) { p.kernels[0].bindings[1].binding = p.kernels[0].bindings[0].binding; },
       "binds two operands at one"},
      {[](Parts& p) { p.kernels[0].push_constants_bytes -= 4; }, "has a field past the end of its block"},
      {[](Parts& p) { p.kernels[0].push_constants_bytes += 1; }, "not a multiple of 4"},
      {[](Parts& p) { p.kernels[0].specialization.clear(); }, "a value of its specialization"},
      {[](Parts& p) { p.kernels[0].module = 1000; }, "names module 1000, and the blob has"},
      {[](Parts& p) { p.choices[0].launches.clear(); }, "launches nothing"},
      {[](Parts& p) { p.choices[0].launches[0].kernel = 1000; }, "names a kernel that does not exist"},
      {[](Parts& p) { p.choices[0].launches[0].operands.pop_back(); }, "has other operands than its kernel"},
      {[](Parts& p) {
         p.choices[0].launches[0].operands[0] = {true, 9};
       },
       "names scratch that does not exist"},
      {[](Parts& p) { p.choices[0].scratch.push_back({}); }, "is no recipe"},
      {[](Parts& p) {
         p.choices[0].is_recipe = true, p.choices[0].scratch = {{"a", DType::f32, uint64_t{1} << 50}};
       },
       "has too much scratch"},
      {[](Parts& p) { p.blob.pop_back(); }, "the kernel blob is damaged"},
  };
  for (const auto& [change, message] : rows) EXPECT_THAT(refusal(change), HasSubstr(message));
}

}  // namespace
}  // namespace qgen::graph
