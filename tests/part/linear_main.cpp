// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The same with q8ta_linear, for three devices.
#include <cstdio>

#include "operators.h"
#include "qgen/call.h"
#include "registry.h"

using namespace qgen;

// Prints the error, if there is one.
template <typename Result>
bool is_there(const Result& result) {
  if (!result) std::fprintf(stderr, "%s\n", to_text(result.error()).c_str());
  return bool(result);
}

int main() {
  const auto library = KernelLibrary::open(generated::library());
  const auto device = Device::open();
  if (!is_there(library) || !is_there(device)) return 1;
  auto executor = Executor::create(*device, *library, {});
  auto weight = Weight::create(zeros(DType::i8, {32, 64}), {});
  if (!is_there(executor) || !is_there(weight)) return 1;
  Context context{.profile = device->profile(), .library = *library, .executor = *executor};
  const auto x = executor->upload(zeros(DType::i8, {4, 64}), Storage::buffer);
  const auto scales = executor->upload(zeros(DType::f32, {32}), Storage::buffer);
  if (!is_there(x) || !is_there(scales)) return 1;
  const auto y = generated::operators::q8ta_linear(context, {.input = *x, .weight = *weight, .weight_scales = *scales},
                                                   {.input_scale = 1.0, .output_scale = 1.0, .output_zero_point = 5});
  const auto host = y ? executor->download(*y) : Expected<HostTensor>(y.error());
  if (!is_there(host)) return 1;
  std::printf("q8ta_linear of zeros is %g\n", element(*host, 0));
  return element(*host, 0) == 5 ? 0 : 1;
}
