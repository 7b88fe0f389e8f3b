// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Devices as YAML files, to choose kernels for a device that is not here.
//
// Example: examples/headers/device_file.cpp
#pragma once

#include "runtime/engine/profiles/device_file.h"
