// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/pointwise/chain_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/files.h"
#include "runtime/engine/library/blob_format.h"

namespace qgen::chains {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::array<char, 8> kMagic{'Q', 'G', 'E', 'N', 'C', 'H', 'N', 'S'};
constexpr uint32_t kVersion = 1;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t chains = 0;
  uint64_t checksum = 0;
};

struct ChainRow {
  std::array<char, 8> dtype{}, output_dtype{};  // their names, filled up with zeros
  uint32_t step_count = 0, constant_count = 0;
  std::array<uint32_t, kMostSteps> steps{};
  std::array<uint32_t, kMostConstants> constants{};
};
static_assert(sizeof(Header) == 24 && sizeof(ChainRow) == 24 + 4 * (kMostSteps + kMostConstants), "no padding");

std::array<char, 8> letters_of(DType dtype) {
  std::array<char, 8> letters{};
  const std::string_view word = name(dtype);
  std::copy_n(word.begin(), std::min(word.size(), letters.size() - 1), letters.begin());
  return letters;
}

std::optional<DType> dtype_of(const std::array<char, 8>& letters) {
  return find_dtype(std::string_view(letters.data(), std::ranges::find(letters, '\0') - letters.begin()));
}

std::optional<TypedChain> chain_of(const ChainRow& row) {
  const auto dtype = dtype_of(row.dtype), output_dtype = dtype_of(row.output_dtype);
  if (!dtype || !output_dtype || row.step_count > kMostSteps || row.constant_count > kMostConstants)
    return std::nullopt;
  TypedChain typed{*dtype, *output_dtype};
  typed.chain.steps = unpacked_steps(std::span(row.steps).first(row.step_count));
  for (size_t i = 0; i < row.constant_count; ++i)
    typed.chain.constants.push_back(static_cast<int32_t>(row.constants[i]));
  return typed;
}

template <typename Row>
void append(std::vector<std::byte>& to, const Row& row) {
  const Bytes bytes = std::as_bytes(std::span(&row, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Error no_such_file(std::string_view what) {
  return refused(fmt::format("it is no file of chain kernels: {}", what), "make it again with 'qgen-model chains'");
}

}  // namespace

std::vector<std::byte> write_chains(std::span<const TypedChain> chains, Bytes blob) {
  std::vector<std::byte> rest;
  for (const TypedChain& typed : chains) {
    append(rest, ChainRow{.dtype = letters_of(typed.dtype),
                          .output_dtype = letters_of(typed.output_dtype),
                          .step_count = static_cast<uint32_t>(typed.chain.steps.size() / 4),
                          .constant_count = static_cast<uint32_t>(typed.chain.constants.size()),
                          .steps = packed_steps(typed.chain.steps),
                          .constants = packed_constants(typed.chain.constants)});
  }
  rest.insert(rest.end(), blob.begin(), blob.end());
  std::vector<std::byte> file;
  append(file, Header{.chains = static_cast<uint32_t>(chains.size()), .checksum = blob_format::checksum(rest)});
  file.insert(file.end(), rest.begin(), rest.end());
  return file;
}

Expected<std::shared_ptr<const ChainKernels>> read_chains(Bytes file, const LibraryInfo& library) {
  Header header;
  if (file.size() < sizeof(header)) return no_such_file("it is too short");
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.magic != kMagic) return no_such_file("it does not begin with QGENCHNS");
  if (header.version != kVersion)
    return no_such_file(fmt::format("its version is {}, and this program reads {}", header.version, kVersion));
  const Bytes rest = file.subspan(sizeof(header));
  if (header.chains > rest.size() / sizeof(ChainRow)) return no_such_file("it is too short");
  if (blob_format::checksum(rest) != header.checksum) return no_such_file("its checksum is wrong");
  std::vector<TypedChain> chains;
  for (size_t i = 0; i < header.chains; ++i) {
    ChainRow row;
    std::memcpy(&row, rest.data() + i * sizeof(row), sizeof(row));
    auto chain = chain_of(row);
    if (!chain) return no_such_file(fmt::format("its chain {} has sizes or dtypes that no chain has", i));
    chains.push_back(*std::move(chain));
  }
  return ChainKernels::create(library, std::move(chains), rest.subspan(header.chains * sizeof(ChainRow)));
}

Expected<std::shared_ptr<const ChainKernels>> load_chains(const std::string& path, const LibraryInfo& library) {
  if (path.empty()) return std::shared_ptr<const ChainKernels>();
  const auto text = read_file(path);
  if (!text) return text.error();
  auto kernels = read_chains(std::as_bytes(std::span(*text)), library);
  if (!kernels) return in_file(path, kernels.error());
  return kernels;
}

}  // namespace qgen::chains
