// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/manual/options.h"

namespace qgen {
namespace {

bool is_file(const std::string& value) { return value.starts_with("FILE") || value.starts_with("DIR"); }

std::string value_of(const CLI::Option& option) {
  return option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
}

}  // namespace

ShownOption shown_option(const CLI::Option& option) {
  ShownOption made;
  for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
  made.takes_value = option.get_items_expected_max() > 0;
  if (made.takes_value) made.value = value_of(option);
  if (made.names.empty()) made.value = option.get_name(true);
  made.takes_file = is_file(made.value);
  made.text = option.get_description();
  return made;
}

std::vector<ShownOption> shown_options(const CLI::App& app) {
  std::vector<ShownOption> all;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
    all.push_back(shown_option(*option));
  return all;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

}  // namespace qgen
