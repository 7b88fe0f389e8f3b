// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen/device_file.h: a device that is not here, as a file.
//
//   device_file FILE
#include "qgen/device_file.h"

#include <cstdio>

#include "common.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const qgen::DeviceProfile profile = or_exit(qgen::profiles::load_device(arguments[1]));
  std::printf("%s\n", qgen::profiles::to_yaml(profile).c_str());
}
