// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Two passes, as GLSL defines them: first lines are joined at backslashes, then comments are removed. A line comment
// that ends in a backslash therefore goes on in the next line, and joining may itself make a comment. A block comment
// is one blank, also where it spans lines within a directive.
#include <algorithm>

#include "codegen/render/render.h"

namespace qgen::render {
namespace {

std::string join_lines(std::string_view glsl) {
  std::string joined;
  joined.reserve(glsl.size());
  while (!glsl.empty()) {
    const size_t length = glsl.starts_with("\\\n") ? 2 : glsl.starts_with("\\\r\n") ? 3 : 0;
    if (length == 0) joined += glsl.front();
    glsl.remove_prefix(std::max<size_t>(length, 1));
  }
  return joined;
}

class Stripper {
 public:
  explicit Stripper(std::string_view glsl) : rest_(glsl) { out_.reserve(glsl.size()); }

  std::string strip() {
    while (!rest_.empty()) step();
    end_line();
    return std::move(out_);
  }

 private:
  void step() {
    if (rest_.starts_with("//")) return skip_line_comment();
    if (rest_.starts_with("/*")) return skip_block_comment();
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '\n') return end_line();
    if (c == ' ' || c == '\t' || c == '\r') {
      has_blank_ = true;
      return;
    }
    put(c);
    if (c == '"') copy_string();
  }

  // One blank for any number of them, and none at either end of a line.
  void put(char c) {
    const bool is_at_start = out_.empty() || out_.back() == '\n';
    if (has_blank_ && !is_at_start) out_ += ' ';
    has_blank_ = false;
    out_ += c;
  }

  // A backslash with something after it joined nothing; it has to stay so when that was a comment.
  void end_line() {
    has_blank_ = false;
    if (out_.ends_with('\\')) out_ += ' ';
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
  }

  void skip_line_comment() {
    has_blank_ = true;
    rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
  }

  void skip_block_comment() {
    has_blank_ = true;
    const size_t end = rest_.find("*/", 2);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 2);
  }

  // Only GL_EXT_debug_printf has strings; a quote in an #error is one to the end of its line.
  void copy_string() {
    while (!rest_.empty() && rest_.front() != '\n') {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      out_ += c;
      if (c == '\\' && !rest_.empty() && rest_.front() != '\n') {
        out_ += rest_.front();
        rest_.remove_prefix(1);
      } else if (c == '"') {
        return;
      }
    }
  }

  std::string_view rest_;
  std::string out_;
  bool has_blank_ = false;
};

}  // namespace

std::string without_comments(std::string_view glsl) {
  const std::string joined = join_lines(glsl);
  if (joined.find("__LINE__") != joined.npos) return std::string(glsl);
  return Stripper(joined).strip();
}

}  // namespace qgen::render
