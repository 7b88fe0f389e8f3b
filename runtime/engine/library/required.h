// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A required member of a struct: an initializer that leaves it out does not compile.
//
//   struct Attributes { Required<double> scale; int64_t zero_point = 0; };
//   Attributes{.scale = 0.5};       // fine
//   Attributes{.zero_point = 3};    // no default constructor
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace qgen {

template <typename T>
class Required {
 public:
  constexpr Required(T value) : value_(std::move(value)) {}
  // Of what becomes a T by a conversion of its own.
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

}  // namespace qgen
