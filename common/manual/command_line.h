// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What the programs print for a wrong command line: one line that is true of this command line, and a hint.
//
//   qgen-tune --stratgy batches
//   qgen-tune: unknown option '--stratgy'
//     hint: did you mean '--strategy'?
//
// CLI11 reports such errors in words of its own, such as "1 required TEXT missing".
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace qgen {

// Of an option with a few words: "--opt: 'fast' is not one of none, perf, size".
CLI::Validator one_of_words(std::vector<std::string> words);

// Parses the command line. Throws CLI::ParseError, also for a value that is empty: it is most often a variable of the
// shell that is not set.
void parse_command_line(CLI::App& app, int argc, const char* const* argv);

// Prints --help or --version, if the command line has them, or what is wrong with it. False: something is wrong.
bool print_help_or_misuse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace qgen
