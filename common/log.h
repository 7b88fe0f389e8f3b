// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Text apart from the results: notes, warnings, errors and progress, on standard error.
//
//   print_log("qgen-model: note: {}\n", note);
//
// No run ends because of its log. Where standard error is closed, its disk is full or its reader is gone, the text is
// lost and the run goes on. fmt::print() throws there, and a pipe without a reader ends the process by a signal.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace qgen {

// Writes as much as standard error takes. Throws nothing, raises no signal.
void write_log(std::string_view text) noexcept;

template <typename... Args>
void print_log(fmt::format_string<Args...> format, Args&&... args) {
  write_log(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace qgen
