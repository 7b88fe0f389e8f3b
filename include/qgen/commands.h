// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Recording operators and models into the caller's command buffers.
//
// Example: examples/engine/two_operators.cpp
#pragma once

#include "runtime/engine/dispatch/commands.h"
