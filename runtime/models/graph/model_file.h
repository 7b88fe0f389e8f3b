// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The envelope of a model's file: a header of 32 bytes, a head in JSON, then bytes that the head names by offset. One
// checksum covers all of it.
//
//   bytes 0..31   magic, version, bytes of the head; XXH3 of these 32 bytes with the rest's XXH3 here
//   head          JSON
//   data          what the head names, each at a multiple of 64
#pragma once

#include <array>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/engine/library/error.h"

namespace qgen::graph {

struct FileKind {
  std::array<char, 8> magic;
  uint32_t version;
  std::string_view name;  // "a compiled model"
};

// Bytes behind a head, each text of them once.
class FileData {
 public:
  // Where the bytes begin.
  size_t put(std::span<const std::byte> bytes);
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::multimap<uint64_t, std::pair<size_t, size_t>> known_;  // offset and size, by checksum
};

std::vector<std::byte> write_model_file(const FileKind& kind, std::string_view head, const FileData& data);

struct ModelFile {
  std::string_view head;
  std::span<const std::byte> data;
};
// Views of `file`. Errors: another kind or version of file, a byte that is missing or another.
Expected<ModelFile> open_model_file(const FileKind& kind, std::span<const std::byte> file);
// Whether a file that begins so is of this kind, whole or not. Eight bytes are enough.
bool is_file_of(const FileKind& kind, std::span<const std::byte> begin);

}  // namespace qgen::graph
