// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "operators.h"
#include "runtime/calls/registry.h"

namespace qgen {

std::span<const OperatorEntry> operators() { return generated::operators::entries(); }

}  // namespace qgen
