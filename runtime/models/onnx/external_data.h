// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads the bytes of a tensor from a file next to the model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/error.h"

namespace qgen::onnx {

struct ExternalPlace {
  std::string location;  // relative to the model's folder, as in the model
  int64_t offset = 0;
};

// `size_bytes` of them. Errors: a place that is not in the folder once symbolic links are followed, a file that is no
// regular one or ends before.
Expected<std::vector<std::byte>> read_external(const std::filesystem::path& folder, const ExternalPlace& place,
                                               int64_t size_bytes);

}  // namespace qgen::onnx
