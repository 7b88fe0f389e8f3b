// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What an operator applies to its real results, before they are rounded or quantized.
#pragma once

#include <cstdint>
#include <string_view>

namespace qgen {

enum class Activation : uint8_t { none, relu, relu6, hardswish };  // as kernels number them
inline constexpr std::string_view kActivationWords[] = {"none", "relu", "relu6", "hardswish"};

}  // namespace qgen
