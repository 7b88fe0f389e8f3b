// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Chooses the storage and layout of each tensor of a graph, and the kernel of each operator.
//
// Example: examples/headers/plan.cpp
#pragma once

#include "runtime/models/planner/assignment.h"
#include "runtime/models/planner/choice_model.h"
#include "runtime/models/planner/conversions.h"
#include "runtime/models/planner/graph.h"
#include "runtime/models/planner/modes.h"
#include "runtime/models/planner/plan.h"
#include "runtime/models/planner/representation.h"
#include "runtime/models/planner/states.h"
