// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The formats in which a request can run: the representation of each tensor, and whether floating-point tensors are
// f16. All combinations that some kernel accepts operand by operand are listed. If no kernel accepts a whole
// combination, select() refuses it.
//
//   x f32 [8, 6] -> quantize_affine    2 floating-point types x 4 representations of the input x 4 of the output
//
// For each two operands all pairs of representations are listed, with the others in plain buffers. And for each
// representation, one entry has all operands in it that can be. For two operands that is every combination; for more it
// stays small.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/calls/registry.h"

namespace qgen::measure {

struct RequestFormats {
  std::map<std::string, Representation, std::less<>> representations;  // without: a plain buffer
  bool is_half = false;
};
std::string to_text(const RequestFormats& formats);  // "input texture3d width_packed, f16"; "plain buffers"

// `ranks`: of inputs and outputs, since textures hold tensors of rank 4.
std::vector<RequestFormats> formats_of(const OperatorEntry& entry, const OperatorInfo& op, const Request& request,
                                       const std::map<std::string, size_t, std::less<>>& ranks);
Request in_formats(const Request& request, const RequestFormats& formats, const OperatorEntry& entry,
                   const OperatorInfo& op);

// Every representation of the operand that some kernel, or a step of some recipe, reads or writes.
std::vector<Representation> representations_of(const OperatorInfo& op, size_t operand);

}  // namespace qgen::measure
