// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// y = 3 * x + y on the first device that there is: x counts 0, 1, 2, ..., y is all ones.
#include <cstdio>
#include <cstdlib>

#include "axpy.h"
#include "registry.h"
#include "runtime/dispatch/executor.h"

using namespace qgen;

template <typename T>
T or_exit(Expected<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", to_text(result.error()).c_str());
  std::exit(1);
}

int main() {
  const KernelLibrary library = or_exit(KernelLibrary::open(example::library()));
  const Device device = or_exit(Device::open());
  Executor executor = or_exit(Executor::create(device, library, {}));

  HostTensor x = zeros(DType::f32, {1000});
  HostTensor y = x;
  for (int64_t i = 0; i < 1000; ++i) {
    set_element(x, i, static_cast<double>(i));
    set_element(y, i, 1);
  }
  const DeviceTensor device_x = or_exit(executor.upload(x, Storage::buffer));
  const DeviceTensor device_y = or_exit(executor.upload(y, Storage::buffer));

  const example::axpy::Problem fields{.numel = 1000, .a = 3};
  const Problem problem = make_problem(example::axpy::op, fields, {device_x.desc(), device_y.desc()});
  const Selection selection = select(problem, device.profile(), library);
  std::puts(explain(selection).c_str());
  if (selection.ranked.empty()) return 1;

  const Work work{&selection.ranked.front(), {&device_x, &device_y}};
  Recording recording = or_exit(executor.record({&work, 1}));
  or_exit(executor.run(recording));
  y = or_exit(executor.download(device_y));
  std::printf("y[0] = %g, y[999] = %g\n", element(y, 0), element(y, 999));
  return element(y, 999) == 2998 ? 0 : 1;
}
