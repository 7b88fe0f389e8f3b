// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The version of qgen, and the line that --version prints.
#pragma once

#include <string>
#include <string_view>

namespace qgen {

std::string_view version();  // "0.1.0"

// "qgen-run 0.1.0"; of a program that a project made by qgen's libraries, "row-run (qgen 0.1.0)".
std::string version_text(std::string_view program);

// For a CLI::App.
void add_version_flag(auto& app, std::string_view program) {
  app.set_version_flag("--version", version_text(program), "print the version and exit");
}

}  // namespace qgen
