// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// adopt(): the caller's handles, described by the features that are enabled on them. It makes only tables of functions.
#include "runtime/engine/device/adopt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/engine/device/choose_device.h"
#include "runtime/engine/device/enabled_features.h"
#include "runtime/engine/device/handles.h"
#include "runtime/engine/device/physical_device.h"

namespace qgen {
namespace {

using vulkan::FeatureChain;
using vulkan::Instance;
using vulkan::PhysicalDevice;

Done check_version(uint32_t api_version) {
  if (api_version >= vulkan::kLeastApiVersion) return std::monostate{};
  return Error{Error::Kind::unsupported,
               fmt::format("the instance was made for Vulkan {}.{}, and qgen needs 1.1",
                           VK_API_VERSION_MAJOR(api_version), VK_API_VERSION_MINOR(api_version)),
               "make it with VkApplicationInfo::apiVersion of VK_API_VERSION_1_1 or newer"};
}

Done check_handles(const AdoptInfo& info) {
  const auto refuse = [](std::string_view what) { return refused(fmt::format("the field '{}' is null", what)); };
  if (!info.instance) return refuse("instance");
  if (!info.physical_device) return refuse("physical_device");
  if (!info.get_instance_proc_addr) return refuse("get_instance_proc_addr");
  if (!info.created_with) return refuse("created_with");
  if (info.created_with->sType != VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO)
    return refused(fmt::format("the field 'created_with' has the sType {}, and must be a VkDeviceCreateInfo",
                               static_cast<int>(info.created_with->sType)));
  return check_version(info.api_version);
}

// Profiles assume the features that the version guarantees, so they must be enabled.
Done check_needed(const FeatureChain& enabled) {
  const auto refuse = [](std::string_view what, std::string_view why) {
    return Error{Error::Kind::unsupported, fmt::format("the device was made without {}, which {}", what, why),
                 "enable the features of RecommendedFeatures, or those that qgen-info --enable prints"};
  };
  if (enabled.api_version >= VK_API_VERSION_1_3 && !enabled.vulkan13.maintenance4)
    return refuse("maintenance4", "the workgroup sizes of all kernels need");
  if (enabled.api_version < VK_API_VERSION_1_2) return std::monostate{};
  if (!enabled.vulkan12.uniformBufferStandardLayout)
    return refuse("uniformBufferStandardLayout", "kernels with long problems need");
  if (!enabled.vulkan12.shaderSubgroupExtendedTypes)
    return refuse("shaderSubgroupExtendedTypes", "subgroup operations on 8 and 16 bits need");
  return std::monostate{};
}

Expected<Instance> adopt_instance(const AdoptInfo& info) {
  if (const Done sound = check_handles(info); !sound) return sound.error();
  return Instance::adopt(info.get_instance_proc_addr, info.instance, info.api_version);
}

Expected<PhysicalDevice> describe_enabled(const Instance& instance, const AdoptInfo& info, FeatureChain& enabled) {
  vulkan::read_enabled(*info.created_with, enabled);
  if (const Done needed = check_needed(enabled); !needed) return needed.error();
  PhysicalDevice described = describe(instance, info.physical_device, {enabled, info.queue_family, info.trusts_driver});
  if (const Done version = check_vulkan_version(described.profile); !version) return version.error();
  if (!described.compute_family) {
    return refused(fmt::format("queue family {} of '{}' does not compute", info.queue_family, described.profile.name),
                   "give a family whose queueFlags have VK_QUEUE_COMPUTE_BIT");
  }
  return described;
}

}  // namespace

Expected<DeviceProfile> profile_of(const AdoptInfo& info) {
  const auto instance = adopt_instance(info);
  if (!instance) return instance.error();
  FeatureChain enabled(vulkan::enabled_extensions(*info.created_with),
                       vulkan::version_of(*instance, info.physical_device));
  auto described = describe_enabled(*instance, info, enabled);
  if (!described) return described.error();
  return std::move(described->profile);
}

Expected<Device> Device::adopt(const AdoptInfo& info) {
  if (!info.device) return refused("the field 'device' is null");
  if (!info.lock_queue != !info.unlock_queue)
    return refused("the fields 'lock_queue' and 'unlock_queue' go together, and one of them is missing");
  auto instance = adopt_instance(info);
  if (!instance) return instance.error();
  const vulkan::ExtensionSet extensions = vulkan::enabled_extensions(*info.created_with);
  FeatureChain enabled(extensions, vulkan::version_of(*instance, info.physical_device));
  auto described = describe_enabled(*instance, info, enabled);
  if (!described) return described.error();

  auto handles =
      std::make_shared<Handles>(*std::move(instance), info.physical_device, info.lock_queue, info.unlock_queue);
  handles->device = info.device;
  handles->is_adopted = true;
  handles->queue = info.queue;
  handles->queue_family = info.queue_family;
  handles->timestamp_bits = described->timestamp_bits;
  handles->has_robust_buffer_access = enabled.features.features.robustBufferAccess == VK_TRUE;
  handles->has_push_descriptors = info.push_descriptors && extensions.has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  handles->has_timeline_semaphores = enabled.vulkan12.timelineSemaphore == VK_TRUE;
  handles->profile = std::move(described->profile);
  const auto lock = vulkan::lock_loader();
  handles->vk.load(handles->instance.functions().vkGetDeviceProcAddr, info.device, handles->profile.api_version);
  return Device(std::move(handles));
}

// ---- what to enable -------------------------------------------------------------------------------------------------

struct RecommendedFeatures::State {
  State(const PhysicalDevice& device, const vulkan::ExtensionSet& enabled)
      : of(device), chain(enabled, device.profile.api_version) {}
  PhysicalDevice of;
  FeatureChain chain;
  std::vector<const char*> extensions;
};

namespace {

// Statistics of pipelines cost time, and no kernel needs them.
bool is_recommended(std::string_view extension) {
  return extension != VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;
}

// "vulkan12.shaderInt8" -> "vulkan12"; of "features.features.shaderInt16", "features".
std::string member_of(const std::string& bit) { return bit.substr(0, bit.find('.')); }

struct NamedStruct {
  std::string_view member, type, structure_type;
  const char* extension;  // null: of a version
};
constexpr NamedStruct kNamedStructs[] = {
    {"features", "VkPhysicalDeviceFeatures2", "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2", nullptr},
    {"vulkan11", "VkPhysicalDeviceVulkan11Features", "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES", nullptr},
    {"vulkan12", "VkPhysicalDeviceVulkan12Features", "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES", nullptr},
    {"vulkan13", "VkPhysicalDeviceVulkan13Features", "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES", nullptr},
#define QGEN_FEATURE_STRUCT(member, type, structure_type, extension) {#member, #type, #structure_type, extension},
#define QGEN_PROMOTED_STRUCT(member, type, structure_type, extension, version) \
  {#member, #type, #structure_type, extension},
#include "vocabulary/feature_rows.inc"
};

// The bits that are set, by the struct that has them: each once.
using BitsByStruct = std::map<std::string, std::vector<std::string>, std::less<>>;
BitsByStruct bits_by_struct(const DeviceProfile& profile, FeatureChain& chain) {
  BitsByStruct bits;
  const auto add = [&](std::string_view text) {
    const std::string bit = vulkan::spelled_for(profile.api_version, text);
    auto& known = bits[member_of(bit)];
    if (std::ranges::find(known, bit) == known.end()) known.push_back(bit);
  };
  for (const FeatureRow& row : feature_table()) {
    if ((profile.features & bit(row.feature)) == 0) continue;
    std::string_view text = vulkan::spelled_bits(row.feature);
    while (!text.empty()) {
      const size_t comma = text.find(", ");
      add(text.substr(0, comma));
      text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 2);
    }
  }
  for (const vulkan::SpelledBit& companion : vulkan::companions_of(chain)) {
    if (companion.is_set) add(companion.text);
  }
  return bits;
}

}  // namespace

Expected<RecommendedFeatures> RecommendedFeatures::among(FeatureMask allowed,
                                                         PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                         VkInstance instance, VkPhysicalDevice physical_device,
                                                         uint32_t api_version) {
  if (!get_instance_proc_addr || !instance || !physical_device)
    return refused("features are recommended of a physical device: one of the three handles is null");
  if (const Done version = check_version(api_version); !version) return version.error();
  const auto adopted = Instance::adopt(get_instance_proc_addr, instance, api_version);
  if (!adopted) return adopted.error();
  PhysicalDevice device = describe(*adopted, physical_device, false);
  device.profile.features &= allowed;
  if (const Done version = check_vulkan_version(device.profile); !version) return version.error();
  std::vector<const char*> names = vulkan::linked_extensions(device.extensions, device.profile.api_version);
  std::erase_if(names, [](const char* name) { return !is_recommended(name); });
  const vulkan::ExtensionSet enabled(std::vector<std::string>(names.begin(), names.end()));
  auto state = std::make_unique<State>(device, enabled);
  FeatureChain offered(enabled, device.profile.api_version);
  adopted->functions().vkGetPhysicalDeviceFeatures2(physical_device, &offered.features);
  offered.gather();
  vulkan::enable_granted(offered, state->chain, device.profile.features);
  state->extensions = std::move(names);
  return RecommendedFeatures(std::move(state));
}

Expected<RecommendedFeatures> RecommendedFeatures::of(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                                      VkInstance instance, VkPhysicalDevice physical_device,
                                                      uint32_t api_version) {
  return among(~FeatureMask{0}, get_instance_proc_addr, instance, physical_device, api_version);
}

Expected<RecommendedFeatures> RecommendedFeatures::of(const Device& device) {
  if (!device.handles()) return moved_from("device");
  const Device::Handles& handles = *device.handles();
  return among(handles.profile.features, handles.instance.get_proc_addr(), handles.instance.handle(), handles.physical,
               handles.instance.api_version());
}

const void* RecommendedFeatures::chain() const { return state_ ? &state_->chain.features : nullptr; }

Expected<const void*> RecommendedFeatures::joined(void* chain) {
  if (!state_) return moved_from("RecommendedFeatures");
  return vulkan::join(state_->chain, chain);
}

std::span<const char* const> RecommendedFeatures::extensions() const {
  return state_ ? std::span<const char* const>(state_->extensions) : std::span<const char* const>();
}

std::string RecommendedFeatures::to_text() const {
  if (!state_) return "";
  const auto bits = bits_by_struct(state_->of.profile, state_->chain);
  std::string text = fmt::format("// What qgen's kernels use of \"{}\".\nconst char* const extensions[] = {{\n",
                                 state_->of.profile.name);
  for (const char* extension : state_->extensions) text += fmt::format("    \"{}\",\n", extension);
  text += "};\n";
  std::string_view before;
  for (const NamedStruct& row : kNamedStructs) {
    const auto set = bits.find(row.member);
    if (set == bits.end() && row.member != "features") continue;
    text += fmt::format("{} {}{{{}}};\n", row.type, row.member, row.structure_type);
    if (!before.empty()) text += fmt::format("{}.pNext = &{};\n", before, row.member);
    before = row.member;
    if (set == bits.end()) continue;
    for (const std::string& bit : set->second) text += fmt::format("{} = VK_TRUE;\n", bit);
  }
  return text + "// VkDeviceCreateInfo: pNext = &features, pEnabledFeatures = nullptr, and the extensions.\n";
}

RecommendedFeatures::RecommendedFeatures(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecommendedFeatures::RecommendedFeatures(RecommendedFeatures&&) noexcept = default;
RecommendedFeatures& RecommendedFeatures::operator=(RecommendedFeatures&&) noexcept = default;
RecommendedFeatures::~RecommendedFeatures() = default;

}  // namespace qgen
