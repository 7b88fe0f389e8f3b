// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// When something was measured.
#pragma once

#include <string>
#include <string_view>

namespace qgen {

std::string today();             // UTC, "2026-11-23"
std::string days_ago(int days);  // the same, so many days before

// "2026-02-29" is none, and neither is a day of another century: nothing was measured then.
bool is_date(std::string_view text);

}  // namespace qgen
