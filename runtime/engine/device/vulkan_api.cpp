// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loads Vulkan once per process, keeps it loaded, and turns result codes into text.
#include "runtime/engine/device/vulkan_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "runtime/engine/device/drivers.h"

namespace qgen::vulkan {
namespace {

std::string_view hint_of(VkResult result) {
  switch (result) {
    case VK_ERROR_DEVICE_LOST:
      return "the device was lost: a kernel ran for too long, or accessed memory outside its buffers; open the "
             "device again";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "free tensors, or split the work";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "the host has no memory left";
    case VK_ERROR_TOO_MANY_OBJECTS: return "the device limits how many allocations live at once; free some";
    default: return "";
  }
}

bool load_functions() {
  void* library = nullptr;
  for (const char* name : {"libvulkan.so.1", "libvulkan.so"}) {
    if (!library) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) return false;
  LoaderFunctions& to = loader();
  to.vkGetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(::dlsym(library, "vkGetInstanceProcAddr"));
  if (!to.vkGetInstanceProcAddr) return false;
#define QGEN_LOAD(function) to.function = reinterpret_cast<PFN_##function>(to.vkGetInstanceProcAddr(nullptr, #function))
  QGEN_LOAD(vkCreateInstance);
  QGEN_LOAD(vkEnumerateInstanceVersion);
  QGEN_LOAD(vkEnumerateInstanceLayerProperties);
#undef QGEN_LOAD
  return to.vkCreateInstance && to.vkEnumerateInstanceLayerProperties;
}

bool load_once() {
  static const bool is_loaded = load_functions();
  return is_loaded;
}

}  // namespace

std::string_view name(VkResult result) {
  switch (result) {
    case VK_SUCCESS: return "VK_SUCCESS";
    case VK_NOT_READY: return "VK_NOT_READY";
    case VK_TIMEOUT: return "VK_TIMEOUT";
    case VK_INCOMPLETE: return "VK_INCOMPLETE";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST: return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED: return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS: return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FORMAT_NOT_SUPPORTED: return "VK_ERROR_FORMAT_NOT_SUPPORTED";
    case VK_ERROR_FRAGMENTED_POOL: return "VK_ERROR_FRAGMENTED_POOL";
    case VK_ERROR_OUT_OF_POOL_MEMORY: return "VK_ERROR_OUT_OF_POOL_MEMORY";
    case VK_ERROR_FRAGMENTATION: return "VK_ERROR_FRAGMENTATION";
    case VK_ERROR_UNKNOWN: return "VK_ERROR_UNKNOWN";
    default: return "a result that qgen has no name for";
  }
}

Error error_of(VkResult result, std::string_view doing) {
  return {Error::Kind::device, fmt::format("{} failed: {} ({})", doing, name(result), static_cast<int>(result)),
          std::string(hint_of(result))};
}

std::unique_lock<std::mutex> lock_loader() {
  static std::mutex mutex;
  return std::unique_lock(mutex);
}

LoaderFunctions& loader() {
  static LoaderFunctions functions;
  return functions;
}

Done load_loader() {
  if (!load_once()) {
    const std::string fault = loading_fault("libvulkan.so.1");
    const bool is_short = is_short_of_memory(fault);
    return Error{is_short ? Error::Kind::system : Error::Kind::not_found,
                 fmt::format("no Vulkan loader: libvulkan.so.1 cannot be loaded{}{}", fault.empty() ? "" : ": ", fault),
                 is_short ? "give the process more memory (ulimit -v, the container's limits)"
                          : "install the package libvulkan1 (Debian, Ubuntu) or vulkan-loader (Fedora, Arch)"};
  }
  uint32_t version = VK_API_VERSION_1_0;
  if (loader().vkEnumerateInstanceVersion) loader().vkEnumerateInstanceVersion(&version);
  if (version < kLeastApiVersion) {
    return Error{Error::Kind::unsupported,
                 fmt::format("the Vulkan loader supports Vulkan {}.{}, and qgen needs 1.1",
                             VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version)),
                 "update the package that contains libvulkan.so.1"};
  }
  return std::monostate{};
}

}  // namespace qgen::vulkan
