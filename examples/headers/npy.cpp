// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/npy.h: tensors as NumPy stores them.
#include "qgen/npy.h"

#include <cstdio>

#include "common.h"

int main() {
  const std::vector<std::byte> file = qgen::write_npy(steps(2, 3));  // save_npy() writes it to a path
  const qgen::HostTensor x = or_exit(qgen::read_npy(file));          // load_npy() reads it from one
  std::printf("%d bytes, %d dimensions\n", static_cast<int>(file.size()), static_cast<int>(x.shape.size()));
}
