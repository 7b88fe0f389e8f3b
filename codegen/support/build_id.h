// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The build id of the running program, from the note of the linker (--build-id). It changes with the sources, the
// compiler and the linked libraries. A cache that carries it never serves an older program's results.
#pragma once

#include <string>

namespace qgen {

// Hexadecimal; empty where the linker left no note.
std::string build_id();

}  // namespace qgen
