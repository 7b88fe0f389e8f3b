// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Models that were compiled for named devices, as qgen_add_model() embeds them.
//
// Example: examples/embedded_model/main.cpp
#pragma once

#include "runtime/models/graph/bound_graph.h"
#include "runtime/models/graph/fixed_model.h"
