// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The examples of a Markdown page, so that a test can run them.
//
//   <!-- specs/scale.yaml -->      the name of the block that follows; readers of the page do not see it
//   ```yaml
//   operator: scale
//   ```
//
//   | `${vec}` | `4` |             a row of a table whose cells are code
//
// A name that is a file of the repository says that the block is that file; check_readme.py holds it to that.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/source_folder.h"

namespace qgen::tests {

struct Example {
  std::string name;      // "specs/scale.yaml"; empty: the block has none
  std::string language;  // "yaml"
  std::string text;
};

// `path` is relative to the repository.
inline std::string read_document(const std::string& path) {
  std::ifstream file(source_folder() + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, newline));
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
  return lines;
}

// All fenced blocks, in the page's order.
inline std::vector<Example> examples_of(std::string_view page) {
  constexpr std::string_view kFence = "```", kOpen = "<!-- ", kClose = " -->";
  std::vector<Example> examples;
  std::string name;
  bool is_inside = false;
  for (const std::string_view line : lines_of(page)) {
    if (line.starts_with(kFence)) {
      is_inside = !is_inside;
      if (is_inside) examples.push_back({std::exchange(name, ""), std::string(line.substr(kFence.size())), ""});
    } else if (is_inside) {
      examples.back().text.append(line).append(1, '\n');
    } else {
      const bool is_name = line.starts_with(kOpen) && line.ends_with(kClose);
      name = is_name ? line.substr(kOpen.size(), line.size() - kOpen.size() - kClose.size()) : std::string_view{};
    }
  }
  return examples;
}

// The text of the block with this name; empty if there is none.
inline std::string example(const std::vector<Example>& examples, std::string_view name) {
  for (const Example& one : examples) {
    if (one.name == name) return one.text;
  }
  return "";
}

// The rows of all tables whose every cell is code, each as its cells without the backquotes.
inline std::vector<std::vector<std::string>> code_rows_of(std::string_view page) {
  std::vector<std::vector<std::string>> rows;
  for (std::string_view line : lines_of(page)) {
    constexpr std::string_view kStart = "| `", kBetween = "` | `", kEnd = "` |";
    if (!line.starts_with(kStart) || !line.ends_with(kEnd)) continue;
    line = line.substr(kStart.size(), line.size() - kStart.size() - kEnd.size());
    std::vector<std::string> cells;
    for (size_t at; (at = line.find(kBetween)) != line.npos; line.remove_prefix(at + kBetween.size())) {
      cells.emplace_back(line.substr(0, at));
    }
    cells.emplace_back(line);
    rows.push_back(std::move(cells));
  }
  return rows;
}

}  // namespace qgen::tests
