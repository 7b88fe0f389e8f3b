// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The names that each part of a merged spec may read. A part is the spec itself or a fragment that it uses.
//
//   fragment: cost_of_tiles            kernel: tiled
//   takes: {rounds: of tiles}          use: [{cost_of_tiles: {rounds: waves(tiles)}}]
//   gives: [tiles_us]                  cost: device.launch_us + tiles_us
//   define: {step_us: 0.5,
//            tiles_us: rounds * step_us}
//
// The spec reads its own names, the problem fields and axes of all parts, and the names that fragments give:
// `tiles_us`. A fragment reads the names that it declares or takes: `rounds`, which here becomes a definition of the
// spec. `step_us` is private to the fragment. If the merged spec already has this name, the private one is renamed.
// Private to this room.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/expression/expression.h"
#include "codegen/spec/fragments.h"

namespace qgen::spec {

struct PartNames {
  std::vector<expression::Names> of_part;     // by the name in the part's file: the name in the merged spec
  std::set<std::string, std::less<>> hidden;  // definitions in the merged spec that only their own part reads
  std::map<std::pair<size_t, std::string>, const Take*> missing;  // by part and name: names that nobody gives
};

// Renames private definitions, and adds one for each expression that a fragment gets. Then it orders all definitions so
// that each reads only earlier ones.
PartNames settle_names(YamlNode& root, const std::vector<Part>& parts);

}  // namespace qgen::spec
