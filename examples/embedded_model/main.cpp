// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs a network that is part of the program: no ONNX, no operators, nothing is chosen. It prints the time to load, and
// the shape of the output: for each of four kinds of objects, how likely each pixel shows it.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "scenes.h"

using namespace qgen;

template <typename T>
T or_exit(Expected<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", to_text(result.error()).c_str());
  std::exit(1);
}

int main() {
  const Device device = or_exit(Device::open());
  const auto began = std::chrono::steady_clock::now();
  scenes::Model model = or_exit(scenes::Model::load(device));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;

  const HostTensor picture = zeros(DType::f32, {1, 3, 256, 384});
  const auto outputs = or_exit(model.run({.input = picture}));
  std::printf("compiled for %s, loaded in %.1f ms\n", model.fixed().compiled_for().c_str(), took.count());
  std::printf("kinds: %s\n", to_text(outputs.kinds_dq->shape).c_str());
}
