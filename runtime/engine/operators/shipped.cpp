// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/operators/shipped.h"

#include "operators.h"

namespace qgen {

OperatorEntries operators() { return generated::operators::entries(); }

}  // namespace qgen
