// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/select.h: ranks the kernels for a problem, on a device that may be a file. Without Vulkan.
//
//   select FILE
#include "qgen/select.h"

#include <cstdio>

#include "common.h"
#include "operators.h"
#include "qgen/device_file.h"
#include "registry.h"

using namespace qgen;

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const DeviceProfile profile = or_exit(profiles::load_device(arguments[1]));
  const KernelLibrary library = or_exit(KernelLibrary::open(generated::library()));
  const TensorDesc x{.dtype = DType::f32, .shape = {64, 1000}};
  const Call call = or_exit(generated::operators::softmax_call({.input = x}));
  const Selection selection = select(call.problem, profile, library);
  for (const Choice& choice : selection.ranked) std::printf("%8.1f us  %s\n", choice.time_us, choice.id.c_str());
  return selection.ranked.empty() ? 1 : 0;
}
