// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The file of all SPIR-V modules, with random access. Each identical module is there once. Each family (spec) is
// compressed with its own dictionary. codegen/emit writes it; this reads it. blob_format.h is the layout.
//
//   const auto blob = Blob::open(bytes);       // checks the whole index, unpacks nothing
//   const auto words = blob->module(17);       // some ten microseconds, once its family's dictionary is unpacked
//
// The reader trusts nothing: every offset and size is checked against the file, and a module against its checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/engine/library/error.h"

namespace qgen {

class Blob {
 public:
  // `bytes` must outlive the Blob. Errors: not a blob, another version, an index that is damaged.
  static Expected<Blob> open(std::span<const std::byte> bytes);

  // The same of bytes that the Blob and its copies keep.
  static Expected<Blob> own(std::vector<std::byte> bytes);

  size_t family_count() const;
  size_t module_count() const;
  size_t raw_bytes() const;  // of all modules together

  // The words of one module. Safe from many threads; a family's dictionary is unpacked at its first use and kept.
  // Errors: index out of range, damaged bytes.
  Expected<std::vector<uint32_t>> module(size_t index) const;
  // The checksum that the index holds. Of a kernel: KernelLibrary::digest().
  uint64_t module_digest(size_t index) const;
  // A digest of what the tables of the module's run say of it (blob_format.h). 0: unknown.
  uint32_t tables_digest(size_t index) const;
  size_t family_of(size_t index) const;  // of a module that is there

  Blob(const Blob&) = default;  // and no move: copies share the unpacked modules, and none is ever empty
  Blob& operator=(const Blob&) = default;

 private:
  struct State;
  explicit Blob(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;  // never null
};

}  // namespace qgen
