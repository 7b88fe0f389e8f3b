// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A kernel's cost for one problem on one device, as a worked sum. A spec's cost is an expression over names. From their
// values this computes the value of each term.
//
//   cost_sum(spec, {{"m", "512"}, {"unit", "4"}, ...}, device.numbers)
//     -> 21.4 us = 2.4 (device.launch_us) + 1.5 (begin_us) + 17.5 (tiles_us)
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/spec/spec.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen::spec {

// Names of parameters, specialization constants (`tile.rows`) and problem fields, with the texts of their values.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

struct CostTerm {
  std::string text;  // "tiles * tile_us"
  double value = 0;
  bool is_subtracted = false;
};
// The terms of the cost, or of a definition that it reads.
struct CostPart {
  std::string name;  // of the definition; "cost"
  double value = 0;
  std::vector<CostTerm> terms;
};

// The cost first, then the definitions that it reads, each after its readers. Constants of `fit` have the spec's
// values. Errors: all names without a value that the cost reads; impossible values; unknown names.
Result<std::vector<CostPart>> cost_sum(const Spec& spec, const NamedValues& values, const DeviceNumbers& device);

// A line for each term, and the same below it for each definition.
std::string to_text(const std::vector<CostPart>& parts);

}  // namespace qgen::spec
