// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "common/number.h"
#include "onnx/onnx.pb.h"

namespace qgen::onnx {
namespace {

// Whether `path` is below `folder`; both are absolute, without links and dots.
bool is_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

Expected<ExternalPlace> external_place(const ::onnx::TensorProto& tensor) {
  ExternalPlace place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto number = read_number<int64_t>(entry.value());
    if (!number) return refused(fmt::format("the {} of its external data is not an integer", entry.key()));
    if (entry.key() == "offset") place.offset = *number;
    else place.size_bytes = *number;
  }
  return place;
}

Expected<std::vector<std::byte>> read_external(const std::filesystem::path& folder, const ExternalPlace& place,
                                               int64_t size_bytes) {
  const std::filesystem::path said = place.location;
  const auto refuse = [&](const std::string& fault) {
    return refused(fmt::format("external data '{}' {}", place.location, fault));
  };
  const bool climbs = std::ranges::find(said, std::filesystem::path("..")) != said.end();
  if (said.empty() || said.is_absolute() || climbs || place.location.find('\0') != std::string::npos)
    return refuse("is no path in the model's folder");
  if (folder.empty()) return refuse("cannot be read: the model was given without its folder");

  std::error_code failed;
  const auto base = std::filesystem::canonical(folder, failed);
  if (failed) return refuse("cannot be read: the model's folder is gone");
  const auto path = std::filesystem::canonical(base / said, failed);
  if (failed) return refuse("does not exist");
  if (!is_below(path, base)) return refuse("is a link out of the model's folder");
  if (!std::filesystem::is_regular_file(path, failed) || failed) return refuse("is no regular file");
  const auto there = static_cast<int64_t>(std::filesystem::file_size(path, failed));
  if (failed || place.offset < 0 || place.offset > there || size_bytes > there - place.offset)
    return refuse(fmt::format("has {} bytes, and the model needs {} at offset {}", there, size_bytes, place.offset));

  std::vector<std::byte> data(static_cast<size_t>(size_bytes));
  std::ifstream file(path, std::ios::binary);
  file.seekg(place.offset);
  file.read(reinterpret_cast<char*>(data.data()), size_bytes);
  if (!file) return refuse("cannot be read");
  return data;
}

Expected<ModelWithData> with_external_data(const std::string& file, const std::string& location) {
  constexpr size_t kLeastBytes = 1024, kAlignment = 64;
  ::onnx::ModelProto proto;
  if (!proto.ParseFromString(file) || !proto.has_graph()) return refused("it is no ONNX file");
  ModelWithData result;
  const auto set = [](::onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    if (tensor.raw_data().size() < kLeastBytes) continue;
    result.data.resize((result.data.size() + kAlignment - 1) / kAlignment * kAlignment);
    set(tensor, "location", location);
    set(tensor, "offset", std::to_string(result.data.size()));
    set(tensor, "length", std::to_string(tensor.raw_data().size()));
    result.data += tensor.raw_data();
    tensor.clear_raw_data();
    tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  }
  result.file = proto.SerializeAsString();
  return result;
}

}  // namespace qgen::onnx
