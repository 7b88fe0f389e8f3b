// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A module whose buffers of 8- and 16-bit integers are buffers of 32-bit words, for devices without 8- and 16-bit
// storage. No template is written twice: `uint(input_bits[i])` becomes a load of the word and an extraction.
// `output_data[i] = int8_t(q)` becomes two atomic operations on the word, since its other bytes belong to other
// invocations. Loads from a buffer that the module also writes, or that may share bytes with one, are atomic too.
//
// The axis `storage_access` requests it (codegen/support/storage_access.h).
//
// Between loads, stores and conversions, narrow integers are 32-bit integers of the same value. Buffers end with a
// whole word (runtime/engine/dispatch/executor.h).
#pragma once

#include <string>

#include "codegen/compile/compile.h"
#include "common/outcome.h"

namespace qgen::compile {

// Of a module as glslang makes it. Errors, a sentence: the module calculates with narrow numbers, or reaches them in
// another way than as elements of a buffer's array.
Outcome<Spirv, std::string> with_word_access(const Spirv& spirv);

}  // namespace qgen::compile
