// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/graph.h and qgen/model.h: operators by name as a model, which is prepared once for each shape.
#include "qgen/graph.h"

#include <cstdio>

#include "common.h"
#include "operators.h"
#include "qgen/model.h"
#include "registry.h"

using namespace qgen;

int main() {
  graph::Graph net;
  const graph::ValueId x = net.add_input("x", DType::f32, {graph::kAnySide, 4});
  const graph::ValueId shares = net.add({.op = "softmax", .inputs = {{"input", x}}});
  net.add_output("y", net.add({.op = "fused_mul", .inputs = {{"input", shares}, {"other", x}}}));

  const KernelLibrary library = or_exit(KernelLibrary::open(generated::library()));
  const Device device = or_exit(Device::open());
  Executor executor = or_exit(Executor::create(device, library, {}));
  Context context{device.profile(), library, executor};
  auto model = graph::Model::create(context, generated::operators::entries(), std::move(net), {});
  const Tensors outputs = or_exit(model.run({{"x", steps(2, 4)}}));
  std::printf("%.4f\n", element(outputs.at("y"), 3));
}
