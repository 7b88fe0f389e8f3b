// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
//   Head      magic, sizes and checksums of the two parts
//   index     keys, interfaces, resources and the packed family
//   SPIR-V    all modules as one zstd frame; unpacked only when a family must be packed again
#include "codegen/cache/spec_pack.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <set>

#include "codegen/reflect/fields.h"
#include "codegen/support/byte_stream.h"
#include "common/files.h"
#include "runtime/engine/library/blob_format.h"

// The fields of each type, for both directions; found by the types' namespaces.
namespace qgen::blob_format {
template <typename Stream>
void fields(Stream& s, PackedModule& m) {
  s(m.stored, m.raw_bytes, m.checksum);
}
template <typename Stream>
void fields(Stream& s, PackedFamily& f) {
  s(f.dictionary, f.dictionary_raw_bytes, f.modules);
}
}  // namespace qgen::blob_format

namespace qgen::cache {

template <typename Stream>
void fields(Stream& s, CachedModule& m) {
  s(m.spirv, m.interface, m.resources);
}

namespace {

constexpr std::array<char, 8> kMagic{'Q', 'G', 'E', 'N', 'P', 'A', 'K', '2'};
constexpr int kLevel = 1;
constexpr uint64_t kMostRawBytes = uint64_t{1} << 32;

struct Head {
  std::array<char, 8> magic = kMagic;
  Digest index;
  Digest spirv;
  uint64_t index_bytes = 0;
  uint64_t spirv_bytes = 0;
};
template <typename Stream>
void fields(Stream& s, Head& h) {
  s(h.magic, h.index, h.spirv, h.index_bytes, h.spirv_bytes);
}
constexpr size_t kHeadBytes = 56;

// One key of the index.
struct Row {
  Digest key;
  CachedModule module;
};
template <typename Stream>
void fields(Stream& s, Row& r) {
  s(r.key, r.module);
}

struct Index {
  std::vector<Row> rows;
  Digest family_key;
  std::vector<blob_format::PackedFamily> family;  // one or none
};
template <typename Stream>
void fields(Stream& s, Index& i) {
  s(i.rows, i.family_key, i.family);
}

struct Words {
  Digest digest;
  blob_format::Module words;
};
template <typename Stream>
void fields(Stream& s, Words& w) {
  s(w.digest, w.words);
}

std::string compress(const std::string& raw) {
  std::string stored(ZSTD_compressBound(raw.size()), '\0');
  const size_t size = ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), kLevel);
  stored.resize(ZSTD_isError(size) ? 0 : size);
  return stored;
}

std::string decompress(const std::string& stored) {
  const unsigned long long size = ZSTD_getFrameContentSize(stored.data(), stored.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMostRawBytes) return "";
  std::string raw(size, '\0');
  const size_t got = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  return ZSTD_isError(got) ? "" : raw;
}

// With the version of the blob, since a packed family has the blob's bytes.
Digest family_key_of(std::span<const Digest> modules) {
  DigestBuilder builder;
  builder.add(uint64_t{blob_format::kVersion});
  for (const Digest& module : modules) builder.add(module.high).add(module.low);
  return builder.finish();
}

}  // namespace

SpecPack SpecPack::load(const std::string& path) {
  const auto file = read_file(path);
  return file ? from_bytes(*file) : SpecPack();
}

SpecPack SpecPack::from_bytes(std::string_view bytes) {
  if (bytes.size() < kHeadBytes) return {};
  const auto head = qgen::from_bytes<Head>(bytes.substr(0, kHeadBytes));
  if (!head || head->magic != kMagic || head->index_bytes > bytes.size() - kHeadBytes ||
      head->spirv_bytes != bytes.size() - kHeadBytes - head->index_bytes) {
    return {};
  }
  const std::string_view index_bytes = bytes.substr(kHeadBytes, head->index_bytes);
  const std::string_view spirv_bytes = bytes.substr(kHeadBytes + head->index_bytes);
  if (digest_of(index_bytes) != head->index || digest_of(spirv_bytes) != head->spirv) return {};
  auto index = qgen::from_bytes<Index>(index_bytes);
  if (!index) return {};

  SpecPack pack;
  for (Row& row : index->rows) {
    pack.order_.push_back(row.key);
    pack.modules_.emplace(row.key, std::move(row.module));
  }
  pack.family_key_ = index->family_key;
  if (index->family.size() == 1) pack.family_ = std::move(index->family.front());
  pack.packed_spirv_ = spirv_bytes;
  return pack;
}

