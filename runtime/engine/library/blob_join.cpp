// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A blob's frames are its dictionaries, then its modules. So the joined blob has four pieces of frames, each copied as
// it is; only the offsets and the families of the rows change.
#include "runtime/engine/library/blob_join.h"

#include <cstring>
#include <utility>

#include "runtime/engine/library/blob.h"
#include "runtime/engine/library/blob_format.h"

namespace qgen {
namespace {

using blob_format::FamilyRow;
using blob_format::Header;
using blob_format::ModuleRow;
using Bytes = std::span<const std::byte>;

struct Parts {
  std::vector<FamilyRow> families;
  std::vector<ModuleRow> modules;
  Bytes dictionaries, frames;
  uint64_t dictionaries_begin = 0, frames_begin = 0;  // in their blob
};

template <typename Row>
std::vector<Row> rows_at(Bytes blob, size_t offset, size_t count) {
  std::vector<Row> rows(count);
  if (count > 0) std::memcpy(rows.data(), blob.data() + offset, count * sizeof(Row));
  return rows;
}

// Of a blob that Blob::open() accepts.
Parts parts_of(Bytes blob) {
  Header header;
  std::memcpy(&header, blob.data(), sizeof(header));
  const size_t modules_begin = sizeof(Header) + header.families * sizeof(FamilyRow);
  Parts parts{.families = rows_at<FamilyRow>(blob, sizeof(Header), header.families),
              .modules = rows_at<ModuleRow>(blob, modules_begin, header.modules),
              .dictionaries_begin = modules_begin + header.modules * sizeof(ModuleRow)};
  uint64_t size = 0;
  for (const FamilyRow& row : parts.families) size += row.stored_bytes;
  parts.frames_begin = parts.dictionaries_begin + size;
  parts.dictionaries = blob.subspan(parts.dictionaries_begin, size);
  parts.frames = blob.subspan(parts.frames_begin);
  return parts;
}

template <typename Value>
void append(std::vector<std::byte>& to, std::span<const Value> values) {
  const Bytes bytes = std::as_bytes(values);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Expected<std::vector<std::byte>> joined_blob(Bytes first, Bytes second) {
  for (const Bytes blob : {first, second}) {
    if (const auto opened = Blob::open(blob); !opened) return opened.error();
  }
  const Parts parts[] = {parts_of(first), parts_of(second)};
  Header header{.families = static_cast<uint32_t>(parts[0].families.size() + parts[1].families.size()),
                .modules = static_cast<uint32_t>(parts[0].modules.size() + parts[1].modules.size())};
  const uint64_t index_bytes = header.families * sizeof(FamilyRow) + header.modules * sizeof(ModuleRow);
  uint64_t next = sizeof(Header) + index_bytes;
  uint64_t dictionaries[2], frames[2];  // where they begin in the joined blob
  for (size_t i = 0; i < 2; ++i) dictionaries[i] = std::exchange(next, next + parts[i].dictionaries.size());
  for (size_t i = 0; i < 2; ++i) frames[i] = std::exchange(next, next + parts[i].frames.size());
  header.total_bytes = next;

  std::vector<std::byte> index;
  for (size_t i = 0; i < 2; ++i) {
    for (FamilyRow row : parts[i].families) {
      row.offset += dictionaries[i] - parts[i].dictionaries_begin;
      append(index, std::span<const FamilyRow>(&row, 1));
    }
  }
  for (size_t i = 0; i < 2; ++i) {
    for (ModuleRow row : parts[i].modules) {
      row.offset += frames[i] - parts[i].frames_begin;
      row.family += i == 0 ? 0 : static_cast<uint32_t>(parts[0].families.size());
      append(index, std::span<const ModuleRow>(&row, 1));
    }
  }
  header.index_checksum = blob_format::checksum(index);

  std::vector<std::byte> joined;
  joined.reserve(next);
  append(joined, std::span<const Header>(&header, 1));
  append(joined, std::span<const std::byte>(index));
  for (const Parts& one : parts) append(joined, one.dictionaries);
  for (const Parts& one : parts) append(joined, one.frames);
  return joined;
}

}  // namespace qgen
