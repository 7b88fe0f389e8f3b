// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The options that a program or one of its commands declares, as manual pages and completions show them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace qgen {

struct ShownOption {
  std::vector<std::string> names;  // "-o", "--output"; of an argument without a name: empty
  std::string value;               // "FILE"; empty: it takes none
  std::string text;
  bool takes_value = false;
  bool takes_file = false;
};

ShownOption shown_option(const CLI::Option& option);
// Those that --help lists, in its order.
std::vector<ShownOption> shown_options(const CLI::App& app);
std::vector<const CLI::App*> commands_of(const CLI::App& app);
std::vector<std::string> names_of_commands(const CLI::App& app);

}  // namespace qgen
