// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads the bytes of tensors from files next to the model, and moves them there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"

namespace onnx {
class TensorProto;
}

namespace qgen::onnx {

struct ExternalPlace {
  std::string location;  // relative to the model's folder, as in the model
  int64_t offset = 0;
  std::optional<int64_t> size_bytes;  // nullopt: the model does not say it
};
// Where a tensor's data are. Errors: an offset or a length that is not an integer.
Expected<ExternalPlace> external_place(const ::onnx::TensorProto& tensor);

// `size_bytes` of them. Errors: a place that is not in the folder once symbolic links are followed, a file that is no
// regular one or ends before.
Expected<std::vector<std::byte>> read_external(const std::filesystem::path& folder, const ExternalPlace& place,
                                               int64_t size_bytes);

// A model whose tensors are in a file next to it.
struct ModelWithData {
  std::string file;  // the model's bytes
  std::string data;  // the bytes of the other file
};
// Moves the constants of at least 1 KiB of the model `file` to another file, which will be at `location`, in its folder.
// Each begins at a multiple of 64 bytes. Errors: no ONNX file.
Expected<ModelWithData> with_external_data(const std::string& file, const std::string& location);

}  // namespace qgen::onnx
