// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a caller says to an operator whose name only the caller knows: tensors without their memory, attributes and
// places, in the order of the signature's tables. check_signature() asks of it what follows from the signature alone; the
// generated operators.h turns it into the operator's own structs, for its infer().
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/library/signature_info.h"
#include "runtime/operators/tensor_view.h"

namespace qgen {

// A word is a string; so are a dtype, by NumPy's name or ours, and a layout.
using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

// What stands for `As` in the inputs of a Call that is to be inferred.
struct Described {
  using Tensor = TensorDesc;
  using View = ViewedDesc;
  using Weight = TensorDesc;
  using Optional = std::optional<TensorDesc>;
};

// Whether an attribute of the type may be without a value.
template <typename T>
constexpr bool kMayLack = false;
template <typename T>
constexpr bool kMayLack<std::optional<T>> = true;

struct Given {
  const SignatureInfo* signature = nullptr;
  std::vector<std::optional<ViewedDesc>> tensors;         // by operand; nullopt: left out, or not given by callers
  std::vector<std::optional<AttributeValue>> attributes;  // nullopt: the operator sees to it
  std::vector<std::optional<Place>> places;               // by operand; nullopt: the operator's default

  const TensorDesc& tensor(size_t operand) const { return tensors[operand]->tensor; }
  const ViewedDesc& view(size_t operand) const { return *tensors[operand]; }
  std::optional<TensorDesc> optional(size_t operand) const {
    return tensors[operand] ? std::optional(tensors[operand]->tensor) : std::nullopt;
  }
  // Where an output is to lie: as it was said, as the input that it is like, or in a plain buffer.
  Place place(size_t operand) const;

  // T is bool, int64_t, double, std::vector<int64_t>, DType, Layout or an enum of the attribute's words; or
  // std::optional of one, where the attribute may be without a value.
  template <typename T>
  T attribute(size_t index) const {
    if constexpr (kMayLack<T>) {
      return attributes[index] ? T(value<typename T::value_type>(index)) : T();
    } else {
      return value<T>(index);
    }
  }

 private:
  DType dtype(size_t index) const;
  Layout layout(size_t index) const;
  size_t word(size_t index) const;

  template <typename T>
  T value(size_t index) const {
    if constexpr (std::is_same_v<T, DType>) return dtype(index);
    else if constexpr (std::is_same_v<T, Layout>) return layout(index);
    else if constexpr (std::is_enum_v<T>) return static_cast<T>(word(index));
    else return std::get<T>(*attributes[index]);
  }
};

// Errors: inputs that are missing, dtypes and shapes that the signature does not have, sides of one name that differ,
// numbers outside their range, and a place for what has none.
Done check_signature(const Given& given);

std::vector<std::string_view> names_in(uint32_t dtypes);  // of a mask
std::string to_text(std::span<const ShapeInfo> shapes);   // "[N] or [N, G]"

// An operator by its name: its signature, and its infer().
struct OperatorEntry : SignatureInfo {
  // `given` has passed check_signature().
  Expected<Call> (*infer)(const Given& given);
};

}  // namespace qgen
