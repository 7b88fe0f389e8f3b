// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Members of a struct that a caller fills by name: a required one, without which an initializer does not compile, and
// one that may be left out.
//
//   struct Attributes { Required<double> scale; int64_t zero_point = 0; };
//   Attributes{.scale = 0.5};       // fine
//   Attributes{.zero_point = 3};    // no default constructor
//   Operands<OperandDesc>{.input = x, .bias = {}, .output = y};   // without a bias
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace qgen {

template <typename T>
class Required {
 public:
  constexpr Required(T value) : value_(std::move(value)) {}
  // For types that convert to T.
  template <typename U>
  requires(std::is_convertible_v<U, T> && !std::is_arithmetic_v<std::remove_cvref_t<U>> &&
           !std::is_same_v<std::remove_cvref_t<U>, T> &&
           !std::is_same_v<std::remove_cvref_t<U>, Required>) constexpr Required(U&& value)
      : value_(std::forward<U>(value)) {}

  constexpr operator const T&() const { return value_; }
  constexpr const T& get() const { return value_; }
  constexpr const T* operator->() const { return &value_; }
  constexpr const auto& operator[](size_t index) const { return value_[index]; }

 private:
  T value_;
};

// Left out, or {}: T::left_out() if T has it, or else a T without a value.
template <typename T>
class Optional {
 public:
  constexpr Optional() : value_(none()) {}
  constexpr Optional(T value) : value_(std::move(value)) {}
  template <typename U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
           !std::is_same_v<std::remove_cvref_t<U>, Optional>) constexpr Optional(U&& value)
      : value_(std::forward<U>(value)) {}

  constexpr operator const T&() const { return value_; }

 private:
  static constexpr T none() {
    if constexpr (requires {
                    { T::left_out() } -> std::same_as<T>;
                  })
      return T::left_out();
    else return T{};
  }

  T value_;
};

}  // namespace qgen
