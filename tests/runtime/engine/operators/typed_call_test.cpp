// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Typed functions with a DecisionCache: a call with the arguments of an earlier one is not inferred again, and any other
// one is.
#include "runtime/engine/calls/typed_call.h"

#include <gtest/gtest.h>

#include "operators.h"
#include "registry.h"
#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

namespace qgen {
namespace {

using namespace generated::operators;

template <typename T>
T got(Expected<T> result) {
  EXPECT_TRUE(result) << to_text(result.error());
  return *std::move(result);
}

class TypedCallTest : public testing::DeviceTest {
 protected:
  KernelLibrary library = got(KernelLibrary::open(generated::library()));
  Executor executor = got(Executor::create(device(), library, {}));
  DecisionCache decisions{device().profile(), library};
  Context context{.profile = device().profile(), .library = library, .executor = executor, .decisions = &decisions};
  // The Calls that were run: a kept one is the same object each time.
  std::vector<const Call*> calls;

  TypedCallTest() {
    context.on_call = [this](const Call& call) { calls.push_back(&call); };
  }
  DeviceTensor uploaded(const Shape& shape) {
    return got(executor.upload(testing::Random(1).integers(DType::i8, shape, -128, 127), Storage::buffer));
  }
  std::vector<std::byte> bytes_of(const DeviceTensor& tensor) { return got(executor.download(tensor)).data; }
};

TEST_F(TypedCallTest, InfersEqualArgumentsOnce) {
  const Q8taReluAttributes scales{.input_scale = 0.5, .output_scale = 0.5};
  const DeviceTensor x = uploaded({3, 8}), other = uploaded({3, 8}), wider = uploaded({3, 9});
  const DeviceTensor first = got(q8ta_relu(context, {.input = x}, scales));
  const DeviceTensor second = got(q8ta_relu(context, {.input = other}, scales));
  EXPECT_EQ(bytes_of(first), bytes_of(second));
  EXPECT_EQ(got(q8ta_relu(context, {.input = wider}, scales)).shape(), (Shape{3, 9}));
  EXPECT_TRUE(q8ta_relu(context, {.input = x}, {.input_scale = 0.5, .output_scale = 0.25}));
  EXPECT_TRUE(q8ta_relu(context, {.input = x}, scales, {.output = Representation{.layout = Layout::packed_4w}}));
  EXPECT_TRUE(q8ta_sigmoid(context, {.input = x}, {.input_scale = 0.5, .output_scale = 0.5}));
  EXPECT_TRUE(q8ta_relu(context, {.input = x, .output = &first}, scales));
  EXPECT_TRUE(q8ta_relu(context, {.input = x}, scales));
  ASSERT_EQ(calls.size(), 8u);
  EXPECT_EQ(calls[1], calls[7]) << "the same arguments";
  for (size_t i = 2; i < 7; ++i) {
    EXPECT_NE(calls[i], calls[1]) << "call " << i << " has other arguments";
    for (size_t j = i + 1; j < 7; ++j) EXPECT_NE(calls[i], calls[j]) << i << " and " << j;
  }
}

// Each time anew: what a caller forces or watches is no kept choice.
TEST_F(TypedCallTest, ForcesAndTellsAlsoWhereACallIsKept) {
  const Q8taReluAttributes scales{.input_scale = 0.5, .output_scale = 0.5};
  const DeviceTensor x = uploaded({4, 16});
  const DeviceTensor y = got(q8ta_relu(context, {.input = x}, scales));
  std::vector<std::string> ids;
  context.on_selection = [&](const Selection& selection) {
    for (const Choice& choice : selection.ranked) ids.push_back(choice.id);
  };
  EXPECT_EQ(bytes_of(got(q8ta_relu(context, {.input = x}, scales))), bytes_of(y));
  ASSERT_GT(ids.size(), 1u);
  context.force_kernel = ids.back();
  ids.clear();
  EXPECT_EQ(bytes_of(got(q8ta_relu(context, {.input = x}, scales))), bytes_of(y));
  EXPECT_EQ(ids, std::vector{context.force_kernel});
}

// A refusal is said each time, and a tensor that was moved from is none that an earlier call had.
TEST_F(TypedCallTest, RefusesAgain) {
  const Q8taReluAttributes scales{.input_scale = 0.5, .output_scale = 0.5};
  DeviceTensor x = uploaded({2, 4});
  EXPECT_TRUE(q8ta_relu(context, {.input = x}, scales));
  for (int round = 0; round < 2; ++round) {
    const auto refused = q8ta_relu(context, {.input = x}, {.input_scale = -1.0, .output_scale = 0.5});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("input_scale is -1"), std::string::npos) << refused.error().message;
  }
  const DeviceTensor moved = std::move(x);
  const auto refused = q8ta_relu(context, {.input = x}, scales);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("moved from"), std::string::npos) << refused.error().message;
}

// Lists that do not fit on the stack, views, weights and operands that are left out.
TEST_F(TypedCallTest, KeysTellAllArgumentsApart) {
  const SignatureInfo& signature = *entries().data();
  const auto key = [&](const auto&... arguments) {
    const ArgumentKey made(signature, arguments...);
    return std::vector<std::byte>(made.bytes().begin(), made.bytes().end());
  };
  std::vector<int64_t> list(256, 3), other = list;
  other.back() = 4;
  EXPECT_EQ(key(list), key(list));
  EXPECT_NE(key(list), key(other));
  EXPECT_GT(key(list).size(), 2048u);
  EXPECT_EQ(key(list, 1.0), key(list, 1.0)) << "past the end of the stack's part";
  EXPECT_NE(key(list, 1.0), key(list, 2.0));
  EXPECT_NE(key(std::optional<double>()), key(std::optional(0.0)));
  EXPECT_NE(key(std::vector<int64_t>{1}, std::vector<int64_t>{}), key(std::vector<int64_t>{}, std::vector<int64_t>{1}));
  const DeviceTensor x = uploaded({2, 6});
  const DeviceTensor* none = nullptr;
  EXPECT_NE(key(none), key(&x));
  EXPECT_NE(key(ViewedTensor(x)), key(ViewedTensor(x, {{6, 2}, {1, 6}, 0})));
  EXPECT_NE(key(ViewedTensor(x, {{2}, {1}, 0})), key(ViewedTensor(x, {{2}, {1}, 1})));
  Weight weight = got(Weight::create(zeros(DType::i8, {4, 8}), {}));
  const auto before = key(weight);
  EXPECT_EQ(before, key(weight));
  const Weight moved = std::move(weight);
  EXPECT_NE(before, key(weight));
  EXPECT_EQ(before, key(moved));
}

}  // namespace
}  // namespace qgen
