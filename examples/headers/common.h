// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the examples of headers share: the value, or the reason why there is none and exit code 1.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "qgen/error.h"
#include "qgen/tensor.h"

template <typename T>
T or_exit(qgen::Expected<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", qgen::to_text(result.error()).c_str());
  std::exit(1);
}

// f32 [rows, columns], with the values 0, 1, 2, 3, 0, ...
inline qgen::HostTensor steps(int64_t rows, int64_t columns) {
  qgen::HostTensor made = qgen::zeros(qgen::DType::f32, {rows, columns});
  int step = 0;
  for (float& value : made.as<float>()) value = static_cast<float>(step++ % 4);
  return made;
}
