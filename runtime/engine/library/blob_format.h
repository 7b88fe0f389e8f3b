// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The bytes of a blob, shared by its writer (blob_writer.cpp) and its reader (blob.cpp):
//
//   Header
//   FamilyRow[families]     the dictionary of each spec's modules
//   ModuleRow[modules]      one for each kernel, in the tables' order: operators by name, kernels by id
//   zstd frames: the dictionaries in family order, then each different module once, in the order of its first row
//
// A module's frame has its words in the form of packed_spirv.h, and a dictionary has such modules.
//
// Every kernel has a row. So its module index is its index in the tables, and the file stores no number for it. The
// rows of identical modules of one family name the same frame.
//
// Each row has a digest of all that the generated tables say of the module: its kernel's id, its interface, and the
// parts of its spec that tables contain. By it KernelLibrary::reload() finds the kernel that a newer module is for.
//
// A dictionary is stored as a zstd frame without a dictionary. Decompressed, it is raw content, or one that zstd
// trained. A family with 0 stored bytes has none, and its modules are plain frames. Numbers are little endian. Every
// field is naturally aligned within its struct, so the structs are the bytes. The file may be at any address, so
// readers copy the structs out.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace qgen::blob_format {

static_assert(std::endian::native == std::endian::little, "the structs below are the file's bytes");

constexpr std::array<char, 8> kMagic{'Q', 'G', 'E', 'N', 'B', 'L', 'O', 'B'};
constexpr uint32_t kVersion = 2;

// The largest sizes that a reader unpacks. Far above any kernel (the largest known take some hundred kilobytes).
constexpr uint32_t kMaxModuleBytes = 64u << 20;
constexpr uint32_t kMaxDictionaryBytes = 16u << 20;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t families = 0;
  uint32_t modules = 0;
  uint32_t reserved = 0;
  uint64_t total_bytes = 0;     // of the file, this header included
  uint64_t index_checksum = 0;  // of all rows as they stand in the file
};

struct FamilyRow {
  uint64_t offset = 0;  // from the start of the file
  uint32_t stored_bytes = 0;
  uint32_t raw_bytes = 0;
};

struct ModuleRow {
  uint64_t offset = 0;
  uint32_t stored_bytes = 0;
  uint32_t raw_bytes = 0;  // of its words: a multiple of 4, not 0
  uint32_t family = 0;
  uint32_t tables = 0;    // the digest of what the tables say of it; 0: unknown
  uint64_t checksum = 0;  // of the words' bytes
  friend bool operator==(const ModuleRow&, const ModuleRow&) = default;
};

static_assert(sizeof(Header) == 40 && sizeof(FamilyRow) == 16 && sizeof(ModuleRow) == 32, "no padding");
static_assert(std::is_trivially_copyable_v<Header> && std::is_trivially_copyable_v<FamilyRow> &&
              std::is_trivially_copyable_v<ModuleRow>);

// XXH3-64, seed 0: of the index, and of each module's words.
uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace qgen::blob_format
