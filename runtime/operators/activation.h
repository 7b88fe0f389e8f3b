// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What an operator applies to its real results, before they are rounded or quantized.
#pragma once

#include <cstdint>

namespace qgen {

enum class Activation : uint8_t { none, relu, relu6, hardswish };  // as kernels number them

}  // namespace qgen
