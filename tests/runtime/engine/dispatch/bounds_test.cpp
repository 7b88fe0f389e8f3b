// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The bounds checks on the device report a kernel that writes past its buffer. So other tests may rely on them. Runs
// only if ctest enables these checks (cmake/QgenDrivers.cmake), on a separate device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "runtime/engine/device/device.h"
#include "runtime/engine/dispatch/executor.h"
#include "tests/runtime/engine/dispatch/kernel_kit.h"

namespace qgen {
namespace {

using testing::KernelKit;

constexpr std::string_view kWriteAt = R"(#version 450
layout(local_size_x = 1) in;
layout(push_constant, std430) uniform Problem { uint place; } problem;
layout(std430, binding = 0) writeonly buffer Data { int data[]; };
void main() { data[problem.place] = 1; })";

bool bounds_are_checked() {
  const char* layers = std::getenv("VK_LAYER_ENABLES");
  return layers && std::string_view(layers).find("GPU_ASSISTED") != std::string_view::npos;
}

// Other tests turn robust buffers on, and must hear of such a write all the same.
class BoundsChecks : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Robust, BoundsChecks, ::testing::Bool());

TEST_P(BoundsChecks, NameAWriteBehindABuffer) {
  if (!bounds_are_checked()) GTEST_SKIP() << "no bounds checks were asked for";
  const KernelKit kit({{.id = "write.at",
                        .glsl = kWriteAt,
                        .operands = {{"data", Access::write, false}},
                        .forms = {{DType::i32, Storage::buffer, 0}},
                        .bindings = {{0, 0, BindingKind::storage_buffer, Access::write}},
                        .push_constants = {{0, 0, sizeof(uint32_t)}}}});
  const KernelLibrary library = kit.library();
  const auto device = Device::open({}, {.validation = true, .robust_buffer_access = GetParam()});
  ASSERT_TRUE(device) << to_text(device.error());
  auto executor = Executor::create(*device, library, {});
  ASSERT_TRUE(executor) << to_text(executor.error());
  const auto data = executor->allocate(DType::i32, Shape{64}, Storage::buffer, Layout::strided);
  ASSERT_TRUE(data) << to_text(data.error());
  const auto write_at = [&](uint32_t place) {
    const Choice choice = kit.choice("write.at", {1, 1, 1}, place);
    const Work work{&choice, {&*data}};
    auto recording = executor->record({&work, 1});
    EXPECT_TRUE(recording && executor->run(*recording));
    return device->validation_messages();
  };
  EXPECT_THAT(write_at(63), ::testing::IsEmpty());
  EXPECT_THAT(write_at(64), ::testing::ElementsAre(::testing::HasSubstr("ccess out of bounds")));
}

}  // namespace
}  // namespace qgen
