// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// When something was measured.
#pragma once

#include <string>

namespace qgen {

std::string today();  // UTC, "2026-11-23"

}  // namespace qgen
