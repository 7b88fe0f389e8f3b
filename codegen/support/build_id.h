// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which build of the running program this is, by the note that the linker leaves in it (--build-id): another source,
// compiler or statically linked library is another id. A cache that carries it never serves an older program's results.
#pragma once

#include <string>

namespace qgen {

// Hexadecimal; empty where the linker left no note.
std::string build_id();

}  // namespace qgen
