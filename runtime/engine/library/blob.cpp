// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// open() reads the index once and checks every row against the file. The frames must fill the bytes after the index
// without gaps, and a module that repeats a frame must repeat the whole row. So no later access needs to check an
// offset again. The size of an unpacked frame is bounded by its row, which is bounded by blob_format.h. The result must
// have the row's checksum.
//
// A family's dictionary is digested (ZSTD_DDict) at the first use of one of its modules. Digesting costs about as much
// as unpacking ten modules, and a program that runs three operators uses three families of dozens.
#include "runtime/engine/library/blob.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "runtime/engine/library/blob_format.h"
#include "runtime/engine/library/packed_spirv.h"

namespace qgen {
namespace {

using blob_format::FamilyRow;
using blob_format::Header;
using blob_format::ModuleRow;
using Bytes = std::span<const std::byte>;

struct FreeZstd {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_DDict* dictionary) const { ZSTD_freeDDict(dictionary); }
};
using Context = std::unique_ptr<ZSTD_DCtx, FreeZstd>;
using Dictionary = std::unique_ptr<ZSTD_DDict, FreeZstd>;

struct Family {
  FamilyRow row;
  std::once_flag is_unpacked;
  Dictionary dictionary;        // null: the family has none
  std::optional<Error> damage;  // of the dictionary
};

Error damaged(std::string_view what) {
  return {Error::Kind::invalid_argument, fmt::format("the kernel blob is damaged: {}", what),
          "generate it again, and link it and its tables from one run of qgen"};
}

// Unpacks `frame` into `most` bytes at `to`, and gives how many they are; nullopt: it is damaged, or has more.
std::optional<size_t> unpack(Bytes frame, const ZSTD_DDict* dictionary, std::byte* to, size_t most) {
  const Context context(ZSTD_createDCtx());
  if (!context) return std::nullopt;
  const size_t unpacked =
      dictionary ? ZSTD_decompress_usingDDict(context.get(), to, most, frame.data(), frame.size(), dictionary)
                 : ZSTD_decompressDCtx(context.get(), to, most, frame.data(), frame.size());
  return ZSTD_isError(unpacked) ? std::nullopt : std::optional(unpacked);
}

// nullopt: the frame is damaged, or has not so many words.
std::optional<std::vector<uint32_t>> unpack_words(Bytes frame, const ZSTD_DDict* dictionary, size_t words) {
  const size_t most = packed_spirv::most_bytes(words);
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(most);
  const auto size = unpack(frame, dictionary, bytes.get(), most);
  return size ? packed_spirv::unpack({bytes.get(), *size}, words) : std::nullopt;
}

template <typename Row>
Row row_at(Bytes bytes, size_t offset) {
  Row row;
  std::memcpy(&row, bytes.data() + offset, sizeof(Row));
  return row;
}

}  // namespace

struct Blob::State {
  std::vector<std::byte> owned;  // what `bytes` views, if the caller does not keep it
  Bytes bytes;
  std::vector<Family> families;
  std::vector<ModuleRow> modules;
  size_t raw_bytes = 0;

  State(Bytes file, size_t family_count) : bytes(file), families(family_count) {}

  void unpack_dictionary(Family& family) const {
    if (family.row.stored_bytes == 0) return;
    std::vector<std::byte> raw(family.row.raw_bytes);
    const Bytes frame = bytes.subspan(family.row.offset, family.row.stored_bytes);
    if (unpack(frame, nullptr, raw.data(), raw.size()) == raw.size()) {
      family.dictionary.reset(ZSTD_createDDict(raw.data(), raw.size()));
    }
    if (!family.dictionary) {
      family.damage =
          damaged(fmt::format("the dictionary of family {} cannot be decompressed", &family - families.data()));
    }
  }
};

namespace {

// Takes the rows in file order; each must start where the frame before it ended.
class Tiling {
 public:
  Tiling(size_t start, size_t end) : next_(start), end_(end) {}
  bool take(uint64_t offset, uint32_t stored_bytes) {
    if (offset != next_ || stored_bytes > end_ - next_) return false;
    next_ += stored_bytes;
    return true;
  }
  bool has_passed(uint64_t offset) const { return offset < next_; }
  bool is_complete() const { return next_ == end_; }

