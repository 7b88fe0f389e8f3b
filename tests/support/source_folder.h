// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where this repository is, for tests that read its files. One object file knows it; all others are the same in every
// clone, so a compiler's cache filled by one serves the next.
#pragma once

#include <string>

namespace qgen::tests {

std::string source_folder();

}  // namespace qgen::tests
