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

#include "runtime/onnx/model.h"

namespace qgen::onnx {

struct ReadLimits {
  size_t file_bytes = size_t{1} << 31;  // protobuf reads no more
  size_t nodes = 200'000;
  size_t data_bytes = size_t{1} << 36;  // of all initializers, those that lie in files of their own too
};

struct ReadOptions {
  std::filesystem::path folder = {};  // of external data; empty: there are none
  ReadLimits limits = {};
};

Expected<Model> read_model(std::span<const std::byte> file, const ReadOptions& options);
// With its external data, from the file's folder. Errors name the file.
Expected<Model> load_model(const std::filesystem::path& file, const ReadLimits& limits = {});

}  // namespace qgen::onnx
