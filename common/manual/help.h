// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Lays out --help for a terminal of 100 columns. All descriptions begin in one column, and no line of a description
// begins before it. The help of a command has the examples of this command alone.
#pragma once

#include <CLI/CLI.hpp>

namespace qgen {

// Of a program and of the commands that it declares afterwards. Also adds the options of manual.h. The footer of `app`
// may have a paragraph "Examples:" of lines such as "  qgen-model run net.onnx", and one that begins "Exit codes".
void wrap_help(CLI::App& app, size_t column = 26);

}  // namespace qgen
