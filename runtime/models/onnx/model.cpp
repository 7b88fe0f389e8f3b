// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/model.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace qgen::onnx {
namespace {

struct TypeRow {
  ElementType type;
  int64_t number;  // of TensorProto.DataType
  std::string_view name;
  int64_t bytes;
  bool is_real;
  std::optional<DType> dtype;
};
// clang-format off
constexpr TypeRow kTypes[] = {
    {ElementType::f32,      1, "float32",  4, true,  DType::f32},
    {ElementType::f64,     11, "float64",  8, true,  {}},
    {ElementType::f16,     10, "float16",  2, true,  DType::f16},
    {ElementType::bf16,    16, "bfloat16", 2, true,  DType::bf16},
    {ElementType::boolean,  9, "bool",     1, false, {}},
    {ElementType::i4,      22, "int4",     1, false, {}},
    {ElementType::u4,      21, "uint4",    1, false, {}},
    {ElementType::i8,       3, "int8",     1, false, DType::i8},
    {ElementType::u8,       2, "uint8",    1, false, DType::u8},
    {ElementType::i16,      5, "int16",    2, false, DType::i16},
    {ElementType::u16,      4, "uint16",   2, false, DType::u16},
    {ElementType::i32,      6, "int32",    4, false, DType::i32},
    {ElementType::u32,     12, "uint32",   4, false, DType::u32},
    {ElementType::i64,      7, "int64",    8, false, {}},
    {ElementType::u64,     13, "uint64",   8, false, {}},
    {ElementType::other,    0, "a type that qgen does not have", 0, false, {}},
};
// clang-format on
const TypeRow& row(ElementType type) { return kTypes[static_cast<size_t>(type)]; }

template <typename T>
T load(const Tensor& tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.data.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
T attribute_or(const Node& node, std::string_view attribute, T otherwise) {
  const AttributeData* found = node.find(attribute);
  const T* value = found ? std::get_if<T>(found) : nullptr;
  return value ? *value : otherwise;
}

}  // namespace

ElementType element_type(int64_t number) {
  const auto found = std::ranges::find(kTypes, number, &TypeRow::number);
  return found != std::end(kTypes) ? found->type : ElementType::other;
}

std::string_view name(ElementType type) { return row(type).name; }
int64_t bytes(ElementType type) { return row(type).bytes; }
bool is_real(ElementType type) { return row(type).is_real; }
bool is_nibble(ElementType type) { return type == ElementType::i4 || type == ElementType::u4; }
std::optional<DType> dtype_of(ElementType type) { return row(type).dtype; }

std::vector<std::byte> spread_nibbles(std::span<const std::byte> packed, int64_t count, ElementType type) {
  std::vector<std::byte> spread(static_cast<size_t>(count));
  for (size_t i = 0; i < spread.size(); ++i) {
    const unsigned nibble = (std::to_integer<unsigned>(packed[i / 2]) >> (4 * (i % 2))) & 15U;
    spread[i] = static_cast<std::byte>(type == ElementType::i4 && nibble >= 8 ? nibble | 0xf0U : nibble);
  }
  return spread;
}

int64_t Tensor::integer(int64_t index) const {
  switch (type) {
    case ElementType::boolean:
    case ElementType::u4:
    case ElementType::u8: return load<uint8_t>(*this, index);
    case ElementType::i4:
    case ElementType::i8: return load<int8_t>(*this, index);
    case ElementType::i16: return load<int16_t>(*this, index);
    case ElementType::u16: return load<uint16_t>(*this, index);
    case ElementType::i32: return load<int32_t>(*this, index);
    case ElementType::u32: return load<uint32_t>(*this, index);
    case ElementType::i64: return load<int64_t>(*this, index);
    case ElementType::u64: {
      const auto value = load<uint64_t>(*this, index);
      constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
      return static_cast<int64_t>(value < kMost ? value : kMost);
    }
    default: return 0;
  }
}

float Tensor::real(int64_t index) const {
  switch (type) {
    case ElementType::f32: return load<float>(*this, index);
    case ElementType::f64: return static_cast<float>(load<double>(*this, index));
    case ElementType::f16: return f16_to_f32(load<uint16_t>(*this, index));
    case ElementType::bf16: return bf16_to_f32(load<uint16_t>(*this, index));
    default: return static_cast<float>(integer(index));
  }
}

const AttributeData* Node::find(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? nullptr : &found->second;
}
int64_t Node::integer(std::string_view attribute, int64_t otherwise) const {
  return attribute_or(*this, attribute, otherwise);
}
float Node::real(std::string_view attribute, float otherwise) const {
  return attribute_or(*this, attribute, otherwise);
}
std::string_view Node::word(std::string_view attribute, std::string_view otherwise) const {
  const AttributeData* found = find(attribute);
  const auto* value = found ? std::get_if<std::string>(found) : nullptr;
  return value ? std::string_view(*value) : otherwise;
}
std::vector<int64_t> Node::integers(std::string_view attribute) const {
  return attribute_or(*this, attribute, std::vector<int64_t>{});
}

std::vector<int64_t> permutation_of(const Node& node, size_t rank) {
  if (node.find("perm")) return node.integers("perm");
  std::vector<int64_t> order(rank);
  const int64_t of_product = node.integer(kOfProduct, 0);
  if (of_product == 0) {
    std::iota(order.rbegin(), order.rend(), 0);
    return order;
  }
  std::iota(order.begin(), order.end(), 0);
  if (rank < 2) return order;
  if ((of_product & kMovesFirst) != 0) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if ((of_product & kSwapsLast) != 0) std::swap(order[rank - 2], order[rank - 1]);
  return order;
}

Error unsupported(std::string message, std::string hint) {
  return {Error::Kind::unsupported, std::move(message), std::move(hint)};
}

}  // namespace qgen::onnx
