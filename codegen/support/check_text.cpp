// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/support/check_text.h"

#include <fmt/format.h>

#include "common/text.h"

namespace qgen {

std::optional<Diagnostic> check_text(std::string_view text, const std::string& file) {
  const auto fault = find_text_fault(text);
  if (!fault) return std::nullopt;
  Diagnostic error;
  error.where = {file, fault->line, fault->column};
  error.message = fmt::format("the file contains {}", fault->message);
  error.expected = "text in UTF-8";
  return error;
}

}  // namespace qgen
