// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The ways to run a request: where each of its tensors lies, and whether its real numbers are halves. All that any
// kernel of the operator takes is a way; those for which no kernel takes the whole are for select() to refuse.
//
//   x f32 [8, 6] -> quantize_affine    2 real types x 4 places of the input x 4 of the output
//
// Two operands at a time go through all pairs of their places, while the others lie in plain buffers; and all that
// can through each place together. With two operands that is every combination, and with more it stays small.
#pragma once

#include <string>
#include <vector>

#include "runtime/calls/registry.h"

namespace qgen::measure {

struct Way {
  std::map<std::string, Place, std::less<>> places;  // without: a plain buffer
  bool is_half = false;
};
std::string to_text(const Way& way);  // "input texture3d width_packed, f16"; "plain buffers"

// `ranks`: of inputs and outputs, since textures hold tensors of rank 4.
std::vector<Way> ways_of(const OperatorEntry& entry, const OperatorInfo& op, const Request& request,
                         const std::map<std::string, size_t, std::less<>>& ranks);
Request in_way(const Request& request, const Way& way, const OperatorEntry& entry, const OperatorInfo& op);

// Every place that some kernel, or a step of some recipe, takes an operand from or puts it to.
std::vector<Place> places_of(const OperatorInfo& op, size_t operand);

}  // namespace qgen::measure
