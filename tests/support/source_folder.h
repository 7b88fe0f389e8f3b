// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where this repository is, for tests that read its files. One object file knows it; all others are the same in every
// clone, so a compiler's cache filled by one serves the next. On a machine without it, QGEN_SOURCE_FOLDER in the
// environment is a folder with the files that the tests read there (tests/try_device).
#pragma once

#include <string>

namespace qgen::tests {

std::string source_folder();

}  // namespace qgen::tests
