// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The words that the spec language gives a meaning: dtypes, storages, layouts; and which names may be declared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/library/layout_table.h"

namespace qgen::spec {

std::vector<std::string> dtype_words();
std::vector<std::string> storage_words();
std::vector<std::string> layout_words();

// Why a name cannot be declared, or nothing. Declared names are names in C++ too.
std::optional<std::string> fault_of_name(std::string_view name);
// Problem fields and specialization constants are names in GLSL, which reserves more.
std::optional<std::string> fault_of_glsl_name(std::string_view name);

}  // namespace qgen::spec
