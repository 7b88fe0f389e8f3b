// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A value, or the reason there is none. qgen throws nothing across its interfaces; functions that can fail return this.
//
//   Outcome<Shape, Error> shape = parse_shape("2x3");
//   if (!shape) return shape.error();
//   use(*shape);
#pragma once

#include <cassert>
#include <utility>
#include <variant>

namespace qgen {

template <typename T, typename E>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Outcome(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return state_.index() == 0; }
  const T& operator*() const& { return *checked(std::get_if<0>(&state_)); }
  T& operator*() & { return *checked(std::get_if<0>(&state_)); }
  T&& operator*() && { return std::move(*checked(std::get_if<0>(&state_))); }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }
  const E& error() const& { return *checked(std::get_if<1>(&state_)); }
  E&& error() && { return std::move(*checked(std::get_if<1>(&state_))); }

 private:
  template <typename P>
  static P checked(P pointer) {
    assert(pointer && "an Outcome was read as the wrong alternative");
    return pointer;
  }

  std::variant<T, E> state_;
};

}  // namespace qgen
