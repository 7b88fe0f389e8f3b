// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Values of a choice that a table does not distinguish are one class of this table. Example: an operator has 16
// kernels, one for each of four forms of its input and four of its output. The tensor that it reads distinguishes only
// four classes. So a table over that tensor has 4 rows for the operator instead of 16.
//
//   const auto fits = classes_of(model);        // by each fit: values with the same mask
//   refined(fits[0].a, fits[1].a)               // values that both have in one class
#pragma once

#include <memory>

#include "runtime/models/planner/choice_model.h"

namespace qgen::planner {

struct ValueClasses {
  std::vector<uint16_t> of;  // of each value
  uint32_t count = 0;
};
using Classes = std::shared_ptr<const ValueClasses>;  // many tables have the same

// The values that a fit distinguishes, for both of its choices.
struct FitClasses {
  Classes a, b;
};
std::vector<FitClasses> classes_of(const ChoiceModel& model);  // one for each fit
Classes refined(const Classes& a, const Classes& b);

}  // namespace qgen::planner
