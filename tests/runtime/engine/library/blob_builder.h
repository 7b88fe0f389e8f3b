// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Blobs made by hand, for the tests of everything that reads one. Plain and slow; codegen/emit is the real writer.
//
//   BlobBuilder builder;
//   builder.add_family(dictionary);              // bytes; empty: none
//   builder.add_module(0, words);
//   const std::vector<std::byte> bytes = builder.build();
#pragma once

#include <zstd.h>

#include <cassert>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/engine/library/blob_format.h"
#include "runtime/engine/library/packed_spirv.h"

namespace qgen::test {

using ByteVector = std::vector<std::byte>;

inline ByteVector zstd_frame(std::span<const std::byte> raw, const ByteVector& dictionary, int level = 19) {
  ByteVector frame(ZSTD_compressBound(raw.size()));
  ZSTD_CCtx* context = ZSTD_createCCtx();
  const size_t size = ZSTD_compress_usingDict(context, frame.data(), frame.size(), raw.data(), raw.size(),
                                              dictionary.data(), dictionary.size(), level);
  ZSTD_freeCCtx(context);
  assert(!ZSTD_isError(size) && "compressBound() bytes are enough");
  frame.resize(size);
  return frame;
}

class BlobBuilder {
 public:
  void add_family(ByteVector dictionary) {
    dictionaries_.push_back(std::move(dictionary));
    family_frames_.push_back(dictionaries_.back().empty() ? ByteVector{} : zstd_frame(dictionaries_.back(), {}));
  }

  // `tables`: ModuleRow::tables; 0: unknown.
  void add_module(uint32_t family, const std::vector<uint32_t>& words, uint32_t tables = 0) {
    const auto raw = std::as_bytes(std::span(words));
    const std::string packed = packed_spirv::pack(words);
    module_frames_.push_back(zstd_frame(std::as_bytes(std::span(packed)), dictionaries_.at(family)));
    rows_.push_back({.raw_bytes = static_cast<uint32_t>(raw.size()),
                     .family = family,
                     .tables = tables,
                     .checksum = blob_format::checksum(raw)});
  }

  // The parts as they will stand, for tests that damage one and seal the file again.
  struct Parts {
    blob_format::Header header;
    std::vector<blob_format::FamilyRow> families;
    std::vector<blob_format::ModuleRow> modules;
    ByteVector frames;
  };

  Parts parts() const {
    Parts parts;
    uint64_t offset = sizeof(blob_format::Header) + dictionaries_.size() * sizeof(blob_format::FamilyRow) +
                      rows_.size() * sizeof(blob_format::ModuleRow);
    const auto place = [&](const ByteVector& frame, auto row) {
      row.offset = offset;
      row.stored_bytes = static_cast<uint32_t>(frame.size());
      offset += frame.size();
      parts.frames.insert(parts.frames.end(), frame.begin(), frame.end());
      return row;
    };
    for (size_t i = 0; i < dictionaries_.size(); ++i) {
      parts.families.push_back(place(
          family_frames_[i], blob_format::FamilyRow{.raw_bytes = static_cast<uint32_t>(dictionaries_[i].size())}));
    }
    for (size_t i = 0; i < rows_.size(); ++i) parts.modules.push_back(place(module_frames_[i], rows_[i]));
    return parts;
  }

  // Joins the parts; counts, size and the index's checksum are filled in.
  static ByteVector seal(Parts parts) {
    ByteVector index;
    const auto append = [](ByteVector& to, const void* from, size_t size) {
      to.resize(to.size() + size);
      if (size > 0) std::memcpy(to.data() + to.size() - size, from, size);
    };
    append(index, parts.families.data(), parts.families.size() * sizeof(blob_format::FamilyRow));
    append(index, parts.modules.data(), parts.modules.size() * sizeof(blob_format::ModuleRow));
    parts.header.families = static_cast<uint32_t>(parts.families.size());
    parts.header.modules = static_cast<uint32_t>(parts.modules.size());
    parts.header.total_bytes = sizeof(parts.header) + index.size() + parts.frames.size();
    parts.header.index_checksum = blob_format::checksum(index);
    ByteVector file;
    append(file, &parts.header, sizeof(parts.header));
    append(file, index.data(), index.size());
    append(file, parts.frames.data(), parts.frames.size());
    return file;
  }

  ByteVector build() const { return seal(parts()); }

 private:
  std::vector<ByteVector> dictionaries_;
  std::vector<ByteVector> family_frames_;
  std::vector<ByteVector> module_frames_;
  std::vector<blob_format::ModuleRow> rows_;
};

}  // namespace qgen::test
