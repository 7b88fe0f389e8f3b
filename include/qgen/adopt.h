// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The caller's device, on which qgen is a guest.
#pragma once

#include "runtime/engine/device/adopt.h"
#include "runtime/engine/device/vulkan_handles.h"
