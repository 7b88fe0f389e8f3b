// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The properties of an operand's dtype, for modules in which dtypes are problem fields.
$gives bool is_real(uint kind)
$gives uint bytes_of(uint kind)

bool is_real(uint kind) { return kind <= kFusedDtypeF16; }
uint bytes_of(uint kind) {
  return kind == kFusedDtypeI8 || kind == kFusedDtypeU8     ? 1u
         : kind == kFusedDtypeF16 || kind == kFusedDtypeI16 ? 2u
                                                            : 4u;
}
