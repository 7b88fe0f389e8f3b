// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The messenger is part of the instance's creation, so that the validation layer's messages about it are kept too.
#include "runtime/engine/device/instance.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>

#include "runtime/engine/device/drivers.h"

namespace qgen::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

// Filled by the layer, from whichever thread called Vulkan.
struct MessageLog {
  mutable std::mutex mutex;
  std::vector<std::string> messages;
};

VKAPI_ATTR VkBool32 VKAPI_CALL collect(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                       const VkDebugUtilsMessengerCallbackDataEXT* data, void* log) {
  auto& to = *static_cast<MessageLog*>(log);
  const std::lock_guard lock(to.mutex);
  to.messages.emplace_back(data->pMessage ? data->pMessage : "(a message without text)");
  return VK_FALSE;  // the call goes on
}

// Messages of the type GENERAL are the loader's remarks about the machine, not about qgen.
VkDebugUtilsMessengerCreateInfoEXT messenger_info(MessageLog& log) {
  VkDebugUtilsMessengerCreateInfoEXT info{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  info.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = collect;
  info.pUserData = &log;
  return info;
}

bool has_validation_layer() {
  uint32_t count = 0;
  loader().vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  loader().vkEnumerateInstanceLayerProperties(&count, layers.data());
  return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
    return std::string_view(layer.layerName) == kValidationLayer;
  });
}

// Results by which the loader says, among other things, that it found no driver that works.
bool may_be_the_drivers(VkResult result) {
  return result == VK_ERROR_INCOMPATIBLE_DRIVER || result == VK_ERROR_INITIALIZATION_FAILED ||
         result == VK_ERROR_OUT_OF_HOST_MEMORY;
}

Error failed(VkResult result, std::string_view doing) {
  return may_be_the_drivers(result) ? driver_error(result, doing) : error_of(result, doing);
}

}  // namespace

struct Instance::State {
  MessageLog log;
  VkInstance handle = VK_NULL_HANDLE;
  uint32_t api_version = kApiVersion;
  PFN_vkGetInstanceProcAddr get_proc_addr = nullptr;
  bool is_adopted = false;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  InstanceFunctions functions;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (messenger) functions.vkDestroyDebugUtilsMessengerEXT(handle, messenger, nullptr);
    if (!handle || is_adopted) return;
    const auto lock = lock_loader();
    functions.vkDestroyInstance(handle, nullptr);
  }

  VkResult create(const VkInstanceCreateInfo& info) {
    const auto lock = lock_loader();
    const VkResult created = loader().vkCreateInstance(&info, nullptr, &handle);
    get_proc_addr = loader().vkGetInstanceProcAddr;
    if (created == VK_SUCCESS) load_functions();
    return created;
  }

  void load_functions() {
#define QGEN_LOAD(function) functions.function = reinterpret_cast<PFN_##function>(get_proc_addr(handle, #function));
    QGEN_INSTANCE_FUNCTIONS(QGEN_LOAD)
#undef QGEN_LOAD
  }
};

Expected<Instance> Instance::create(bool validation, uint32_t api_version) {
  if (const Done loaded = load_loader(); !loaded) return loaded.error();
  if (validation && !has_validation_layer()) {
    return Error{Error::Kind::not_found,
                 "validation was requested, but the layer VK_LAYER_KHRONOS_validation is not "
                 "installed",
                 "install the package vulkan-validationlayers, or set VK_LAYER_PATH to the folder of its manifest"};
  }

  auto state = std::make_unique<State>();
  state->api_version = api_version;
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "qgen";
  application.apiVersion = api_version;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;

  // The messenger is chained too, so that it hears of the instance's own creation and destruction.
  VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(state->log);
  const std::array enabled{VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.pNext = &messenger;
  features.enabledValidationFeatureCount = enabled.size();
  features.pEnabledValidationFeatures = enabled.data();
  const std::array extensions{VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  if (validation) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = extensions.size();
    info.ppEnabledExtensionNames = extensions.data();
  }

  const VkResult created = state->create(info);
  if (created != VK_SUCCESS) return failed(created, "creating a Vulkan instance");
  if (validation) {
    const VkResult listening =
        state->functions.vkCreateDebugUtilsMessengerEXT(state->handle, &messenger, nullptr, &state->messenger);
    if (listening != VK_SUCCESS) return error_of(listening, "listening to the validation layer");
  }
  return Instance(std::move(state));
}

Expected<Instance> Instance::adopt(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance handle,
                                   uint32_t api_version) {
  auto state = std::make_unique<State>();
  state->api_version = api_version;
  state->handle = handle;
  state->get_proc_addr = get_instance_proc_addr;
  state->is_adopted = true;
  const auto lock = lock_loader();
  state->load_functions();
  if (!state->functions.vkGetDeviceProcAddr || !state->functions.vkGetPhysicalDeviceFeatures2) {
    return refused("get_instance_proc_addr gives no vkGetPhysicalDeviceFeatures2 for this instance",
                   "give the vkGetInstanceProcAddr that the instance was made with, of Vulkan 1.1 or newer");
  }
  return Instance(std::move(state));
}

VkInstance Instance::handle() const { return state_->handle; }
uint32_t Instance::api_version() const { return state_->api_version; }
PFN_vkGetInstanceProcAddr Instance::get_proc_addr() const { return state_->get_proc_addr; }
const InstanceFunctions& Instance::functions() const { return state_->functions; }

Expected<std::vector<VkPhysicalDevice>> Instance::physical_devices() const {
  uint32_t count = 0;
  VkResult result = functions().vkEnumeratePhysicalDevices(handle(), &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  if (result == VK_SUCCESS) result = functions().vkEnumeratePhysicalDevices(handle(), &count, devices.data());
  // A driver that is installed without its hardware (or without permission for it) says so here.
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) return failed(result, "listing the Vulkan devices");
  if (count == 0) {
    return Error{Error::Kind::not_found, "no Vulkan device: drivers are installed, but none of them offers a device",
                 "check that this user may open /dev/dri (groups video, render), or install mesa-vulkan-drivers"};
  }
  devices.resize(count);
  return devices;
}

std::vector<std::string> Instance::messages() const {
  const std::lock_guard lock(state_->log.mutex);
  return state_->log.messages;
}

Instance::Instance(std::unique_ptr<State> state) : state_(std::move(state)) {}
Instance::Instance(Instance&&) noexcept = default;
Instance& Instance::operator=(Instance&&) noexcept = default;
Instance::~Instance() = default;

}  // namespace qgen::vulkan
