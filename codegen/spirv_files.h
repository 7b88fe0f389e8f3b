// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// --emit spv: modules as files, and all that a dispatcher in another language needs of them as one JSON document.
//
//   spv/softmax/0f1e2d3c4b5a6978.spv     a module, by its digest; variants that agree share one
//   spv/index.json                       operators, their problems, conditions, grids and costs; kernels, what they bind
//
// Conditions, grids and costs are expressions of the spec language (specs/README.md), with all names written out.
#pragma once

#include <vector>

#include "codegen/pipeline.h"

namespace qgen {

// Of a product that was reflected.
std::vector<emit::File> spirv_files(const Product& product);

}  // namespace qgen
