// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen on the caller's Vulkan device.
//
// Example: examples/engine/two_operators.cpp
#pragma once

#include "runtime/engine/device/adopt.h"
#include "runtime/engine/device/vulkan_handles.h"
