// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Devices as YAML files, to choose kernels for a device that is not here.
#pragma once

#include "runtime/engine/profiles/device_file.h"
