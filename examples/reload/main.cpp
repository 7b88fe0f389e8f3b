// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs y = scale(x) again whenever qgen has written new kernels:
//
//   qgen specs --templates templates -o out --watch     in one terminal
//   build/reload out/kernels.blob                       in another one; then edit templates/scale.comp
//
// It looks at the file a few hundred times a second; a real program does so once a frame.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "qgen/executor.h"
#include "registry.h"
#include "scale.h"

using namespace qgen;
namespace fs = std::filesystem;

template <typename T>
T or_exit(Expected<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", to_text(result.error()).c_str());
  std::exit(1);
}

// y[999], where x is all ones. A new recording has the pipelines of the library's present modules.
double result_of(Executor& executor, const Choice& choice, const DeviceTensor& x, const DeviceTensor& y) {
  const example::scale::Operands<const DeviceTensor*> tensors{.x = &x, .y = &y};
  const Work work{&choice, in_order(tensors)};
  Recording recording = or_exit(executor.record({&work, 1}));
  or_exit(executor.run(recording));
  return element(or_exit(executor.download(y)), 999);
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: reload out/kernels.blob\n");
    return 2;
  }
  const std::string blob = argv[1];
  KernelLibrary library = or_exit(KernelLibrary::open(example::library()));
  const Device device = or_exit(Device::open());
  Executor executor = or_exit(Executor::create(device, library, {}));

  HostTensor ones = zeros(DType::f32, {1000});
  for (int64_t i = 0; i < 1000; ++i) set_element(ones, i, 1);
  const DeviceTensor x = or_exit(executor.upload(ones, Storage::buffer));
  const DeviceTensor y = or_exit(executor.allocate(DType::f32, {1000}, Storage::buffer));
  const example::scale::Problem fields{.numel = 1000};
  const Problem problem = make_problem(fields, {.x = x.desc(), .y = y.desc()});
  const Selection selection = select(problem, device.profile(), library);
  if (selection.ranked.empty()) {
    std::fprintf(stderr, "%s\n", explain(selection).c_str());
    return 1;
  }

  std::printf("y = %g\n", result_of(executor, selection.ranked.front(), x, y));
  std::fflush(stdout);
  fs::file_time_type seen;
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    std::error_code code;
    const fs::file_time_type now = fs::last_write_time(blob, code);
    if (code || now == seen) continue;
    seen = now;
    if (const auto changed = library.reload(blob); !changed) {
      std::fprintf(stderr, "%s\n", to_text(changed.error()).c_str());  // the old kernels stay
    } else if (*changed > 0) {
      std::printf("y = %g, kernels changed: %zu\n", result_of(executor, selection.ranked.front(), x, y), *changed);
      std::fflush(stdout);
    }
  }
}
