// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "tests/support/source_folder.h"

namespace qgen::tests {

std::string source_folder() { return QGEN_SOURCE_FOLDER; }

}  // namespace qgen::tests
