// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A conformance case on disk: a folder with a case.json and the .npy files that it names. tests/conformance/README.md
// has the form.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/calls/registry.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen::runner {

struct ConformanceCase {
  std::string name;  // "quantize_affine/12_b3_int8_-128_127"
  std::string op;
  Request request;
  Tensors expected;
  std::map<std::string, Tolerance, std::less<>> tolerances;  // of an expected tensor without one: exact
  std::optional<double> f16_rel;
};
// Of each case below a folder its case.json, sorted. Errors: there is none; a folder that cannot be read.
Expected<std::vector<std::filesystem::path>> find_cases(const std::filesystem::path& folder);
std::string case_name(const std::filesystem::path& file);
// Nothing is guessed: every unknown entry of a case is an error with its line and column. If the library has the
// operator, names and attributes are checked against it.
Expected<ConformanceCase> load_case(OperatorEntries operators, const std::filesystem::path& file);
// Into a folder, which is made. A written case is exact: it has no tolerances.
Done save_case(const std::filesystem::path& folder, const ConformanceCase& saved);

}  // namespace qgen::runner
