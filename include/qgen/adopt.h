// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen on the caller's Vulkan device.
#pragma once

#include "runtime/engine/device/adopt.h"
#include "runtime/engine/device/vulkan_handles.h"
