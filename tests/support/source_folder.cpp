// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "tests/support/source_folder.h"

#include <cstdlib>

namespace qgen::tests {

std::string source_folder() {
  const char* elsewhere = std::getenv("QGEN_SOURCE_FOLDER");
  return elsewhere ? elsewhere : QGEN_SOURCE_FOLDER;
}

}  // namespace qgen::tests
