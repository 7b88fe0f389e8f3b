// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/online_tuning.h: measures kernels while a program works.
#include "qgen/online_tuning.h"

#include <cstdio>

#include "common.h"
#include "operators.h"
#include "registry.h"

using namespace qgen;

int main() {
  const KernelLibrary library = or_exit(KernelLibrary::open(generated::library()));
  const Device device = or_exit(Device::open());
  Executor executor = or_exit(Executor::create(device, library, {}));
  OnlineTuning online({.share = 0.5});
  Context context{.profile = device.profile(), .library = library, .executor = executor, .online = &online};
  const DeviceTensor x = or_exit(executor.upload(steps(64, 100), Storage::buffer));
  for (int call = 0; call < 20; ++call) or_exit(generated::operators::softmax(context, {.input = x}));
  online.freeze();
  for (const OnlineTime& time : online.times(library)) std::printf("%8.1f us  %s\n", time.us, time.kernel.c_str());
}
