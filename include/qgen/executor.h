// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tensors on a device; running, submitting and timing recordings; small tensors of the host in and out in the same
// submission.
//
// Example: examples/headers/executor.cpp
#pragma once

#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/dispatch/lent_memory.h"
#include "runtime/engine/dispatch/round_trip.h"
#include "runtime/engine/dispatch/statistics.h"
