// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The choice of a kernel for a problem, with a reason against each other kernel. Pure, without Vulkan.
#pragma once

#include "runtime/engine/selector/decision_cache.h"
#include "runtime/engine/selector/problem.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/selector/time_book.h"
#include "runtime/engine/selector/times.h"
