// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Explains the kernels and layouts of layers, for --explain.
#pragma once

#include <string>

#include "runtime/models/graph/schedule.h"

namespace qgen::model {

// The layers of this name, which is whole ("Conv_5 + Relu_6") or one of their nodes' ("Conv_5"). If there are none, the
// layers whose names contain it. Their costs in other layouts, and the ranking of the kernels in their present layouts.
// Errors: there is no such layer.
Expected<std::string> reasons_of(const graph::Graph& graph, const graph::Schedule& schedule, const std::string& layer,
                                 const graph::Chooser& chooser);

}  // namespace qgen::model
