// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The words of attributes that several operators have, as enums: what they apply to their real results before they are
// rounded or quantized, and how a range is mapped to integers.
#pragma once

#include "operators.h"

namespace qgen {

using generated::operators::Activation;
using generated::operators::MappingType;

}  // namespace qgen
