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
  // `before`, items with commas between them, `after`: one line where they fit, else as many items a line as fit.
  void filled(std::string_view before, const std::vector<std::string>& items, std::string_view after) {
    constexpr size_t kWidth = 120;
    const std::string all = fmt::format("{}{}{}", before, fmt::join(items, ", "), after);
    if (2 * depth_ + all.size() <= kWidth) return text(all);
    text(before);
    {
      const auto indented = indent();
      std::string row;
      for (const std::string& item : items) {
        if (!row.empty() && 2 * depth_ + row.size() + item.size() + 2 > kWidth) text(std::exchange(row, ""));
        row += fmt::format("{}{},", row.empty() ? "" : " ", item);
      }
      text(row);
    }
    text(after);
  }

  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
  size_t depth_ = 0;
};

}  // namespace qgen
