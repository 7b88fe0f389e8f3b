// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/engine/library/blob_format.h"

namespace qgen::graph {
namespace {

constexpr size_t kDataAlignment = 64;

struct FileHeader {
  std::array<char, 8> magic{};
  uint32_t version = 0;
  uint32_t reserved = 0;
  uint64_t head_bytes = 0;
  uint64_t checksum = 0;  // of all else
};
static_assert(sizeof(FileHeader) == 32, "no padding: the struct is the file's bytes");

uint64_t checksum_of(FileHeader header, std::span<const std::byte> rest) {
  header.checksum = blob_format::checksum(rest);
  return blob_format::checksum(std::as_bytes(std::span(&header, 1)));
}

size_t data_offset(size_t size) { return (size + kDataAlignment - 1) / kDataAlignment * kDataAlignment; }

}  // namespace

size_t FileData::put(std::span<const std::byte> bytes) {
  const uint64_t checksum = blob_format::checksum(bytes);
  const auto [first, last] = known_.equal_range(checksum);
  for (auto known = first; known != last; ++known) {
    const auto [offset, size] = known->second;
    if (std::ranges::equal(std::span(bytes_).subspan(offset, size), bytes)) return offset;
  }
  const size_t offset = data_offset(bytes_.size());
  bytes_.resize(offset);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  known_.emplace(checksum, std::pair(offset, bytes.size()));
  return offset;
}

std::vector<std::byte> write_model_file(const FileKind& kind, std::string_view head, const FileData& data) {
  std::vector<std::byte> file(data_offset(sizeof(FileHeader) + head.size()));
  std::memcpy(file.data() + sizeof(FileHeader), head.data(), head.size());
  file.insert(file.end(), data.bytes().begin(), data.bytes().end());
  FileHeader header{.magic = kind.magic, .version = kind.version, .head_bytes = head.size()};
  header.checksum = checksum_of(header, std::span(file).subspan(sizeof(FileHeader)));
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

bool is_file_of(const FileKind& kind, std::span<const std::byte> begin) {
  return begin.size() >= kind.magic.size() && std::memcmp(begin.data(), kind.magic.data(), kind.magic.size()) == 0;
}

Expected<ModelFile> open_model_file(const FileKind& kind, std::span<const std::byte> file) {
  FileHeader header;
  if (file.size() < sizeof(header)) return refused(fmt::format("this is not {}: it is too short", kind.name));
  std::memcpy(&header, file.data(), sizeof(header));
  if (!is_file_of(kind, file)) return refused(fmt::format("this is not {}", kind.name));
  if (header.version != kind.version) {
    return refused(
        fmt::format("it is {} of version {}, and this program reads {}", kind.name, header.version, kind.version),
        "compile the model again");
  }
  const auto rest = file.subspan(sizeof(header));
  if (header.head_bytes > rest.size() || checksum_of(header, rest) != header.checksum)
    return refused("it is damaged: its checksum is wrong", "compile the model again");
  const std::string_view head(reinterpret_cast<const char*>(rest.data()), header.head_bytes);
  const size_t begin = std::min(data_offset(sizeof(header) + header.head_bytes), file.size());
  return ModelFile{head, file.subspan(begin)};
}

}  // namespace qgen::graph
