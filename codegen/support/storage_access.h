// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parameter with this name decides how a module accesses buffers of 8- and 16-bit integers: `native`, or `by_words`
// of 32 bits for devices without 8- and 16-bit storage. Both have the same template.
#pragma once

#include <string_view>

namespace qgen {

inline constexpr std::string_view kStorageAccess = "storage_access";
inline constexpr std::string_view kNativeAccess = "native";  // no part of an id
inline constexpr std::string_view kWordAccess = "by_words";

// The word by which ${extensions()} tells the compiler.
inline constexpr std::string_view kWordAccessPragma = "#pragma qgen storage_access(by_words)";

}  // namespace qgen
