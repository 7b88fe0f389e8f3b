// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/tensor.h: tensors in host memory.
#include "qgen/tensor.h"

#include <cstdio>

#include "common.h"

int main() {
  const qgen::HostTensor x = steps(2, 3);
  or_exit(qgen::check_host_tensor(x, "x"));
  std::printf("%d elements, the last is %g\n", static_cast<int>(qgen::element_count(x.shape)), qgen::element(x, 5));
}
