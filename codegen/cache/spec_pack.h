// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The cache file of one spec. It has the SPIR-V, interface and resources of each compiled module, under the digest of
// everything that reached the compiler; and the compressed family of the blob.
//
//   SpecPack pack = SpecPack::load(path);
//   if (const CachedModule* known = pack.find(key)) ...
//   ...
//   pack.store(path, keep);
//
// A pack may be deleted or damaged at any time: load() then knows less, and the outputs are the same. Files are checked
// against their checksums as they are read.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/reflect/interface.h"
#include "codegen/support/digest.h"
#include "common/error.h"
#include "runtime/engine/library/blob_writer.h"

namespace qgen::cache {

struct CachedModule {
  Digest spirv;  // of the stripped module's words
  reflect::Interface interface;
  std::vector<reflect::Resources> resources;
};

class SpecPack {
 public:
  SpecPack() = default;
  // A file that is missing, damaged or of another format is an empty pack.
  static SpecPack load(const std::string& path);
  static SpecPack from_bytes(std::string_view bytes);

  const CachedModule* find(const Digest& key) const;
  // The words of a module; null only if the file is damaged.
  const blob_format::Module* spirv(const Digest& digest) const;
  // The packed family: the last one, or null unless it was made of exactly these modules in this order.
  const blob_format::PackedFamily* family() const { return family_ ? &*family_ : nullptr; }
  const blob_format::PackedFamily* family(std::span<const Digest> modules) const;

  void add(const Digest& key, CachedModule module, blob_format::Module spirv);
  bool is_empty() const { return modules_.empty(); }
  size_t size() const { return modules_.size(); }
  // Whether each key has a module, and each module the bytes that its digest says: not so if others made the file.
  bool is_sound() const;
  // Takes what this pack does not have yet.
  void add_all(const SpecPack& other);
  void set_family(std::span<const Digest> modules, blob_format::PackedFamily packed);

  // Writes the modules that this run used, and as many unused ones again. Going back to yesterday's template stays
  // fast, and the file stays small.
  Done store(const std::string& path, std::span<const Digest> used_keys) const;
  std::string to_bytes(std::span<const Digest> used_keys) const;  // the same file

 private:
  void unpack_spirv() const;

  std::map<Digest, CachedModule> modules_;
  std::vector<Digest> order_;  // keys, the most recently used first
  Digest family_key_;
  std::optional<blob_format::PackedFamily> family_;
  mutable std::map<Digest, blob_format::Module> spirv_;
  mutable std::string packed_spirv_;  // not unpacked yet: most runs need no module again
};

}  // namespace qgen::cache
