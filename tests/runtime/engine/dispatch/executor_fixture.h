// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An Executor with the kernels of executor_kernels.h, and calls of it that fail the test where they fail.
//
//   TEST_F(ExecutorTest, Copies) {
//     const DeviceTensor a = upload(of({1, 2})), b = allocate(DType::i32, {2});
//     const Choice copy = kit().choice("copy.i32", {1, 1, 1}, Count{2, 0});
//     run({{&copy, {&a, &b}}});
//     EXPECT_EQ(integers(b), integers(a));
//   }
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/dispatch/executor.h"
#include "tests/runtime/engine/dispatch/executor_kernels.h"
#include "tests/support/device_test.h"

namespace qgen::testing {

class ExecutorTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    library_.emplace(kit().library());
    executor_.emplace(make_executor({}));
  }
  void TearDown() override {
    executor_.reset();
    DeviceTest::TearDown();
  }

  Executor make_executor(const ExecutorOptions& options) {
    auto made = Executor::create(device(), *library_, options);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  Executor& executor() { return *executor_; }
  const KernelLibrary& library() { return *library_; }

  DeviceTensor upload(const HostTensor& tensor, Storage storage = Storage::buffer, Layout layout = Layout::strided) {
    auto made = executor().upload(tensor, storage, layout);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  DeviceTensor allocate(DType dtype, const Shape& shape, Storage storage = Storage::buffer,
                        Layout layout = Layout::strided) {
    auto made = executor().allocate(dtype, shape, storage, layout);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  HostTensor download(const DeviceTensor& tensor) {
    auto made = executor().download(tensor);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  std::vector<int32_t> integers(const DeviceTensor& tensor) {
    const HostTensor host = download(tensor);
    const auto values = host.as<int32_t>();
    return {values.begin(), values.end()};
  }

  Recording record(const std::vector<Work>& works) {
    auto made = executor().record(works);
    EXPECT_TRUE(made) << to_text(made.error());
    return *std::move(made);
  }
  void run(Recording& recording) {
    const Done ran = executor().run(recording);
    EXPECT_TRUE(ran) << to_text(ran.error());
  }
  void run(const std::vector<Work>& works) {
    Recording recording = record(works);
    run(recording);
  }
  // The message of a recording that must be refused.
  std::string refusal(const std::vector<Work>& works) {
    const auto recorded = executor().record(works);
    EXPECT_FALSE(recorded);
    return recorded ? "" : recorded.error().message;
  }

 private:
  std::optional<KernelLibrary> library_;
  std::optional<Executor> executor_;
};

inline HostTensor counting(DType dtype, const Shape& shape) {
  HostTensor tensor = zeros(dtype, shape);
  for (int64_t i = 0; i < element_count(shape); ++i) set_element(tensor, i, static_cast<double>(i % 100 + 1));
  return tensor;
}

inline std::vector<int32_t> iota(size_t count, int32_t first = 0) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

inline HostTensor of(const std::vector<int32_t>& values) {
  HostTensor tensor = zeros(DType::i32, {static_cast<int64_t>(values.size())});
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return tensor;
}

inline uint64_t groups_of(uint64_t count, uint64_t workgroup = 64) { return (count + workgroup - 1) / workgroup; }

}  // namespace qgen::testing
