// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A weight in one of its forms, as a value: a program packs it once and keeps it in its model's file.
//
//   const auto packed = pack(Layout::weight_q4_rows, codes);                      // [N, K] of i8
//   file << write_packed_weight(*packed);
//   ...
//   auto weight = Weight::create(*read_packed_weight(bytes), {});                 // runtime/engine/calls/weight.h
//
// The bytes: 64 of text, "qgen weight 1 weight_q4_rows 4096 11008", filled with spaces and ended by a line feed; then
// the form.
#pragma once

#include "runtime/engine/tensor/weight_form.h"

namespace qgen {

struct PackedWeight {
  Layout layout = Layout::strided;  // the form
  Shape shape;                      // [N, K]
  std::vector<std::byte> bytes;
};

// Errors: no form of a weight, and the errors of pack_weight() and unpack_weight().
Expected<PackedWeight> pack(Layout layout, const HostTensor& source);
Expected<HostTensor> unpack(const PackedWeight& packed);

std::vector<std::byte> write_packed_weight(const PackedWeight& packed);
// Errors: other bytes than these, a form that this version does not have, fewer or more bytes than it takes.
Expected<PackedWeight> read_packed_weight(std::span<const std::byte> file);

}  // namespace qgen
