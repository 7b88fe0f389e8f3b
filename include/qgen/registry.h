// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Operators by name, on tensors in host memory.
//
// Example: examples/headers/registry.cpp
#pragma once

#include "runtime/engine/calls/registry.h"
