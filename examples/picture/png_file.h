// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Writes a [3, height, width] tensor of floats from 0 to 1 as a PNG file, with 8 bits per channel.
#pragma once

#include <filesystem>

#include "runtime/engine/library/error.h"
#include "runtime/engine/tensor/tensor.h"

namespace qgen::picture {

Done write_png(const std::filesystem::path& path, const HostTensor& image);

}  // namespace qgen::picture
