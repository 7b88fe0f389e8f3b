// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Lays out --help for a terminal of 100 columns. All descriptions begin in one column, and no line of a description
// begins before it.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>
#include <string>

#include "common/manual/manual.h"
#include "common/text.h"

namespace qgen {

class WrappedHelp : public CLI::Formatter {
 public:
  static constexpr size_t kColumns = 100;

  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option), 0, kColumns - get_column_width());  // CLI11 indents
  }

  std::string make_subcommand(const CLI::App* command) const override {
    const std::string help = wrapped(command->get_description(), 0, kColumns - get_column_width());
    std::stringstream lines;
    CLI::detail::format_help(lines, command->get_display_name(true), help, get_column_width());
    return lines.str();
  }
};

// Of a program and of the commands that it declares afterwards. Also adds the options of manual.h.
inline void wrap_help(CLI::App& app, size_t column = 26) {
  auto formatter = std::make_shared<WrappedHelp>();
  formatter->column_width(column);
  app.formatter(formatter);
  add_manual_options(app);
}

}  // namespace qgen
