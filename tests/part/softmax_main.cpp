// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A program with one operator of the shipped ones, qgen_add_operators(): how large it is, and that it runs.
#include <cstdio>

#include "operators.h"
#include "qgen/call.h"
#include "registry.h"

int main() {
  using namespace qgen;
  const auto library = KernelLibrary::open(generated::library());
  const auto device = Device::open();
  if (!library || !device) return 1;
  auto executor = Executor::create(*device, *library, {});
  if (!executor) return 1;
  Context context{.profile = device->profile(), .library = *library, .executor = *executor};
  const auto x = executor->upload(zeros(DType::f16, {2, 8}), Storage::buffer);
  const auto y = x ? generated::operators::softmax(context, {.input = *x}) : x.error();
  const auto host = y ? executor->download(*y) : Expected<HostTensor>(y.error());
  if (!host) {
    std::fprintf(stderr, "%s\n", to_text(host.error()).c_str());
    return 1;
  }
  std::printf("%d operators, softmax of zeros is %g\n", static_cast<int>(generated::operators::entries().size()),
              element(*host, 0));
  return generated::operators::entries().size() == 1 && element(*host, 0) == 0.125 ? 0 : 1;
}
