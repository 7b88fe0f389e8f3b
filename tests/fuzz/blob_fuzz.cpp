// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Any bytes as a blob: as they are, and with a header that fits them, since no mutation meets a checksum by chance. A
// blob that opens gives modules with their digest, or names the damaged ones.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime/engine/library/blob.h"
#include "runtime/engine/library/blob_format.h"

namespace {

using qgen::Blob;
using namespace qgen::blob_format;
using Bytes = std::span<const std::byte>;

constexpr size_t kMostRawBytes = 1 << 20;  // more is legal, and only slow

void check(bool holds) {
  if (!holds) std::abort();
}

void read_all(Bytes bytes) {
  const auto blob = Blob::open(bytes);
  if (!blob) return check(!blob.error().message.empty());
  if (blob->raw_bytes() > kMostRawBytes) return;
  size_t raw_bytes = 0;
  for (size_t i = 0; i < blob->module_count(); ++i) {
    const auto words = blob->module(i);
    if (!words) {
      check(!words.error().message.empty());
      return;
    }
    check(checksum(std::as_bytes(std::span(*words))) == blob->module_digest(i));
    raw_bytes += words->size() * sizeof(uint32_t);
  }
  check(raw_bytes == blob->raw_bytes());
}

// The bytes with magic, version, size and the index's checksum as they should be.
std::vector<std::byte> with_fitting_header(Bytes bytes) {
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  if (file.size() < sizeof(Header)) return file;
  Header header;
  const Header defaults;
  std::memcpy(&header, file.data(), sizeof(header));
  header.magic = defaults.magic;
  header.version = defaults.version;
  header.total_bytes = file.size();
  const uint64_t index = uint64_t{header.families} * sizeof(FamilyRow) + uint64_t{header.modules} * sizeof(ModuleRow);
  if (index <= file.size() - sizeof(header))
    header.index_checksum = checksum(Bytes(file).subspan(sizeof(header), index));
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  read_all(bytes);
  read_all(with_fitting_header(bytes));
  return 0;
}
