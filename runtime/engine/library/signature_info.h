// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// An operator's signature as tables: its tensors, its attributes, and how they depend on each other. Generated
// from the operands' shapes and the attributes of specs. Calls by name, --help and bindings for other languages
// read it.
//
//   q8ta_relu                                 the public name, computed by the kernels of `q8ta_unary`
//     input       i8, [...]                   TensorInfo
//     output      i8, [...]
//     input_scale a number, 2^-125 to 2^119   AttributeInfo
//
// Like all tables, it contains no Vulkan and no memory.
#pragma once

#include <array>
#include <limits>

#include "runtime/engine/library/kernel_info.h"

namespace qgen {

struct AttributeInfo {
  std::string_view name;
  // Words, dtypes and layouts are spelled; all three have `words`.
  enum class Kind : uint8_t { boolean, integer, real, integers, word, dtype, layout } kind;
  // The value it has when it is not given, as a person types it. In parentheses: the operator's behaviour then, "(that
  // of the scale's shape)". Empty: it must be given.
  std::string_view otherwise = {};
  std::string_view help = {};                    // "the least integer"
  std::string_view unit = {};                    // "elements"
  std::span<const std::string_view> words = {};  // its possible values
  // Of numbers. The text as written in the spec: "2^-125 to 2^119".
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();
  std::string_view range = {};

  constexpr bool is_required() const { return otherwise.empty(); }
  // It has a value even where it is not given.
  constexpr bool has_value() const { return !otherwise.empty() && otherwise.front() != '('; }
};

// `[..., N, K]`. Sides of one name are equal in all tensors of a call; a number is that side.
struct ShapeInfo {
  bool has_leading = false;  // "...": any number of sides before the others
  uint8_t rank = 0;          // of the others
  std::array<std::string_view, 8> sides = {};
};

struct TensorInfo {
  std::string_view name;  // the operand's in the spec
  uint8_t operand;        // index into OperatorInfo::operands
  enum class Role : uint8_t {
    input,
    weight,   // an input on the device in the form that the chosen kernel reads, so it has no own representation
    derived,  // made from another input, and never given
    output,
  } role;
  bool is_optional = false;
  bool has_view = false;                     // strides of the caller's own are possible
  bool has_representation = false;           // the caller may choose its storage and layout
  uint32_t dtypes = 0;                       // bit(DType) of each that is possible
  uint32_t storages = bit(Storage::buffer);  // bit(Storage) likewise
  uint32_t layouts = 0;  // bit(Layout) of each that some kernel names; 0: `strided` in a buffer, any in a texture
  std::span<const ShapeInfo> shapes = {};  // one of them
  std::string_view help = {};
  // for a derived tensor: the source of its row sums; for an output: its default representation
  uint8_t source = kAbsent;
};

// Another name of an operator, for a part of its function, as other systems have it.
struct AliasInfo {
  std::string_view name;
  std::string_view part;  // "with weight_scales [N]"
};

struct SignatureInfo {
  std::string_view name;
  std::string_view summary;
  const OperatorInfo* op;                    // whose kernels compute it
  std::span<const TensorInfo> tensors = {};  // in the order of the operands
  std::span<const AttributeInfo> attributes = {};
  std::span<const AliasInfo> aliases = {};
};

}  // namespace qgen
