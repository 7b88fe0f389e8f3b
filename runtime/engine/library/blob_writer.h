// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Modules -> blob (blob_format.h), for codegen and for models that bring their own kernels. A family is packed
// separately, so that an edit of one spec compresses only one family again, and packed families can be kept in a cache.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qgen::blob_format {

using Module = std::vector<uint32_t>;

struct PackedModule {
  std::string stored;  // a zstd frame
  uint32_t raw_bytes = 0;
  uint64_t checksum = 0;  // blob_format::checksum() of the words: the module's digest
  friend bool operator==(const PackedModule&, const PackedModule&) = default;
};

struct PackedFamily {
  std::string dictionary;  // a zstd frame; empty: none
  uint32_t dictionary_raw_bytes = 0;
  std::vector<PackedModule> modules;
  friend bool operator==(const PackedFamily&, const PackedFamily&) = default;
};

// Compresses the modules of one family, each different module once, against a dictionary made of some of them.
PackedFamily pack(std::span<const Module> modules);

// One family of a blob: which packed module each of its rows names.
struct BlobFamily {
  const PackedFamily* packed = nullptr;
  std::span<const uint32_t> rows;
  std::span<const uint64_t> tables = {};  // of each row, a digest of what the tables say of it; empty: unknown
};
std::string write_blob(std::span<const BlobFamily> families);

}  // namespace qgen::blob_format
