// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The fixture of tests that run models of the shipped operators on the device.
#pragma once

#include "operators.h"
#include "registry.h"
#include "runtime/models/graph/model.h"
#include "tests/support/device_test.h"

namespace qgen::testing {

class ShippedTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    auto library = KernelLibrary::open(generated::library());
    ASSERT_TRUE(library) << to_text(library.error());
    library_.emplace(*std::move(library));
    auto executor = Executor::create(device(), *library_, {});
    ASSERT_TRUE(executor) << to_text(executor.error());
    executor_.emplace(*std::move(executor));
    context_.emplace(Context{device().profile(), *library_, *executor_});
  }

  Context& context() { return *context_; }
  graph::Model model_of(graph::Graph graph) {
    return graph::Model::create(*context_, generated::operators::entries(), std::move(graph), {});
  }

 private:
  std::optional<KernelLibrary> library_;
  std::optional<Executor> executor_;
  std::optional<Context> context_;
};

}  // namespace qgen::testing
