// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "tests/reference/packed_requests.h"

namespace qgen::reference {

Tensors q8ta_clone(const Request& request) { return {{"output", request.inputs.at("input")}}; }

}  // namespace qgen::reference
