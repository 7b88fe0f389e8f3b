// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Writes fitted constants into a spec's text. Only the numbers under `fit:` change, so the diff is short.
//
//   with_constants("fit: {tile_us: 0.4}   # per tile\n", "specs/tiles.yaml", constants)
//     -> "fit: {tile_us: 0.37}   # per tile\n"
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/library/error.h"
#include "runtime/workshop/fitting/fit_costs.h"

namespace qgen::fitting {

// `constants`: those of one spec or fragment. Errors have the place: no YAML, a constant that the spec does not have.
Expected<std::string> with_constants(std::string_view text, const std::string& file,
                                     std::span<const FittedConstant> constants);

// Writes the constants of each spec or fragment into `<its name>.yaml` below the folder, where any of them changed. Gives
// the files that were written, by name. Errors: a spec that is not there; nothing is written then.
Expected<std::vector<std::string>> write_constants(const std::string& folder,
                                                   std::span<const FittedConstant> constants);

}  // namespace qgen::fitting
