// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/manual/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <optional>

#include "common/manual/options.h"
#include "common/version.h"

namespace qgen {
namespace {

// Text in roff: no escapes, no requests, and hyphens that can be copied to a shell.
std::string roff(std::string_view text) {
  std::string made;
  bool is_line_start = true;
  for (const char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) made += "\\&";
    if (c == '\\') made += "\\e";
    else if (c == '-') made += "\\-";
    else made += c;
    is_line_start = c == '\n';
  }
  return made;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string heading_of(const ShownOption& option) {
  std::string heading;
  for (const std::string& name : option.names) heading += (heading.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (!option.value.empty()) heading += (heading.empty() ? "\\fI" : " \\fI") + roff(option.value) + "\\fR";
  return heading;
}

std::string paragraphs_of(const CLI::App& app) {
  std::string text;
  for (const ShownOption& option : shown_options(app))
    text += ".TP\n" + heading_of(option) + "\n" + roff(option.text) + "\n";
  return text;
}

std::string notes_of(const CLI::App& app) {
  const std::string footer = app.get_footer();
  return footer.empty() ? "" : ".SH NOTES\n.nf\n" + roff(footer) + (footer.ends_with('\n') ? "" : "\n") + ".fi\n";
}

std::optional<Shell> shell_of(const std::string& word) {
  if (word == "bash") return Shell::bash;
  if (word == "zsh") return Shell::zsh;
  if (word == "fish") return Shell::fish;
  return std::nullopt;
}

[[noreturn]] void print_and_end(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  throw CLI::Success();
}

}  // namespace

std::string manual_page(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string page = fmt::format(".TH {} 1 \"\" \"{}\"\n", roff(upper(name)), roff(version_text("qgen")));
  page += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(app.get_description()));
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR [\\fIoptions\\fR]{}\n", roff(name),
                      commands_of(app).empty() ? "" : " [\\fIcommand\\fR]");
  page += ".SH OPTIONS\n" + paragraphs_of(app);
  if (!commands_of(app).empty()) page += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(app)) {
    page += fmt::format(".SS {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
    page += paragraphs_of(*command);
  }
  return page + notes_of(app);
}

void add_manual_options(CLI::App& app) {
  app.add_flag_callback("--man", [&app] { print_and_end(manual_page(app)); })->group("");
  app.add_option_function<std::string>("--completion",
                                       [&app](const std::string& word) {
                                         const auto shell = shell_of(word);
                                         if (!shell) throw CLI::ValidationError("--completion", "bash, zsh or fish");
                                         print_and_end(completion(app, *shell));
                                       })
      ->group("");
}

}  // namespace qgen
