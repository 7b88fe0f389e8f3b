// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Running an operator: its Call, its weights, and the Context with the device and the kernels.
//
// Example: examples/headers/executor.cpp
#pragma once

#include "runtime/engine/calls/call.h"
#include "runtime/engine/calls/weight.h"
