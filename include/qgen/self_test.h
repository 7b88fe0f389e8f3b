// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Checks what a device computes, at a program's first start.
//
// Example: examples/headers/self_test.cpp
#pragma once

#include "runtime/engine/self_test/self_test.h"
