// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The words of the shipped operators as enums: what they apply to their real results before they are rounded or
// quantized, how a range is mapped to integers, what the fused operators do.
#pragma once

#include "words.h"

namespace qgen {

using namespace generated::words;

}  // namespace qgen
