// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <algorithm>

#include "common/manual/manual.h"
#include "common/manual/options.h"

namespace qgen {
namespace {

struct Words {
  std::vector<std::string> options, with_file, with_value;
};

Words words_of(const CLI::App& app) {
  Words words;
  for (const ShownOption& option : shown_options(app)) {
    std::ranges::copy(option.names, std::back_inserter(words.options));
    if (option.takes_value)
      std::ranges::copy(option.names, std::back_inserter(option.takes_file ? words.with_file : words.with_value));
  }
  return words;
}

std::string function_name(const CLI::App& app) {
  std::string name = "_" + app.get_name();
  std::ranges::replace(name, '-', '_');
  return name;
}

// Between single quotes, on one line.
std::string quoted(std::string text, std::string_view quote) {
  std::ranges::replace(text, '\n', ' ');
  for (size_t at = text.find('\''); at != text.npos; at = text.find('\'', at + quote.size()))
    text.replace(at, 1, quote);
  return text;
}

// ---- bash -----------------------------------------------------------------------------------------------------------

std::string bash_case(const std::vector<std::string>& options, std::string_view then) {
  return options.empty() ? "" : fmt::format("    {}) {} ;;\n", fmt::join(options, "|"), then);
}

std::string bash(const CLI::App& app) {
  Words all = words_of(app);
  std::string commands;
  for (const CLI::App* command : commands_of(app)) {
    const Words own = words_of(*command);
    commands += fmt::format("      {}) words=\"{}\" ;;\n", command->get_name(), fmt::join(own.options, " "));
    std::ranges::copy(own.with_file, std::back_inserter(all.with_file));
    std::ranges::copy(own.with_value, std::back_inserter(all.with_value));
  }
  const std::string function = function_name(app), options = fmt::format("{}", fmt::join(all.options, " "));
  std::string script = fmt::format(
      "{}() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} words=\"{} {}\" given\n  case ${{COMP_WORDS[COMP_CWORD-1]}} "
      "in\n",
      function, options, fmt::join(names_of_commands(app), " "));
  script += bash_case(all.with_file, "mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); return");
  script += bash_case(all.with_value, "COMPREPLY=(); return");
  script += "  esac\n";
  if (!commands.empty()) {
    script += "  for given in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n    case $given in\n" + commands +
              fmt::format("      *) continue ;;\n    esac\n    words+=\" {}\"\n  done\n", options);
  }
  return script + fmt::format(
                      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}}\n"
                      "complete -o default -F {} {}\n",
                      function, app.get_name());
}

// ---- zsh ------------------------------------------------------------------------------------------------------------

// Escaped for _arguments first. The shell's own quotes come last, since it reads them first.
std::string zsh_text(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') made += '\\';
    made += c;
  }
  return quoted(made, "'\\''");
}

std::string zsh_options(const CLI::App& app, std::string_view indent) {
  std::string lines;
  for (const ShownOption& option : shown_options(app)) {
    const std::string value =
        option.takes_value ? fmt::format(":{}:{}", zsh_text(option.value), option.takes_file ? "_files" : "") : "";
    for (const std::string& name : option.names)
      lines += fmt::format("{}'*{}[{}]{}' \\\n", indent, name, zsh_text(option.text), value);
  }
  return lines;
}

std::string zsh(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string script = fmt::format("#compdef {}\n", name);
  for (const CLI::App* command : commands_of(app)) {
    script +=
        fmt::format("if (( ${{words[(I){}]}} )); then\n  _arguments -s \\\n{}{}    '*:file:_files'\n  return\nfi\n",
                    command->get_name(), zsh_options(*command, "    "), zsh_options(app, "    "));
  }
  const std::string commands = fmt::format("{}", fmt::join(names_of_commands(app), " "));
  return script + "_arguments -s \\\n" + zsh_options(app, "  ") +
         (commands.empty() ? "  '*:file:_files'\n" : fmt::format("  '1:command:({})' '*:file:_files'\n", commands));
}

// ---- fish -----------------------------------------------------------------------------------------------------------

std::string fish_options(const CLI::App& app, const std::string& program, const std::string& when) {
  std::string lines;
  for (const ShownOption& option : shown_options(app)) {
    if (option.names.empty()) continue;
    std::string line = "complete -c " + program + when;
    for (const std::string& name : option.names)
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.takes_value) line += option.takes_file ? " -r -F" : " -x";
    lines += line + " -d '" + quoted(option.text, "\\'") + "'\n";
  }
  return lines;
}

std::string fish(const CLI::App& app) {
  const std::string program = app.get_name();
  std::string script = fish_options(app, program, "");
  for (const CLI::App* command : commands_of(app)) {
    script += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d '{}'\n", program, command->get_name(),
                          quoted(command->get_description(), "\\'"));
    script += fish_options(*command, program, fmt::format(" -n '__fish_seen_subcommand_from {}'", command->get_name()));
  }
  return script;
}

}  // namespace

std::string completion(const CLI::App& app, Shell shell) {
  switch (shell) {
    case Shell::bash: return bash(app);
    case Shell::zsh: return zsh(app);
    case Shell::fish: break;
  }
  return fish(app);
}

}  // namespace qgen
