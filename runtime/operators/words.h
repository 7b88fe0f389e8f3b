// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The words of the shipped operators as enums: what they apply to their real results before they are rounded or
// quantized, how a range is mapped to integers, what the fused operators do.
#pragma once

#include "operators.h"

namespace qgen {

using generated::words::Activation;
using generated::words::FusedDtype;
using generated::words::FusedOperation;
using generated::words::MappingType;

}  // namespace qgen
