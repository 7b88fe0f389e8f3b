// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Why a kernel that needs features cannot run: the sentence of select(), and of a dispatch that was made past it.
#pragma once

#include <string>

#include "runtime/engine/device/device_profile.h"

namespace qgen::selector {

// "needs shader_int8, which the device lacks", or which its driver is known to compute wrongly. `missing` is not empty.
std::string missing_text(FeatureMask missing, const DeviceProfile& device);

}  // namespace qgen::selector
