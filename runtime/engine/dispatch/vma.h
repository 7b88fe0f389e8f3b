// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Includes the whole Vulkan Memory Allocator for its only user, memory.cpp. A program that links qgen may also have a
// VMA. So this one has no public symbol: its types are in a namespace of qgen, and its functions are static. It loads
// Vulkan's functions through the two pointers that it gets.
//
// Warnings in its header are switched off here.
#pragma once

#include "runtime/engine/device/vulkan_api.h"

// All that the header includes: within the namespace nothing may be included for the first time.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <utility>

#define VMA_IMPLEMENTATION
#define VMA_CALL_PRE static
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#define VMA_VULKAN_VERSION 1003000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
namespace qgen::vma {
#include <vk_mem_alloc.h>
}  // namespace qgen::vma
#pragma GCC diagnostic pop
