// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The untuned choices of affine quantization on an H200. No table has their times: the specs estimate them from
// instructions and loads.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/engine/library/kernel_library.h"

namespace qgen {

struct ChoiceCount {
  size_t all = 0, as_written = 0;  // those that this file's table has, and those that are chosen as it says
  std::string differences;         // a line for each of the others
};

ChoiceCount count_affine_choices(const KernelLibrary& library);

}  // namespace qgen
