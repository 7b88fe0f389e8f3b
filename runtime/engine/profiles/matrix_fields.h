// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The shape of a cooperative matrix as device files and verdicts have it:
// {m: 16, n: 16, k: 32, a: i8, b: i8, c: i32, result: i32, scope: subgroup}.
#pragma once

#include <string>
#include <vector>

#include "common/yaml/reader.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen::profiles {

// For Reader::fields(): all are required. They refer to `reader` and `shape`.
std::vector<yaml::Field> matrix_fields(yaml::Reader& reader, CooperativeMatrixShape& shape);

// Without the braces.
std::string matrix_text(const CooperativeMatrixShape& shape);

}  // namespace qgen::profiles
