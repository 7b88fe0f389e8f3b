// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Fitted constants in the text of a spec: only the numbers of its `fit:` change, so a person reviews a short diff.
//
//   with_constants("fit: {tile_us: 0.4}   # per tile\n", "specs/tiles.yaml", constants)
//     -> "fit: {tile_us: 0.37}   # per tile\n"
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/fitting/fit_costs.h"
#include "runtime/library/error.h"

namespace qgen::fitting {

// `constants` are those of one spec or fragment. Errors have the place: no YAML, a constant that the spec does not have.
Expected<std::string> with_constants(std::string_view text, const std::string& file,
                                     std::span<const FittedConstant> constants);

// Writes the constants of each spec or fragment into `<its name>.yaml` below the folder, where any of them changed. Gives
// the files that were written, by name. Errors: a spec that is not there; nothing is written then.
Expected<std::vector<std::string>> write_constants(const std::string& folder,
                                                   std::span<const FittedConstant> constants);

}  // namespace qgen::fitting
