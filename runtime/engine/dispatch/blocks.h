// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The bytes of a kernel's push constants or problem buffer, copied from the Problem struct in the module's order.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/engine/library/kernel_info.h"

namespace qgen::dispatch {

// Bytes that no field covers are zero.
std::vector<std::byte> gather_block(std::span<const BlockField> fields, size_t block_bytes,
                                    std::span<const std::byte> problem);

}  // namespace qgen::dispatch
