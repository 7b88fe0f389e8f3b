// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Finds out why no Vulkan driver can be used. The loader returns the same error for every cause, and silently skips a
// driver that lacks a library. So after a failure of the loader, this repeats its steps. It looks for manifests in the
// loader's order (LoaderDriverInterface.md of Khronos), reads the library that each one names, and tries to load and
// start it. The report names the faults that a person can repair:
//
//   no Vulkan driver can be used
//     /usr/share/vulkan/icd.d/nvidia_icd.json: libGLX_nvidia.so.0 refuses to start (VK_ERROR_INITIALIZATION_FAILED): it
//     needs libEGL.so.1, which is not on this machine
//     hint: install the package libegl1
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/device/vulkan_api.h"

namespace qgen::vulkan {

// A driver that the loader should use, from a manifest that it found or from an environment variable.
struct DriverFinding {
  enum class Kind { usable, broken, short_of_memory } kind = Kind::usable;
  std::string manifest;
  std::string what;  // "libGLX_nvidia.so.0 cannot be loaded: libX11.so.6: cannot open shared object file"
  std::string hint;
};

struct DriverSearch {
  std::vector<std::string> places;      // that were searched: folders, or a variable with its value
  std::vector<DriverFinding> findings;  // in the loader's order
};
// Reads the environment and the file system, and loads the drivers' libraries to let them go again.
DriverSearch search_drivers();

// The error of a loader that answered `result` while `doing`: no driver, none that works, or too little memory.
Error driver_error(VkResult result, std::string_view doing);

// "libEGL.so.1: cannot open shared object file: ..." of a library that the system's linker fails to load; empty: it can
// be loaded.
std::string loading_fault(const std::string& library);
// Whether such a fault comes of too little memory.
bool is_short_of_memory(std::string_view fault);

}  // namespace qgen::vulkan
