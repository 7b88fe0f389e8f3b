// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Two blobs as one, for kernels that join a library at run time. Nothing is compressed again.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/engine/library/error.h"

namespace qgen {

// The modules of `first`, then those of `second`. Errors: those of Blob::open().
Expected<std::vector<std::byte>> joined_blob(std::span<const std::byte> first, std::span<const std::byte> second);

}  // namespace qgen
