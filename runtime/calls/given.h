// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What a caller says to an operator: tensors without their memory, attributes and places, in the order of the
// signature's tables. checked() asks of it what follows from the signature alone, and then infer() for the Call. The
// generated operators.cpp makes it of the structs of operators.h; prepare() makes it of names.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/calls/tensor_view.h"
#include "runtime/library/required.h"
#include "runtime/library/signature_info.h"

namespace qgen {

// A word is a string; so are a dtype, by NumPy's name or ours, and a layout.
using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

// What stands for `As` in an operator's inputs: of a Call that is to be inferred, and of one that is to be run.
struct Described {
  using Tensor = Required<TensorDesc>;
  using View = Required<ViewedDesc>;
  using Weight = Required<TensorDesc>;
  using Optional = std::optional<TensorDesc>;
};
struct OnDevice {
  using Tensor = const DeviceTensor&;
  using View = Required<ViewedTensor>;
  using Weight = qgen::Weight&;
  using Optional = const DeviceTensor*;  // null: left out
};

// Whether an attribute of the type may be without a value.
template <typename T>
constexpr bool kMayLack = false;
template <typename T>
constexpr bool kMayLack<std::optional<T>> = true;

struct Given {
  explicit Given(const SignatureInfo& of);

  const SignatureInfo* signature;
  std::vector<std::optional<ViewedDesc>> tensors;         // by operand; nullopt: left out, or not given by callers
  std::vector<std::optional<AttributeValue>> attributes;  // nullopt: the operator sees to it
  std::vector<std::optional<Place>> places;               // by operand; nullopt: the operator's default

  // ---- as typed callers say it

  void set_tensor(size_t operand, const TensorDesc& tensor) { tensors[operand] = tensor; }
  void set_view(size_t operand, const ViewedDesc& tensor) { tensors[operand] = tensor; }
  void set_optional(size_t operand, const std::optional<TensorDesc>& tensor) {
    if (tensor) set_tensor(operand, *tensor);
  }
  void set_place(size_t operand, const std::optional<Place>& place) { places[operand] = place; }

  template <typename T>
  void set_attribute(size_t index, const T& value) {
    attributes[index] = value_of(index, value);
  }
  template <typename T>
  void set_attribute(size_t index, const std::optional<T>& value) {
    if (value) set_attribute(index, *value);
  }

  // ---- as infer() hears it

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

// Errors: inputs that are missing, dtypes and shapes that the signature does not have, sides of one name that differ,
// words that it does not know, numbers outside their range or that of f32, and a place for what has none.
Done check_signature(const Given& given);
// What infer() makes of it, if that holds.
Expected<Call> checked(const Given& given, Expected<Call> (*infer)(const Given&));

std::string to_text(std::span<const ShapeInfo> shapes);  // "[N] or [N, G]"

// An operator by its name: its signature, and its infer().
struct OperatorEntry : SignatureInfo {
  // Through checked().
  Expected<Call> (*infer)(const Given& given);
};

// What stands at an operand of a typed call.
inline Argument argument_of(const DeviceTensor& tensor) { return &tensor; }
inline Argument argument_of(const ViewedTensor& viewed) { return viewed.tensor; }
inline Argument argument_of(Weight& weight) { return &weight; }

// Puts in what is derived from other arguments of `call`, an operator's of this signature.
Done add_derived(Executor& executor, const SignatureInfo& signature, const Call& call, ArgumentList& arguments);

// Runs `call`, an operator's of this signature: what is derived from other arguments is made. Otherwise as run() of a
// Call. The second form gives the one tensor that is made.
Expected<std::vector<DeviceTensor>> run(Context& context, const SignatureInfo& signature, const Expected<Call>& call,
                                        ArgumentList arguments);
Expected<DeviceTensor> run_for_one(Context& context, const SignatureInfo& signature, const Expected<Call>& call,
                                   const ArgumentList& arguments);

}  // namespace qgen
