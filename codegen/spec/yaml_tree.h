// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// YAML as a tree of values in which every node knows its location. Private to this room.
//
// It reads the part of YAML that specs use: one document of maps, lists and scalars. Anchors, aliases and tags are
// refused, so a small file is a small tree. Duplicate keys are refused, so no value is silently lost.
//
// One rule differs from YAML: between [ ] or { } a comma inside parentheses belongs to the expression.
//
//   grid: [ceil_div(numel, vec * workgroup), 1, 1]     three items
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/diagnostic.h"

namespace qgen::spec {

struct YamlEntry;

struct YamlNode {
  enum class Kind : uint8_t { null, scalar, list, map } kind = Kind::null;
  SourceLocation where;
  std::string text;                // of a scalar
  bool is_plain = false;           // of a scalar: neither quoted nor a block
  size_t part = 0;                 // of a spec that was put together: Fragments::Merged::parts
  SourceLocation text_where;       // where `text` begins; without a column if the file has it in another form
  size_t text_offset = 0;          // of that place, in bytes from the start of the file
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map, in the file's order

  const YamlEntry* find(std::string_view key) const;
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

// A text without the final line end of a YAML block.
inline std::string_view without_line_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

// The root is a map. Errors: YAML that yaml-cpp refuses, a quote that is never closed, more than one document, an empty
// file, invalid text (common/text.h), more than 1 MiB, nesting deeper than 32, keys that are no names or appear twice.
Result<YamlNode> read_yaml(std::string_view text, const std::string& file);

}  // namespace qgen::spec