const CachedModule* SpecPack::find(const Digest& key) const {
  const auto found = modules_.find(key);
  return found == modules_.end() ? nullptr : &found->second;
}

void SpecPack::unpack_spirv() const {
  if (packed_spirv_.empty()) return;
  auto all = qgen::from_bytes<std::vector<Words>>(decompress(packed_spirv_));
  packed_spirv_.clear();
  if (!all) return;
  for (Words& one : *all) spirv_.emplace(one.digest, std::move(one.words));
}

const blob_format::Module* SpecPack::spirv(const Digest& digest) const {
  if (const auto found = spirv_.find(digest); found != spirv_.end()) return &found->second;
  unpack_spirv();
  const auto found = spirv_.find(digest);
  return found == spirv_.end() ? nullptr : &found->second;
}

const blob_format::PackedFamily* SpecPack::family(std::span<const Digest> modules) const {
  return family_ && family_key_ == family_key_of(modules) ? &*family_ : nullptr;
}

bool SpecPack::is_sound() const {
  return std::ranges::all_of(modules_, [this](const auto& entry) {
    const blob_format::Module* words = spirv(entry.second.spirv);
    return words && digest_of({reinterpret_cast<const char*>(words->data()), words->size() * sizeof(uint32_t)}) ==
                        entry.second.spirv;
  });
}

void SpecPack::add(const Digest& key, CachedModule module, blob_format::Module spirv) {
  spirv_.emplace(module.spirv, std::move(spirv));
  if (modules_.insert_or_assign(key, std::move(module)).second) order_.insert(order_.begin(), key);
}

void SpecPack::add_all(const SpecPack& other) {
  for (const Digest& key : other.order_) {
    const CachedModule& module = other.modules_.at(key);
    const blob_format::Module* words = modules_.contains(key) ? nullptr : other.spirv(module.spirv);
    if (words) add(key, module, *words);
  }
}

void SpecPack::set_family(std::span<const Digest> modules, blob_format::PackedFamily packed) {
  family_key_ = family_key_of(modules);
  family_ = std::move(packed);
}

Done SpecPack::store(const std::string& path, std::span<const Digest> used_keys) const {
  return write_file(path, to_bytes(used_keys));
}

std::string SpecPack::to_bytes(std::span<const Digest> used_keys) const {
  unpack_spirv();
  const std::set<Digest> used(used_keys.begin(), used_keys.end());
  std::vector<Digest> keys(used.begin(), used.end());
  for (const Digest& key : order_) {
    if (keys.size() >= 2 * used.size()) break;
    if (used.count(key) == 0) keys.push_back(key);
  }

  Index index;
  std::map<Digest, Words> words;
  for (const Digest& key : keys) {
    const CachedModule* module = find(key);
    const blob_format::Module* spirv = module ? this->spirv(module->spirv) : nullptr;
    if (spirv == nullptr) continue;
    index.rows.push_back({key, *module});
    words.try_emplace(module->spirv, Words{module->spirv, *spirv});
  }
  index.family_key = family_key_;
  if (family_) index.family.push_back(*family_);
  std::vector<Words> all;
  for (auto& [digest, one] : words) all.push_back(std::move(one));

  const std::string index_bytes = qgen::to_bytes(index);
  const std::string spirv_bytes = compress(qgen::to_bytes(all));
  Head head;
  head.index = digest_of(index_bytes);
  head.spirv = digest_of(spirv_bytes);
  head.index_bytes = index_bytes.size();
  head.spirv_bytes = spirv_bytes.size();
  return qgen::to_bytes(head) + index_bytes + spirv_bytes;
}

}  // namespace qgen::cache
