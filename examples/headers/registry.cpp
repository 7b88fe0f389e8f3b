// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/registry.h: an operator by its name, on tensors in host memory.
#include "qgen/registry.h"

#include <cstdio>

#include "common.h"
#include "operators.h"
#include "registry.h"

using namespace qgen;

int main() {
  const KernelLibrary library = or_exit(KernelLibrary::open(generated::library()));
  const Device device = or_exit(Device::open());
  Executor executor = or_exit(Executor::create(device, library, {}));
  Context context{device.profile(), library, executor};
  const OperatorEntry* softmax = find_operator(generated::operators::entries(), "softmax");
  const Request request = or_exit(complete(*softmax, {.inputs = {{"input", steps(2, 4)}}}));
  const PreparedCall prepared = or_exit(prepare(context, *softmax, request));
  const std::vector<DeviceTensor> outputs = or_exit(run(context, prepared.call, prepared.arguments));
  std::printf("%.4f\n", element(or_exit(executor.download(outputs.front())), 3));
}
