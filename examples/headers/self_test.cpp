// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/self_test.h: whether the device computes what it says it can.
#include "qgen/self_test.h"

#include <cstdio>

#include "common.h"
#include "registry.h"

using namespace qgen;

int main() {
  const KernelLibrary library = or_exit(KernelLibrary::open(generated::library()));
  const Device device = or_exit(Device::open());
  const auto findings = or_exit(self_test::run(device, library));  // checked_profile() also stores the verdict
  std::printf("%s", self_test::to_text(findings).c_str());
}
