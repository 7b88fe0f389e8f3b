// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Ranks the kernels for a problem, with the reason for each refused one. Pure, without Vulkan.
//
// Example: examples/headers/select.cpp
#pragma once

#include "runtime/engine/selector/decision_cache.h"
#include "runtime/engine/selector/problem.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/selector/time_book.h"
#include "runtime/engine/selector/times.h"
