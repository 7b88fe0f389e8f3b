// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An ONNX file's bytes as a Model. Nothing in them is trusted: sizes are compared with the data that are there before
// anything is allocated for them, and external data lie in the model's own folder or below it, symbolic links followed.
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
