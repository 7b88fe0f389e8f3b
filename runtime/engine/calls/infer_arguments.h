// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The arguments of an operator: descriptions of tensors without their memory, attributes, and representations of
// outputs, in the order of the signature's tables. checked() compares them with the signature, and then calls infer()
// for the Call. The generated operators.cpp makes them from the structs of operators.h; prepare() makes them by names.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/engine/calls/tensor_view.h"
#include "runtime/engine/library/required.h"
#include "runtime/engine/library/signature_info.h"

namespace qgen {

// A word is a string; so are a dtype, by NumPy's name or ours, and a layout.
using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

// The `As` of an operator's inputs: for a Call that is inferred, and for one that is run.
struct Described {
  using Tensor = Required<TensorDesc>;
  using View = Required<ViewedDesc>;
  using Weight = Required<TensorDesc>;
  using Optional = std::optional<TensorDesc>;
  using Output = std::optional<TensorDesc>;  // without: made by the call
};
struct OnDevice {
  using Tensor = const DeviceTensor&;
  using View = Required<ViewedTensor>;
  using Weight = qgen::Weight&;
  using Optional = const DeviceTensor*;  // null: left out
  using Output = const DeviceTensor*;    // null: made by the call
};

// Whether an attribute of this type may have no value.
template <typename T>
constexpr bool kMayLack = false;
template <typename T>
constexpr bool kMayLack<std::optional<T>> = true;

struct InferArguments {
  explicit InferArguments(const SignatureInfo& of);

  const SignatureInfo* signature;
  std::vector<std::optional<ViewedDesc>> tensors;              // by operand; nullopt: left out, or not given by callers
  std::vector<std::optional<AttributeValue>> attributes;       // nullopt: not given, and without a default
  std::vector<std::optional<Representation>> representations;  // by operand; nullopt: the operator's default

  // ---- set by typed callers

  void set_tensor(size_t operand, const TensorDesc& tensor) { tensors[operand] = tensor; }
  void set_view(size_t operand, const ViewedDesc& tensor) { tensors[operand] = tensor; }
  void set_optional(size_t operand, const std::optional<TensorDesc>& tensor) {
    if (tensor) set_tensor(operand, *tensor);
  }
  void set_representation(size_t operand, const std::optional<Representation>& representation) {
    representations[operand] = representation;
  }
  // A given output tensor has its own representation.
  void set_output(size_t operand, const std::optional<TensorDesc>& tensor) {
    if (tensor && signature->tensors[operand].has_representation)
      representations[operand] = Representation{tensor->storage, tensor->layout};
  }

  template <typename T>
  void set_attribute(size_t index, const T& value) {
    attributes[index] = value_of(index, value);
  }
  template <typename T>
  void set_attribute(size_t index, const std::optional<T>& value) {
    if (value) set_attribute(index, *value);
  }

  // ---- read by infer()

  const TensorDesc& tensor(size_t operand) const { return tensors[operand]->tensor; }
  const ViewedDesc& view(size_t operand) const { return *tensors[operand]; }
  std::optional<TensorDesc> optional(size_t operand) const {
    return tensors[operand] ? std::optional(tensors[operand]->tensor) : std::nullopt;
  }
  // An output's representation: the given one, or that of the input named in the signature, or a plain buffer.
  Representation representation(size_t operand) const;

  // T is bool, int64_t, double, std::vector<int64_t>, DType, Layout or an enum of the attribute's words. It is
  // std::optional of one if the attribute may have no value.
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

  // Enumerators past the last are spelled "?", and refused.
  AttributeValue spelled(size_t index, size_t word) const;
  template <typename T>
  AttributeValue value_of(size_t index, const T& value) const {
    if constexpr (std::is_same_v<T, DType> || std::is_same_v<T, Layout>) return std::string(name(value));
    else if constexpr (std::is_enum_v<T>) return spelled(index, static_cast<size_t>(value));
    else return value;
  }
  template <typename T>
  AttributeValue value_of(size_t index, const Required<T>& value) const {
    return value_of(index, value.get());
  }
};

// Errors: missing inputs; dtypes and shapes that the signature does not have; dimensions with one name and different
// lengths; unknown words; numbers outside their range or f32's; a representation for an output that has a fixed one.
Done check_signature(const InferArguments& arguments);
// If the checks pass, the Call of infer().
Expected<Call> checked(const InferArguments& arguments, Expected<Call> (*infer)(const InferArguments&));

std::string to_text(std::span<const ShapeInfo> shapes);  // "[N] or [N, G]"

// An operator by its name: its signature, and its infer().
struct OperatorEntry : SignatureInfo {
  // Through checked().
  Expected<Call> (*infer)(const InferArguments& arguments);
};

// The argument at an operand of a typed call.
inline Argument argument_of(const DeviceTensor& tensor) { return &tensor; }
inline Argument argument_of(const ViewedTensor& viewed) { return viewed.tensor; }
inline Argument argument_of(Weight& weight) { return &weight; }

// Adds the arguments that are derived from others, such as sums of a weight. `call` belongs to this signature.
Done add_derived(Executor& executor, const SignatureInfo& signature, const Call& call, ArgumentList& arguments);

}  // namespace qgen
