// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Devices as YAML files: choosing for one that is not here.
#pragma once

#include "runtime/engine/profiles/device_file.h"
