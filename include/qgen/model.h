// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Preparing a graph for a device and replaying it; compiled models in files.
//
// Example: examples/headers/graph.cpp
#pragma once

#include "runtime/models/graph/block_pool.h"
#include "runtime/models/graph/cache_forms.h"
#include "runtime/models/graph/candidates.h"
#include "runtime/models/graph/compiled.h"
#include "runtime/models/graph/constants.h"
#include "runtime/models/graph/generator.h"
#include "runtime/models/graph/memory.h"
#include "runtime/models/graph/model.h"
#include "runtime/models/graph/own_kernels.h"
#include "runtime/models/graph/prepared.h"
#include "runtime/models/graph/sampling.h"
#include "runtime/models/graph/schedule.h"
