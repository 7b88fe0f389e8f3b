// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Calls the project's operator by name, and compares each of its kernels with a plain loop.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "operators.h"
#include "registry.h"

using namespace qgen;

template <typename T>
T or_exit(Expected<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", to_text(result.error()).c_str());
  std::exit(1);
}

float largest_of_row(const HostTensor& tensor, int64_t row) {
  const int64_t columns = tensor.shape.back();
  double largest = -INFINITY;
  for (int64_t k = 0; k < columns; ++k) largest = std::max(largest, element(tensor, row * columns + k));
  return static_cast<float>(largest) * 0.5f;
}

int main() {
  const KernelLibrary library = or_exit(KernelLibrary::open(rows::library()));
  const Device device = or_exit(Device::open());
  Executor executor = or_exit(Executor::create(device, library, {}));
  Context context{device.profile(), library, executor};

  HostTensor values = zeros(DType::f32, {3, 5, 1000});
  for (int64_t i = 0; i < element_count(values.shape); ++i) set_element(values, i, std::sin(static_cast<double>(i)));
  const DeviceTensor input = or_exit(executor.upload(values, Storage::buffer));
  const Call call = or_exit(rows::operators::row_max_call({.input = desc_of(input)}, {.scale = 0.5}));

  const Selection selection = select(call.problem, device.profile(), library, {.all_specializations = true});
  std::puts(explain(selection).c_str());
  int wrong = 0;
  for (const Choice& choice : selection.ranked) {
    context.force_kernel = choice.id;
    const HostTensor made =
        or_exit(executor.download(or_exit(rows::operators::row_max(context, {.input = input}, {.scale = 0.5}))));
    for (int64_t row = 0; row < 15; ++row) wrong += element(made, row) != largest_of_row(values, row);
  }
  std::printf("%d kernels, %d wrong\n", static_cast<int>(selection.ranked.size()), wrong);
  return wrong == 0 && selection.ranked.size() >= 2 ? 0 : 1;
}
