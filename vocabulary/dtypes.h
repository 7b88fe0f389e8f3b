// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The types of tensor elements. Everything here is computed from the rows of dtype_rows.inc.
//
//   name(DType::i8)       "i8"
//   bytes(DType::i8)      1
//   range_of(DType::i8)   -128 to 127
//   find_dtype("i8")      DType::i8
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "vocabulary/rows.h"

namespace qgen {

enum class DType : uint8_t {
#define QGEN_DTYPE(name, long_name, size_bytes, kind, glsl, image_format) name,
#include "vocabulary/dtype_rows.inc"
};

struct DTypeInfo {
  enum class Kind : uint8_t { real, signed_integer, unsigned_integer };

  DType dtype;
  std::string_view name;       // "f16"
  std::string_view long_name;  // "float16"
  int64_t size_bytes;
  Kind kind;
};

constexpr DTypeInfo kDTypes[] = {
#define QGEN_DTYPE(name, long_name, size_bytes, kind, glsl, image_format) \
  {DType::name, #name, long_name, size_bytes, DTypeInfo::Kind::kind},
#include "vocabulary/dtype_rows.inc"
};
constexpr DTypeInfo kNoDType = {DType{}, "?", "?", 0, DTypeInfo::Kind::real};
static_assert(std::size(kDTypes) <= 32, "a mask of dtypes has 32 bits");

constexpr const DTypeInfo& info(DType dtype) { return row_of(kDTypes, dtype, kNoDType); }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr int64_t bytes(DType dtype) { return info(dtype).size_bytes; }
constexpr uint32_t bit(DType dtype) { return bit_of<uint32_t>(dtype); }
constexpr bool is_real(DType dtype) { return info(dtype).kind == DTypeInfo::Kind::real; }

struct IntegerRange {
  int64_t min, max;
};
// nullopt: not an integer type.
constexpr std::optional<IntegerRange> range_of(DType dtype) {
  const int64_t values = int64_t{1} << (8 * bytes(dtype));
  switch (info(dtype).kind) {
    case DTypeInfo::Kind::real: return std::nullopt;
    case DTypeInfo::Kind::signed_integer: return IntegerRange{-values / 2, values / 2 - 1};
    case DTypeInfo::Kind::unsigned_integer: return IntegerRange{0, values - 1};
  }
  return std::nullopt;
}

constexpr std::optional<DType> find_dtype(std::string_view word) {
  const DTypeInfo* row = find_row(kDTypes, &DTypeInfo::name, word);
  return row ? std::optional(row->dtype) : std::nullopt;
}

}  // namespace qgen
