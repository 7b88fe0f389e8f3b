// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The names that a GLSL text declares outside of functions, and where it uses which names. Private to this room.
//
//   uint row_of(uvec2 pixel) { return pixel.y * kWidth; }    declares row_of, uses kWidth
//
// This is no compiler: it knows declarations by their form, and reads both branches of an #if. Members of structs and
// of buffer blocks are no names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/render/render.h"

namespace qgen::render {

// "uint row_of(uvec2)", "uint kWidth", "struct Columns"; "ROWS" is a macro, or a name whose type does not matter.
struct GlslSignature {
  enum class Kind : uint8_t { function, value, type, any };

  Kind kind = Kind::value;
  std::string type;  // of the result, or of the value; else empty
  std::string name;
  std::vector<std::string> parameters;  // types, with `inout` and `out`

  std::string text() const;
  // Whether code that was written for one can use the other.
  bool matches(const GlslSignature& other) const;
};

// Of one declaration without its body, its value and its ';'. nullopt: it is none.
std::optional<GlslSignature> signature_of(std::string_view declaration);

struct GlslDefinition {
  GlslSignature signature;
  LineOrigin where;
};

class GlslNames {
 public:
  // By file and name: the first line.
  using Uses = std::map<std::pair<uint32_t, std::string>, LineOrigin>;

  // Reads on where it stopped. `text` begins with all that was read before; `origins` has a row for each of its lines.
  void read(std::string_view text, std::span<const LineOrigin> origins);
  // The same without looking at it.
  void skip(std::string_view text, std::span<const LineOrigin> origins) {
    bytes_ = text.size();
    lines_ = origins.size();
  }

  // Overloads are several definitions of one name.
  const std::multimap<std::string, GlslDefinition, std::less<>>& definitions() const { return definitions_; }
  // Without the names that a function declares for itself.
  const Uses& uses() const { return uses_; }

 private:
  enum class Braces : uint8_t { none, function, members, value };

  void read_line(std::string_view line);
  void read_macro(std::string_view line);
  void read_token(std::string_view token);
  void read_outside(std::string_view token);
  void read_inside(std::string_view token);
  void open_braces();
  void end_declaration();
  void define(GlslSignature signature);
  void use(std::string_view name);

  std::multimap<std::string, GlslDefinition, std::less<>> definitions_;
  Uses uses_;
  size_t bytes_ = 0, lines_ = 0;  // read
  LineOrigin here_;
  bool is_in_comment_ = false;
  bool is_in_macro_ = false;  // which goes on after a backslash

  std::vector<std::string> declaration_;  // tokens of the one that is being read, outside of functions
  Braces braces_ = Braces::none;
  size_t depth_ = 0;
  std::set<std::string, std::less<>> locals_;
  std::string last_;                         // the token before, inside of braces
  size_t parentheses_ = 0;                   // open there, brackets too
  bool is_in_generic_ = false;               // between < and >
  std::optional<size_t> local_parentheses_;  // open where a local declaration began: there a comma begins another name
};

}  // namespace qgen::render
