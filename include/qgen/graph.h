// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Models as graphs of operators by name.
//
// Example: examples/headers/graph.cpp
#pragma once

#include "runtime/models/graph/builder.h"
#include "runtime/models/graph/graph.h"
