// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The problem fields on which a choice can depend. Two problems that differ in other fields only have the same problem
// key, so they share measured times.
//
//   problem: {m: u32, n: u32, scale: f32}
//   applies_when: [m % 4 == 0]
//   recipes: {tiled: {steps: [{kernel: tiles, problem: {columns: n}}]}}      whose cost reads columns
//     -> m, n
//
// Private to this room.
#pragma once

#include <set>
#include <span>
#include <string>

#include "codegen/emit/emit.h"

namespace qgen::emit {

// The names that conditions, grid, cost and scratch read, both the operator's and its recipes'; also those from which a
// step's problem gets the fields that its family reads. `families`: all families of the run.
std::set<std::string, std::less<>> fields_read(const spec::Spec& spec, std::span<const Family> families);

}  // namespace qgen::emit
