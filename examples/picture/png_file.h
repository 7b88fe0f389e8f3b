// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A [3, height, width] tensor of reals in 0..1 as a PNG file, 8 bits a channel.
#pragma once

#include <filesystem>

#include "runtime/engine/library/error.h"
#include "runtime/engine/tensor/tensor.h"

namespace qgen::picture {

Done write_png(const std::filesystem::path& path, const HostTensor& image);

}  // namespace qgen::picture
