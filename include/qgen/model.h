// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph that is prepared for a device and replayed; the same as a compiled file.
#pragma once

#include "runtime/models/graph/candidates.h"
#include "runtime/models/graph/compiled.h"
#include "runtime/models/graph/constants.h"
#include "runtime/models/graph/memory.h"
#include "runtime/models/graph/model.h"
#include "runtime/models/graph/own_kernels.h"
#include "runtime/models/graph/prepared.h"
#include "runtime/models/graph/schedule.h"
