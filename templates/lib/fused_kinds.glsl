// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Dtypes of operands as numbers, for modules that are told them.
const uint kF32 = 0u;
const uint kF16 = 1u;
const uint kI8 = 2u;
const uint kU8 = 3u;
const uint kI16 = 4u;  // and past it i32

bool is_real(uint kind) { return kind <= kF16; }
uint bytes_of(uint kind) { return kind == kI8 || kind == kU8 ? 1u : kind == kF16 || kind == kI16 ? 2u : 4u; }
