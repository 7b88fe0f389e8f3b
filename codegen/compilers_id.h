// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#pragma once

#include <string_view>

namespace qgen {

// A hexadecimal digest of everything that turns texts into modules: the rooms compile, reflect, workers and support,
// and the libraries that they link. A cache whose keys contain it serves no module of other compilers. Changes
// elsewhere in qgen do not change it. Made by the build (cmake/write_compilers_id.cmake).
std::string_view compilers_id();

}  // namespace qgen
