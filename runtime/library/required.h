// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A member of a struct that has no value of its own: an initializer that leaves it out does not compile.
//
//   struct Attributes { Required<double> scale; int64_t zero_point = 0; };
//   Attributes{.scale = 0.5};       // fine
//   Attributes{.zero_point = 3};    // no default constructor
#pragma once

#include <utility>

namespace qgen {

template <typename T>
class Required {
 public:
  constexpr Required(T value) : value_(std::move(value)) {}
  constexpr operator const T&() const { return value_; }

 private:
  T value_;
};

}  // namespace qgen
