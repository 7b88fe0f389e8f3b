// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One pass over the bytes. GLSL joins lines at a backslash before it looks for comments, so a line comment that ends in
// one goes on in the next line; a block comment is one blank, also where it spans lines within a directive.
#include "codegen/render/render.h"

namespace qgen::render {
namespace {

class Stripper {
 public:
  explicit Stripper(std::string_view glsl) : rest_(glsl) { out_.reserve(glsl.size()); }

  std::string strip() {
    while (!rest_.empty()) step();
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    return std::move(out_);
  }

 private:
  void step() {
    if (skip_continuation()) return;
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

  void end_line() {
    has_blank_ = false;
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
  }

  bool skip_continuation() {
    for (const std::string_view end : {"\\\n", "\\\r\n"}) {
      if (!rest_.starts_with(end)) continue;
      rest_.remove_prefix(end.size());
      return true;
    }
    return false;
  }

  void skip_line_comment() {
    has_blank_ = true;
    while (!rest_.empty() && rest_.front() != '\n') {
      if (!skip_continuation()) rest_.remove_prefix(1);
    }
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
  if (glsl.find("__LINE__") != glsl.npos) return std::string(glsl);
  return Stripper(glsl).strip();
}

}  // namespace qgen::render
