// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/manual/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/log.h"
#include "common/manual/options.h"
#include "common/nearest.h"
#include "common/text.h"

namespace qgen {
namespace {

// The program, and the command that was given.
std::vector<const CLI::App*> apps_of(const CLI::App& app) {
  std::vector<const CLI::App*> apps = {&app};
  for (const CLI::App* command : app.get_subcommands()) apps.push_back(command);
  return apps;
}

std::string help_hint(const CLI::App& app) {
  const auto apps = apps_of(app);
  return fmt::format("{}{} --help shows the options", app.get_name(),
                     apps.size() > 1 ? " " + apps.back()->get_name() : "");
}

struct Misuse {
  std::string text;
  std::string hint;
};

// An argument that the program does not know.
Misuse unknown_argument(const CLI::App& app, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> known;
  const bool is_option = name.starts_with('-');
  const bool is_command = !is_option && app.get_subcommands().empty() && !commands_of(app).empty();
  for (const CLI::App* part : apps_of(app)) {
    for (const CLI::Option* option : part->get_options()) {
      if (!is_option || option->get_group().empty()) continue;  // hidden from --help too
      for (const std::string& word : option->get_lnames()) known.push_back("--" + word);
    }
  }
  if (is_command) known = names_of_commands(app);
  const std::string near = did_you_mean(name, std::vector<std::string_view>(known.begin(), known.end()));
  return {fmt::format("{} '{}'",
                      is_option    ? "unknown option"
                      : is_command ? "unknown command"
                                   : "unexpected argument",
                      printable(name)),
          near.empty() && is_command ? fmt::format("the commands are {}", fmt::join(known, ", ")) : near};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

Misuse misuse_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  std::vector<std::string> rest;
  for (const CLI::App* part : apps_of(app)) std::ranges::copy(part->remaining(), std::back_inserter(rest));
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool lacks_command = text.find("ubcommand") != text.npos;
  if ((is_extra || lacks_command) && !rest.empty()) return unknown_argument(app, rest.front());
  if (lacks_command)
    return {"a command is required", fmt::format("the commands are {}", fmt::join(names_of_commands(app), ", "))};
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    const std::string option = text.substr(0, text.find(':'));
    return {option + (text.find("missing") == text.npos ? " can be given only once" : " needs a value"), ""};
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error))
    return {replaced(text, " excludes ", " and ") + " cannot be combined", ""};
  return {replaced(text, " requires ", " needs "), ""};
}

}  // namespace

CLI::Validator one_of_words(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](const std::string& given) {
        for (const std::string& word : words)
          if (word == given) return std::string();
        return fmt::format("'{}' is not one of {}", printable(given), fmt::join(words, ", "));
      },
      "");
}

void parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  app.parse(argc, argv);
  for (const CLI::App* part : apps_of(app)) {
    for (const CLI::Option* option : part->get_options()) {
      if (option->get_expected_min() == 0) continue;  // without a value it has an empty one too
      for (const std::string& value : option->results())
        if (value.empty()) throw CLI::ValidationError(option->get_name(), "the value is empty");
    }
  }
}

bool print_help_or_misuse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error) == 0;
  const Misuse misuse = misuse_of(app, error);
  print_log("{}: {}\n  hint: {}\n", app.get_name(), misuse.text, misuse.hint.empty() ? help_hint(app) : misuse.hint);
  return false;
}

}  // namespace qgen
