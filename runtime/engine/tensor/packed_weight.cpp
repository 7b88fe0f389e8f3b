// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/tensor/packed_weight.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/number.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

constexpr std::string_view kMagic = "qgen weight 1 ";
constexpr size_t kHeaderBytes = 64;

Error no_form(std::string_view word) {
  std::string known;
  for (const WeightForm& form : weight_forms())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name(form.layout));
  return refused(fmt::format("'{}' is no weight form", word), fmt::format("possible are {}", known));
}

// Removes and returns the text up to the next space.
std::string_view next_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

std::optional<uint32_t> side(std::string_view word) { return read_number<uint32_t>(word); }

}  // namespace

Expected<PackedWeight> pack(Layout layout, const HostTensor& source) {
  const WeightForm* form = find_weight_form(layout);
  if (!form) return no_form(name(layout));
  auto bytes = pack_weight(*form, source);
  if (!bytes) return bytes.error();
  return PackedWeight{layout, source.shape, *std::move(bytes)};
}

Expected<HostTensor> unpack(const PackedWeight& packed) {
  const WeightForm* form = find_weight_form(packed.layout);
  if (!form) return no_form(name(packed.layout));
  return unpack_weight(*form, packed.shape, packed.bytes);
}

std::vector<std::byte> write_packed_weight(const PackedWeight& packed) {
  std::string header = fmt::format("{}{} {} {}", kMagic, name(packed.layout), packed.shape[0], packed.shape[1]);
  header.resize(kHeaderBytes - 1, ' ');
  header += '\n';
  const auto header_bytes = std::as_bytes(std::span(header));
  std::vector<std::byte> file(header_bytes.begin(), header_bytes.end());
  file.insert(file.end(), packed.bytes.begin(), packed.bytes.end());
  return file;
}

Expected<PackedWeight> read_packed_weight(std::span<const std::byte> file) {
  std::string_view header(reinterpret_cast<const char*>(file.data()), std::min(file.size(), kHeaderBytes));
  if (header.size() < kHeaderBytes || !header.starts_with(kMagic) || header.back() != '\n') {
    return refused(fmt::format("these bytes are no packed weight: they do not begin with {} that start with '{}'",
                               kHeaderBytes, kMagic));
  }
  header.remove_prefix(kMagic.size());
  const std::string_view word = next_word(header);
  const std::optional<Layout> layout = find_layout(word);
  const WeightForm* form = layout ? find_weight_form(*layout) : nullptr;
  if (!form) return no_form(word);
  const auto n = side(next_word(header));
  const auto k = side(next_word(header));
  if (!n || !k) return refused("the packed weight lacks two dimensions after its form");
  const Shape shape{*n, *k};
  if (const Done matrix = check_weight(DType::i8, shape); !matrix) return matrix.error();
  const auto bytes = file.subspan(kHeaderBytes);
  if (static_cast<int64_t>(bytes.size()) != packed_bytes(*form, shape)) {
    return refused(fmt::format("the packed weight holds {} bytes, and {} as {} takes {}", bytes.size(), to_text(shape),
                               name(*layout), packed_bytes(*form, shape)));
  }
  return PackedWeight{*layout, shape, {bytes.begin(), bytes.end()}};
}

}  // namespace qgen
