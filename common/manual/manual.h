// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A program's manual page and the completions of shells, made from the options that it declares:
//
//   qgen-run --man > qgen-run.1
//   qgen-run --completion bash > bash-completion/completions/qgen-run
//
// --help does not list these two options: they are for who packages qgen (cmake/QgenInstall.cmake).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace qgen {

// Adds --man and --completion. They see all that is declared until the command line is parsed.
void add_manual_options(CLI::App& app);

// In roff, of section 1: the options and commands that --help lists, and the footer as notes.
std::string manual_page(const CLI::App& app);

enum class Shell { bash, zsh, fish };
// A script that completes the options and commands that --help lists, and file names where an option takes a file.
std::string completion(const CLI::App& app, Shell shell);

}  // namespace qgen