 private:
  size_t next_;
  size_t end_;
};

bool is_sound(const FamilyRow& row) {
  return (row.stored_bytes == 0) == (row.raw_bytes == 0) && row.raw_bytes <= blob_format::kMaxDictionaryBytes;
}

bool is_sound(const ModuleRow& row, size_t families) {
  return row.family < families && row.raw_bytes > 0 && row.raw_bytes % 4 == 0 &&
         row.raw_bytes <= blob_format::kMaxModuleBytes;
}

// Whether `row` has the module of a row of `frames`, which has the first row of each frame. Their offsets ascend. The
// rows may be of different kernels.
bool repeats_one(ModuleRow row, const std::vector<ModuleRow>& frames) {
  const auto first = std::ranges::lower_bound(frames, row.offset, {}, &ModuleRow::offset);
  if (first == frames.end()) return false;
  row.tables = first->tables;
  return *first == row;
}

// The header, if the file is long enough for all that it promises.
Expected<Header> read_header(Bytes bytes) {
  if (bytes.size() < sizeof(Header)) {
    return damaged(fmt::format("it has {} bytes, fewer than a header's {}", bytes.size(), sizeof(Header)));
  }
  const auto header = row_at<Header>(bytes, 0);
  if (header.magic != blob_format::kMagic) {
    return Error{Error::Kind::invalid_argument, "these bytes are not a kernel blob: they do not start with QGENBLOB",
                 ""};
  }
  if (header.version != blob_format::kVersion) {
    return Error{Error::Kind::unsupported,
                 fmt::format("the kernel blob has version {}, and this library reads version {}", header.version,
                             blob_format::kVersion),
                 "generate it again with the qgen that this library belongs to"};
  }
  if (header.total_bytes != bytes.size()) {
    return damaged(fmt::format("it has {} bytes, and its header says {}", bytes.size(), header.total_bytes));
  }
  const uint64_t index_bytes =
      header.families * uint64_t{sizeof(FamilyRow)} + header.modules * uint64_t{sizeof(ModuleRow)};
  if (index_bytes > bytes.size() - sizeof(Header)) {
    return damaged(fmt::format("its index of {} families and {} modules is longer than the file", header.families,
                               header.modules));
  }
  return header;
}

}  // namespace

Expected<Blob> Blob::open(Bytes bytes) {
  const auto header = read_header(bytes);
  if (!header) return header.error();
  const size_t modules_start = sizeof(Header) + header->families * sizeof(FamilyRow);
  const size_t index_end = modules_start + header->modules * sizeof(ModuleRow);
  if (blob_format::checksum(bytes.subspan(sizeof(Header), index_end - sizeof(Header))) != header->index_checksum) {
    return damaged("the checksum of its index is wrong");
  }

  auto state = std::make_unique<State>(bytes, header->families);
  Tiling tiling(index_end, bytes.size());
  for (size_t i = 0; i < header->families; ++i) {
    const auto row = row_at<FamilyRow>(bytes, sizeof(Header) + i * sizeof(FamilyRow));
    if (!is_sound(row) || !tiling.take(row.offset, row.stored_bytes)) {
      return damaged(fmt::format("the row of family {} does not fit the file", i));
    }
    state->families[i].row = row;
  }
  state->modules.reserve(header->modules);
  std::vector<ModuleRow> frames;
  for (size_t i = 0; i < header->modules; ++i) {
    const auto row = row_at<ModuleRow>(bytes, modules_start + i * sizeof(ModuleRow));
    const bool is_repeated = tiling.has_passed(row.offset) && repeats_one(row, frames);
    if (!is_sound(row, header->families) || (!is_repeated && !tiling.take(row.offset, row.stored_bytes))) {
      return damaged(fmt::format("the row of module {} does not fit the file", i));
    }
    if (!is_repeated) frames.push_back(row);
    state->modules.push_back(row);
    state->raw_bytes += row.raw_bytes;
  }
  if (!tiling.is_complete()) return damaged("bytes follow the last module");
  return Blob(std::move(state));
}

Expected<Blob> Blob::own(std::vector<std::byte> bytes) {
  auto blob = open(bytes);
  if (blob) blob->state_->owned = std::move(bytes);  // a moved vector's elements stay where they are
  return blob;
}

size_t Blob::family_count() const { return state_->families.size(); }
size_t Blob::module_count() const { return state_->modules.size(); }
size_t Blob::raw_bytes() const { return state_->raw_bytes; }

uint64_t Blob::module_digest(size_t index) const {
  return index < module_count() ? state_->modules[index].checksum : 0;
}

uint32_t Blob::tables_digest(size_t index) const { return index < module_count() ? state_->modules[index].tables : 0; }

size_t Blob::family_of(size_t index) const { return state_->modules[index].family; }

Expected<std::vector<uint32_t>> Blob::module(size_t index) const {
  if (index >= module_count()) {
    return Error{Error::Kind::not_found, fmt::format("there is no module {}: the blob has {}", index, module_count()),
                 ""};
  }
  const ModuleRow& row = state_->modules[index];
  Family& family = state_->families[row.family];
  std::call_once(family.is_unpacked, [&] { state_->unpack_dictionary(family); });
  if (family.damage) return *family.damage;

  const Bytes frame = state_->bytes.subspan(row.offset, row.stored_bytes);
  auto words = unpack_words(frame, family.dictionary.get(), row.raw_bytes / sizeof(uint32_t));
  if (!words) return damaged(fmt::format("module {} cannot be decompressed to its {} bytes", index, row.raw_bytes));
  if (blob_format::checksum(std::as_bytes(std::span(*words))) != row.checksum) {
    return damaged(fmt::format("the checksum of module {} is wrong", index));
  }
  return *std::move(words);
}

Blob::Blob(std::shared_ptr<State> state) : state_(std::move(state)) {}

}  // namespace qgen
