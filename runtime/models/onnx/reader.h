// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reads a Model from the bytes of an ONNX file. Nothing in them is trusted: sizes are compared with the existing data
// before memory is allocated. External data must be in the model's folder or below it, also through symbolic links.
//
//   const auto model = read_model(bytes, {.folder = "models"});
//   if (!model) return model.error();      // "tensor 'conv1.weight': its shape takes 9408 bytes, and it has 12"
#pragma once

#include <filesystem>
#include <span>

#include "runtime/models/onnx/model.h"
#include "runtime/models/onnx/read_limits.h"

namespace qgen::onnx {

struct ReadOptions {
  std::filesystem::path folder = {};  // of external data; empty: there are none
  ReadLimits limits = {};
};

Expected<Model> read_model(std::span<const std::byte> file, const ReadOptions& options);
// With its external data, from the file's folder. Errors name the file.
Expected<Model> load_model(const std::filesystem::path& file, const ReadLimits& limits = {});

}  // namespace qgen::onnx
