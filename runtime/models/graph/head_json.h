// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Shared code for the header of a compiled model: reading untrusted JSON values, and referring to bytes after the
// header.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "common/json/read.h"
#include "runtime/engine/calls/attributes.h"
#include "runtime/models/graph/graph.h"
#include "runtime/models/graph/own_kernels.h"
#include "vocabulary/dtypes.h"
#include "vocabulary/layouts.h"

namespace qgen::graph {

using Json = nlohmann::ordered_json;

// The first fault is kept, and everything after it is skipped, so a reader checks once, at the end.
class HeadReader {
 public:
  HeadReader(const json::Document& document, std::span<const std::byte> data) : document_(document), data_(data) {}

  static const json::Value& nothing() {
    static const json::Value kNothing;
    return kNothing;
  }

  // The members of an object; if it is none, or lacks one, a fault.
  class Keys {
   public:
    Keys(HeadReader& reader, const json::Value& value, std::initializer_list<std::string_view> known)
        : reader_(reader) {
      auto object = json::Object::of(reader.document_, value, known);
      if (object) object_.emplace(*std::move(object));
      else reader.fail(object.error().message);
    }
    const json::Value* find(std::string_view key) const { return object_ ? object_->find(key) : nullptr; }
    const json::Value& operator[](std::string_view key) const {
      if (const json::Value* value = find(key)) return *value;
      reader_.fail(fmt::format("it has no '{}'", key));
      return nothing();
    }

   private:
    HeadReader& reader_;
    std::optional<json::Object> object_;
  };

  void fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }
  template <typename T>
  T of_type(const json::Value& value, std::string_view must_be) {
    if (const T* held = value.as<T>()) return *held;
    if (&value != &nothing()) fail(json::wrong(document_, value, must_be).message);
    return T();
  }

  std::string text(const json::Value& value) { return of_type<std::string>(value, "a text"); }
  int64_t integer(const json::Value& value) { return of_type<int64_t>(value, "an integer"); }
  bool flag(const json::Value& value) { return of_type<bool>(value, "a flag"); }
  double real(const json::Value& value) {
    const auto number = json::number_of(value);
    if (!number) fail("a number is invalid");
    return number.value_or(0);
  }
  json::List list(const json::Value& value) { return of_type<json::List>(value, "a list"); }
  std::vector<int64_t> integers(const json::Value& value) {
    std::vector<int64_t> numbers;
    for (const json::Value& item : list(value)) numbers.push_back(integer(item));
    return numbers;
  }
  // Of a number that is at most `most`.
  template <typename T>
  T number(const json::Value& value, uint64_t most = std::numeric_limits<T>::max()) {
    const int64_t said = integer(value);
    if (said >= 0 && static_cast<uint64_t>(said) <= most) return static_cast<T>(said);
    fail(json::wrong(document_, value, fmt::format("a number up to {}", most)).message);
    return T();
  }
  template <typename T>
  std::vector<T> numbers(const json::Value& value) {
    std::vector<T> all;
    for (const json::Value& item : list(value)) all.push_back(number<T>(item));
    return all;
  }
  DType dtype(const json::Value& value) {
    const auto found = dtype_named(text(value));
    if (!found) fail("it names a dtype that this version does not know");
    return found.value_or(DType::f32);
  }
  Layout layout(const json::Value& value) {
    const auto found = find_layout(text(value));
    if (!found) fail("it names a layout that this version does not know");
    return found.value_or(Layout::strided);
  }
  Shape shape(const json::Value& value) {
    Shape sides = integers(value);
    Shape known = sides;
    std::ranges::replace(known, kAnySide, int64_t{1});
    if (const Done sound = check_shape(known); !sound) fail(sound.error().message);
    return fault_.empty() ? sides : Shape();
  }

  // As many bytes from where `at` says.
  std::vector<std::byte> bytes(const json::Value& at, int64_t size) {
    const int64_t offset = integer(at);
    const auto all = static_cast<int64_t>(data_.size());
    if (offset < 0 || size < 0 || offset > all || size > all - offset) {
      fail("it names bytes past its end");
      return {};
    }
    const auto part = data_.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
    return {part.begin(), part.end()};
  }
  HostTensor tensor(DType dtype, const Shape& sides, const json::Value& at) {
    if (!fault_.empty()) return {};
    return {dtype, sides, bytes(at, element_count(sides) * qgen::bytes(dtype))};
  }

  const json::Document& document() const { return document_; }
  const std::string& fault() const { return fault_; }  // empty: there is none

 private:
  const json::Document& document_;
  std::span<const std::byte> data_;
  std::string fault_;
};

// Where the bytes begin in the data.
using PutBytes = std::function<size_t(std::span<const std::byte>)>;

Json json_of_own_kernels(const OwnKernels::Parts& parts, const PutBytes& put);
// The reader collects its faults; OwnKernels::create() looks whether the parts hold together.
OwnKernels::Parts read_own_kernels(HeadReader& reader, const json::Value& value);

}  // namespace qgen::graph
