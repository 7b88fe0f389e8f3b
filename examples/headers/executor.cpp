// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/executor.h and qgen/call.h: tensors on a device, and an operator that runs at once.
#include "qgen/executor.h"

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
  const DeviceTensor x = or_exit(executor.upload(steps(2, 4), Storage::buffer));
  const DeviceTensor y = or_exit(generated::operators::softmax(context, {.input = x}));
  std::printf("%.4f\n", element(or_exit(executor.download(y)), 3));
}
