// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Text made of indented lines, for everything that qgen prints as source.
//
//   TextWriter out;
//   out.line("enum class Variant : uint16_t {{");
//   { const auto indented = out.indent(); out.line("{},", name); }
//   out.line("}};");
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qgen {

class TextWriter {
 public:
  class [[nodiscard]] Indent {
   public:
    explicit Indent(size_t& depth) : depth_(depth) { ++depth_; }
    ~Indent() { --depth_; }
    Indent(const Indent&) = delete;
    Indent& operator=(const Indent&) = delete;

   private:
    size_t& depth_;
  };
  // Lines written while the result lives stand two columns further in.
  Indent indent() { return Indent(depth_); }

  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  // One line as it stands: braces mean nothing.
  void text(std::string_view line) {
    text_.append(line.empty() ? 0 : 2 * depth_, ' ');
    text_.append(line);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  // A line of C++. A line that is too long is broken before operators and after commas, at the outermost and loosest
  // first. The rest is indented by four more columns. A string that is too long becomes two adjacent ones.
  void code(std::string line) {
    for (size_t indent = 2 * depth_;; indent = 2 * depth_ + 4) {
      const size_t room = kWidth - indent;
      const size_t end = line.size() <= room ? line.size() : break_of(line, room);
      const size_t in_string = end > room ? blank_in_string(line, room) : line.npos;
      text_.append(indent, ' ');
      if (in_string != line.npos) {
        text_.append(line, 0, in_string + 1).append("\"\n");
        line = "\"" + line.substr(in_string + 1);
        continue;
      }
      text_.append(line, 0, end) += '\n';
      if (end == line.size()) return;
      line.erase(0, end + 1);
    }
  }
  // `before`, items with commas between them, `after`: one line where they fit, else as many items a line as fit.
  void filled(std::string_view before, const std::vector<std::string>& items, std::string_view after) {
    const std::string all = fmt::format("{}{}{}", before, fmt::join(items, ", "), after);
    if (2 * depth_ + all.size() <= kWidth) return text(all);
    text(before);
    {
      const auto indented = indent();
      std::string row;
      for (const std::string& item : items) {
        if (!row.empty() && 2 * depth_ + row.size() + item.size() + 2 > kWidth) text(std::exchange(row, ""));
        row += fmt::format("{}{},", row.empty() ? "" : " ", item);
        if (2 * depth_ + row.size() > kWidth) code(std::exchange(row, ""));
      }
      if (!row.empty()) text(row);
    }
    text(after);
  }

  std::string take() && { return std::move(text_); }

 private:
  static constexpr size_t kWidth = 120;

  // How well a line of C++ is broken before the word that follows: the less, the better. A comma binds loosest.
  static std::optional<int> binding_at(std::string_view line, size_t blank) {
    if (line[blank - 1] == ',') return 0;
    const size_t end = line.find(' ', blank + 1);
    const std::string_view word = end == line.npos ? "" : line.substr(blank, end + 1 - blank);
    constexpr std::string_view kLoosestFirst[] = {" || ", " && ", " | ", " == != < <= > >= ", " + - ", " * / % "};
    for (int i = 0; !word.empty() && i < 6; ++i) {
      if (kLoosestFirst[i].find(word) != std::string_view::npos) return i + 1;
    }
    return std::nullopt;
  }

  // The blank at which a line is broken: of those within `room` the outermost, where least binds, and of these the
  // last. The line's end, if there is none.
  static size_t break_of(std::string_view line, size_t room) {
    size_t best = line.size();
    std::pair<int, int> best_rank;
    int depth = 0;
    bool is_quoted = line.starts_with('"');
    for (size_t i = 1; i + 1 < line.size() && (i <= room || best == line.size()); ++i) {
      if (line[i] == '"' && line[i - 1] != '\\') is_quoted = !is_quoted;
      if (is_quoted) continue;
      const bool is_bracket = line[i - 1] != ' ';  // '<' and '>' between blanks compare
      if (line[i] == '(' || line[i] == '{' || (line[i] == '<' && is_bracket)) ++depth;
      if (line[i] == ')' || line[i] == '}' || (line[i] == '>' && is_bracket)) --depth;
      const auto binding = line[i] == ' ' ? binding_at(line, i) : std::nullopt;
      if (!binding || (best != line.size() && std::pair(depth, *binding) > best_rank)) continue;
      best = i;
      best_rank = {depth, *binding};
    }
    return best;
  }

  // The last blank within `room` in a string that goes on after it; npos: there is none.
  static size_t blank_in_string(std::string_view line, size_t room) {
    size_t blank = line.npos;
    bool is_quoted = false;
    for (size_t i = 0; i + 1 < std::min(room, line.size()); ++i) {
      if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) {
        is_quoted = !is_quoted;
        blank = line.npos;
      }
      if (is_quoted && line[i] == ' ') blank = i;
    }
    return blank;
  }

  std::string text_;
  size_t depth_ = 0;
};

}  // namespace qgen
