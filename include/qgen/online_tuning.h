// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measuring kernels while a program works.
//
// Example: examples/headers/online_tuning.cpp
#pragma once

#include "runtime/engine/calls/online_tuning.h"
