// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Vulkan Memory Allocator, whole, for the one source that uses it: memory.cpp. A program that links qgen may have
// an allocator of its own, so no symbol of this one is named as there: its types are in a namespace of qgen's, and its
// functions are static. It loads Vulkan's functions through the two pointers it is given.
//
// Its header has warnings of its own, which stay out of ours.
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
