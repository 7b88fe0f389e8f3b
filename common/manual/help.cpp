// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/manual/help.h"

#include <fmt/format.h>

#include <cctype>
#include <memory>
#include <sstream>
#include <string>

#include "common/manual/manual.h"
#include "common/manual/options.h"
#include "common/text.h"

namespace qgen {
namespace {

// "run a model" as "Run a model."
std::string sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text.ends_with('.') ? text : text + ".";
}

// Of a program's footer, what concerns one command: its examples, and the exit codes.
std::string footer_of_command(const std::string& footer, const std::string& command) {
  std::string examples, codes;
  std::istringstream lines(footer);
  bool is_codes = false;
  for (std::string line; std::getline(lines, line);) {
    is_codes = line.starts_with("Exit code") || (is_codes && !line.empty());
    if (line.starts_with("  " + command + " ")) examples += line + "\n";
    if (is_codes) codes += line + "\n";
  }
  if (!examples.empty()) examples = "\nExamples:\n" + examples;
  return examples + (codes.empty() ? "" : "\n" + codes);
}

class WrappedHelp : public CLI::Formatter {
 public:
  static constexpr size_t kColumns = 100;

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_desc(option);
    if (option->get_required() && !option->get_positional()) text += "; required";
    return wrapped(text, 0, kColumns - get_column_width());  // CLI11 indents
  }

  // Only the value. CLI11 would also list the options that this one excludes; a refusal says so.
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string value = shown_option(*option).value;
    if (option->get_positional()) value = option->get_type_name();
    const bool is_list = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    if (is_list && option->get_option_text().empty() && !value.ends_with("..."))
      value += value.empty() ? "..." : " ...";
    return value.empty() ? "" : " " + value;
  }

  std::string make_subcommand(const CLI::App* command) const override {
    const std::string help = wrapped(command->get_description(), 0, kColumns - get_column_width());
    std::stringstream lines;
    CLI::detail::format_help(lines, command->get_display_name(true), help, get_column_width());
    return lines.str();
  }

  std::string make_description(const CLI::App* app) const override { return sentence(app->get_description()) + "\n"; }

  std::string make_footer(const CLI::App* app) const override {
    const CLI::App* program = app->get_parent();
    if (program == nullptr) return app->get_footer() + "\n";
    return footer_of_command(program->get_footer(), program->get_name() + " " + app->get_name());
  }
};

}  // namespace

void wrap_help(CLI::App& app, size_t column) {
  auto formatter = std::make_shared<WrappedHelp>();
  formatter->column_width(column);
  app.formatter(formatter);
  add_manual_options(app);
}

}  // namespace qgen
