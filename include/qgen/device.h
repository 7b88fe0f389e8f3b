// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Opening a device, and its features and limits as a value.
//
// Example: examples/headers/device.cpp
#pragma once

#include "runtime/engine/device/device.h"
#include "runtime/engine/device/device_mask.h"
#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/device/limits.h"
