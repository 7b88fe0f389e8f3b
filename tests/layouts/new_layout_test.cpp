// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A new layout needs only a row of the table: packed_4h4c, which no shipped spec names. If a spec names it, the shipped
// template converts tensors between it and every layout, itself included.
#include <algorithm>

#include "clone_with_new_layout.h"
#include "runtime/engine/calls/call.h"
#include "runtime/engine/operators/packed_walk.h"
#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

// Of our registry.h: the shipped kernels, which operators bring, have one of that name too.
namespace layout_tests {
const qgen::LibraryInfo& library();
}

namespace qgen {
namespace {

namespace spec = layout_tests::clone_with_new_layout;

class NewLayoutTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (HasFatalFailure()) return;
    auto library = KernelLibrary::open(layout_tests::library());
    ASSERT_TRUE(library) << to_text(library.error());
    library_.emplace(*std::move(library));
    auto executor = Executor::create(device(), *library_, {.guard_bytes = 64});
    ASSERT_TRUE(executor) << to_text(executor.error());
    executor_.emplace(*std::move(executor));
  }
  void TearDown() override {
    executor_.reset();
    DeviceTest::TearDown();
  }

  void expect_clone(const HostTensor& host, Layout from, Layout to) {
    const Walk walk = walk_of(host.shape, between(to, from));
    const spec::Problem fields{
        .axes = walk.axes,
        .sides = walk.sides,
        .input_strides = block_strides(host.shape, from),
        .output_strides = block_strides(host.shape, to),
        .boxes = walk.boxes,
        .box_shifts = walk.box_shifts,
        .dividers = walk.dividers,
        .flat_blocks = 0,
    };
    const TensorDesc input{host.dtype, host.shape, Storage::buffer, from};
    const TensorDesc output{host.dtype, host.shape, Storage::buffer, to};
    auto uploaded = executor_->upload(host, Storage::buffer, from);
    ASSERT_TRUE(uploaded) << to_text(uploaded.error());
    Context context{.profile = device().profile(), .library = *library_, .executor = *executor_};
    const spec::Operands<Argument> arguments{.input = &*uploaded, .output = Argument()};
    const auto all = run(context, make_call(fields, {.input = input, .output = output}), arguments);
    ASSERT_TRUE(all) << to_text(all.error());
    ASSERT_EQ(all->size(), 1u);
    const DeviceTensor& made = all->front();
    EXPECT_EQ(executor_->download(made)->data, host.data);
    EXPECT_TRUE(*executor_->guards_are_intact(made));
    const auto packed = executor_->upload(host, Storage::buffer, to);
    EXPECT_EQ(*executor_->download_stored(made), *executor_->download_stored(*packed));
  }

 private:
  std::optional<KernelLibrary> library_;
  std::optional<Executor> executor_;
};

TEST_F(NewLayoutTest, TakesARowAndAWord) {
  for (const Shape& shape : {Shape{5}, {3, 32}, {1, 6, 3, 5}, {2, 5, 9, 7}, {2, 8, 8, 8}, {2, 3, 13, 31, 17}}) {
    const HostTensor host = testing::Random(1).integers(DType::i8, shape, -128, 127);
    for (const LayoutInfo& row : kLayouts) {
      if (row.layout != Layout::strided && !row.is_packed_bytes()) continue;
      SCOPED_TRACE(to_text(shape) + " and " + std::string(row.name));
      expect_clone(host, row.layout, Layout::packed_4h4c);
      expect_clone(host, Layout::packed_4h4c, row.layout);
    }
  }
}

}  // namespace
}  // namespace qgen
