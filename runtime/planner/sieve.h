// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Takes out of stars what no assignment can have: the values that fit none of a neighbour's, then those that fit none
// of what is left, and so on. Where conversions are missing or an operator reads a tensor twice, there are some.
#pragma once

#include <optional>

#include "runtime/planner/stars.h"

namespace qgen::planner {

// Each value fits some value of each neighbour. None: some choice has no value left, so nothing fits.
std::optional<Stars> sifted(Stars stars);

}  // namespace qgen::planner
