// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Writes values as bytes and reads them back, for the cache's files and between processes. Reading and writing share
// one function with one list of fields, so they cannot disagree:
//
//   template <typename Stream> void fields(Stream& s, Interface& i) { s(i.needs, i.bindings); }
//
// Reading never goes beyond the end: missing bytes read as zero, and is_good() reports it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "codegen/support/digest.h"

namespace qgen {

template <typename Stream>
void fields(Stream& s, Digest& d) {
  s(d.high, d.low);
}

template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class ByteWriter {
 public:
  template <typename T>
  void operator()(const T& value) {
    if constexpr (Plain<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    } else {
      fields(*this, const_cast<T&>(value));  // one list of fields serves reading too; writing changes none
    }
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    (*this)(static_cast<uint32_t>(values.size()));
    if constexpr (Plain<T>) {
      bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    } else {
      for (const T& value : values) (*this)(value);
    }
  }
  template <typename T, size_t N>
  void operator()(const std::array<T, N>& values) {
    for (const T& value : values) (*this)(value);
  }
  template <typename First, typename Second, typename... More>
  void operator()(const First& first, const Second& second, const More&... more) {
    (*this)(first);
    (*this)(second, more...);
  }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (Plain<T>) {
      value = T{};
      const std::string_view bytes = take(sizeof(T));
      if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
    } else {
      fields(*this, value);
    }
  }
  void operator()(std::string& text) { text = take(count()); }
  template <typename T>
  void operator()(std::vector<T>& values) {
    const uint32_t size = count();
    values.clear();
    if constexpr (Plain<T>) {
      const std::string_view bytes = take(size_t{size} * sizeof(T));
      values.resize(bytes.size() / sizeof(T));
      if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      for (uint32_t i = 0; i < size && is_good_; ++i) (*this)(values.emplace_back());
    }
  }
  template <typename T, size_t N>
  void operator()(std::array<T, N>& values) {
    for (T& value : values) (*this)(value);
  }

  template <typename First, typename Second, typename... More>
  void operator()(First& first, Second& second, More&... more) {
    (*this)(first);
    (*this)(second, more...);
  }

  bool is_good() const { return is_good_; }
  bool is_at_end() const { return rest_.empty(); }

 private:
  uint32_t count() {
    uint32_t value = 0;
    (*this)(value);
    return value;
  }
  std::string_view take(size_t size) {
    if (size > rest_.size()) {
      is_good_ = false;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

template <typename T>
std::string to_bytes(const T& value) {
  ByteWriter writer;
  writer(value);
  return std::move(writer).take();
}

// nullopt: not made by to_bytes() from a T.
template <typename T>
std::optional<T> from_bytes(std::string_view bytes) {
  ByteReader reader(bytes);
  T value;
  reader(value);
  if (!reader.is_good() || !reader.is_at_end()) return std::nullopt;
  return value;
}

}  // namespace qgen
