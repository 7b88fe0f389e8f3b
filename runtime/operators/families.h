// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The families of operators, each with its entries in a source file of its own.
#pragma once

#include <span>

#include "runtime/operators/registry.h"

namespace qgen {

std::span<const OperatorEntry> affine_entries();
std::span<const OperatorEntry> elementwise_entries();
std::span<const OperatorEntry> embedding_entries();
std::span<const OperatorEntry> fused_entries();
std::span<const OperatorEntry> linear_entries();
std::span<const OperatorEntry> packed_entries();
std::span<const OperatorEntry> weight_linear_entries();
std::span<const OperatorEntry> weight_packing_entries();

}  // namespace qgen
