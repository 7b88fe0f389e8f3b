// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The variants of a spec are near copies of each other. So the best dictionary is some of the modules, as raw content,
// taken at even distances in the order of their ids (neighbours are similar). zstd sees modules as packed_spirv.h writes
// them.
#include "runtime/engine/library/blob_writer.h"

#define ZSTD_STATIC_LINKING_ONLY  // ZSTD_createCDict_advanced, for a dictionary that is raw content
#include <zstd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <string_view>

#include "runtime/engine/library/blob_format.h"
#include "runtime/engine/library/packed_spirv.h"

namespace qgen::blob_format {
namespace {

constexpr int kLevel = 19;
constexpr size_t kMostDictionaryModules = 8;
constexpr size_t kMostDictionaryBytes = 256 << 10;

uint64_t checksum_of(std::string_view bytes) { return checksum(std::as_bytes(std::span(bytes.data(), bytes.size()))); }

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_CDict* dictionary) const { ZSTD_freeCDict(dictionary); }
};
using Context = std::unique_ptr<ZSTD_CCtx, FreeZstd>;
using Dictionary = std::unique_ptr<ZSTD_CDict, FreeZstd>;

std::string compress(ZSTD_CCtx* context, const ZSTD_CDict* dictionary, std::string_view raw) {
  std::string stored(ZSTD_compressBound(raw.size()), '\0');
  const size_t size =
      dictionary ? ZSTD_compress_usingCDict(context, stored.data(), stored.size(), raw.data(), raw.size(), dictionary)
                 : ZSTD_compressCCtx(context, stored.data(), stored.size(), raw.data(), raw.size(), kLevel);
  assert(!ZSTD_isError(size) && "the bound is always enough");
  stored.resize(size);
  return stored;
}

std::string dictionary_of(std::span<const std::string> modules) {
  if (modules.size() < 2) return "";
  const size_t count = std::min(kMostDictionaryModules, (modules.size() + 3) / 4);
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view module(modules[(2 * i + 1) * modules.size() / (2 * count)]);
    if (text.size() + module.size() <= kMostDictionaryBytes) text += module;
  }
  return text;
}

Dictionary make_dictionary(const std::string& text) {
  if (text.empty()) return nullptr;
  return Dictionary(ZSTD_createCDict_advanced(text.data(), text.size(), ZSTD_dlm_byRef, ZSTD_dct_rawContent,
                                              ZSTD_getCParams(kLevel, ZSTD_CONTENTSIZE_UNKNOWN, text.size()),
                                              ZSTD_defaultCMem));
}

// Never 0, which stands for "unknown".
uint32_t half_of(uint64_t digest) { return std::max(static_cast<uint32_t>(digest), 1U); }

template <typename T>
void append_bytes(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

}  // namespace

PackedFamily pack(std::span<const Module> modules) {
  const Context context(ZSTD_createCCtx());
  PackedFamily packed;
  std::vector<std::string> texts;
  for (const Module& module : modules) texts.push_back(packed_spirv::pack(module));
  const std::string dictionary_text = dictionary_of(texts);
  const Dictionary dictionary = make_dictionary(dictionary_text);
  if (dictionary) packed.dictionary = compress(context.get(), nullptr, dictionary_text);
  packed.dictionary_raw_bytes = static_cast<uint32_t>(dictionary_text.size());
  for (size_t i = 0; i < modules.size(); ++i) {
    const auto words = std::as_bytes(std::span(modules[i]));
    packed.modules.push_back(
        {compress(context.get(), dictionary.get(), texts[i]), static_cast<uint32_t>(words.size()), checksum(words)});
  }
  return packed;
}

std::string write_blob(std::span<const BlobFamily> families) {
  size_t rows = 0;
  for (const BlobFamily& family : families) rows += family.rows.size();

  std::string frames;
  const uint64_t frames_begin = sizeof(Header) + families.size() * sizeof(FamilyRow) + rows * sizeof(ModuleRow);
  const auto place = [&](const std::string& frame) {
    const uint64_t offset = frames_begin + frames.size();
    frames += frame;
    return offset;
  };

  std::string index;
  for (const BlobFamily& family : families) {
    const PackedFamily& packed = *family.packed;
    append_bytes(index, FamilyRow{.offset = place(packed.dictionary),
                                  .stored_bytes = static_cast<uint32_t>(packed.dictionary.size()),
                                  .raw_bytes = packed.dictionary_raw_bytes});
  }
  for (size_t f = 0; f < families.size(); ++f) {
    std::vector<uint64_t> offsets(families[f].packed->modules.size(), 0);
    for (size_t r = 0; r < families[f].rows.size(); ++r) {
      const uint32_t row = families[f].rows[r];
      const PackedModule& module = families[f].packed->modules[row];
      if (offsets[row] == 0) offsets[row] = place(module.stored);
      append_bytes(index, ModuleRow{.offset = offsets[row],
                                    .stored_bytes = static_cast<uint32_t>(module.stored.size()),
                                    .raw_bytes = module.raw_bytes,
                                    .family = static_cast<uint32_t>(f),
                                    .tables = families[f].tables.empty() ? 0 : half_of(families[f].tables[r]),
                                    .checksum = module.checksum});
    }
  }

  Header header;
  header.families = static_cast<uint32_t>(families.size());
  header.modules = static_cast<uint32_t>(rows);
  header.total_bytes = frames_begin + frames.size();
  header.index_checksum = checksum_of(index);
  std::string blob;
  append_bytes(blob, header);
  return blob + index + frames;
}

}  // namespace qgen::blob_format
