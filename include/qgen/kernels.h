// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The generated tables of kernels, and the library that reads them. Without Vulkan.
//
// Example: examples/headers/select.cpp
#pragma once

#include "runtime/engine/library/blob.h"
#include "runtime/engine/library/kernel_info.h"
#include "runtime/engine/library/kernel_library.h"
#include "runtime/engine/library/required.h"
#include "runtime/engine/library/signature_info.h"
#include "runtime/engine/library/tuning_info.h"
