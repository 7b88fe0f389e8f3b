// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A strict reader of JSON that a person wrote: each value knows its line and column. A key that is given twice is an
// error, and so is an unknown key.
//
//   auto document = json::read("scale.json", text);
//   if (!document) return document.error();          // scale.json:3:1: 'factor' is given twice
//   auto root = json::Object::of(*document, document->root, {"factor", "mode"});
//   if (!root) return root.error();                  // scale.json:2:4: unknown key 'fctor', did you mean 'factor'?
//   const auto factor = root->need("factor");        // scale.json:1:1: there is no 'factor'
//   ... json::wrong(*document, **factor, "must be positive")      scale.json:2:14: 'factor' is -1, and must be positive
//
// Only read.cpp sees the library that it uses (nlohmann-json).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/error.h"

namespace qgen::json {

// Counted from 1, the column in bytes.
struct Mark {
  size_t line = 1, column = 1;
};

struct Value;
struct Member;
using List = std::vector<Value>;
using Members = std::vector<Member>;

struct Value {
  Mark mark;
  std::string name;  // the name in sentences: a member's key; an item's list's name, and so on down
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Members> data;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&data);
  }
};

struct Member {
  Mark mark;  // of the key
  std::string key;
  Value value;
};

struct Document {
  std::string file;
  Value root;
};

// Errors: invalid JSON, a key that appears twice, an integer past 64 bits, values nested deeper than 64.
Expected<Document> read(std::string file, std::string_view text);

// "FILE:3:14: message".
Error error_at(const Document& document, const Mark& mark, std::string_view message, std::string hint = "");
// "FILE:3:14: 'factor' is -1, and must be positive".
Error wrong(const Document& document, const Value& value, std::string_view must_be);
// The value as a sentence names it: "-1", "'mean'", "a list".
std::string to_text(const Value& value);

// "did you mean 'factor'?", or "it has factor, mode".
std::string hint_of(std::string_view written, const std::vector<std::string_view>& known);

// The members of an object; unknown ones are errors.
class Object {
 public:
  static Expected<Object> of(const Document& document, const Value& value,
                             std::initializer_list<std::string_view> known);

  const Value* find(std::string_view key) const;  // null: it is not there
  Expected<const Value*> need(std::string_view key) const;

 private:
  Object(const Document& document, const Value& value) : document_(&document), value_(&value) {}
  const Document* document_;
  const Value* value_;
};

// Real or integer; nullopt: neither. Large integers are rounded.
std::optional<double> number_of(const Value& value);

}  // namespace qgen::json
