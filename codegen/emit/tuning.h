// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Assigns measured times to the kernels of a run. A row names a choice by its id. Here the id becomes the kernels that
// the choice launches, or the row is counted as one whose kernels no longer exist.
//
//   "q8ta_linear.coopmat(q8_linear_coopmat.m16n16k32/m2n4)"  ->  {family q8_linear_coopmat, kernel m16n16k32}
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/emit/emit.h"
#include "runtime/engine/tuning/tuning_file.h"

namespace qgen::emit {

// A variant among the families of a run.
struct KernelIndex {
  size_t family = 0;
  size_t kernel = 0;
  friend auto operator<=>(const KernelIndex&, const KernelIndex&) = default;
};

struct CheckedRow {
  const tuning::TunedRow* row = nullptr;
  std::vector<KernelIndex> kernels;  // one; of a recipe one a step
};

// The rows of a tuning file that are valid for the families.
struct CheckedTuning {
  std::string name;  // of the file, without folder and ending: "nvidia-h200"
  const tuning::TuningFile* file = nullptr;
  std::vector<CheckedRow> rows = {};  // by problem, then time
  tuning::LeftOut unknown = {};       // rows of unknown choices
  tuning::LeftOut changed = {};       // rows of choices whose SPIR-V is another now
  // Rows of problems that their operator cannot have: "line 12: the key of a problem of 'x' has ...".
  tuning::LeftOut impossible = {};
};

CheckedTuning check_tuning(const std::string& name, const tuning::TuningFile& file, std::span<const Family> families);

// The bytes that its tables add to a 64-bit program: texts, each once, and the index.
uint64_t table_bytes(const CheckedTuning& tuning);

// "tuning of NVIDIA H200: 812 times, 61.2 kB of tables; 3 times left out, of kernels that have changed since, the
// first of 'scale.vec4'; 1 time left out, of kernels that do not exist, the first of 'scale.vec8'"
std::string to_text(const CheckedTuning& tuning);

}  // namespace qgen::emit
