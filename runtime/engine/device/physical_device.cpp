// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// describe(): each read_ function below copies one subject from Vulkan's structs into the profile.
#include "runtime/engine/device/physical_device.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/engine/device/architecture.h"
#include "runtime/engine/device/estimates.h"
#include "runtime/engine/device/quirks.h"

namespace qgen::vulkan {
namespace {

// The property structs that a profile reads, linked like the feature structs. An older device has one struct for each
// subject; gather() copies their values to the newer devices' struct.
struct PropertyChain {
  PropertyChain(const ExtensionSet& extensions, uint32_t version) : api_version(version) {
    void** end = &core.pNext;
    const auto add = [&](auto& properties) {
      *end = &properties;
      end = &properties.pNext;
    };
    const auto link = [&](const char* extension, auto& properties) {
      if (extensions.has(extension)) add(properties);
    };
    if (version >= kSince_vulkan12) {
      add(vulkan11);
      add(vulkan12);
    } else {
      add(ids);
      add(subgroups);
      link(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, driver);
      link(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, floats);
    }
    if (version >= kSince_vulkan13) {
      add(vulkan13);
    } else {
      link(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, subgroup_sizes);
      link(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, dot_products);
    }
    link(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME, nvidia);
    link(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME, amd);
    link(VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME, amd2);
    link(VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME, arm);
  }
  PropertyChain(const PropertyChain&) = delete;
  PropertyChain& operator=(const PropertyChain&) = delete;

  // 0: the driver does not say.
  int64_t compute_units() const {
    if (nvidia.shaderSMCount) return nvidia.shaderSMCount;
    if (amd2.activeComputeUnitCount) return amd2.activeComputeUnitCount;
    if (arm.shaderCoreCount) return arm.shaderCoreCount;
    return int64_t{amd.shaderEngineCount} * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
  }

  void gather() {
    if (api_version < kSince_vulkan12) {
      std::copy_n(ids.deviceUUID, VK_UUID_SIZE, vulkan11.deviceUUID);
      std::copy_n(ids.driverUUID, VK_UUID_SIZE, vulkan11.driverUUID);
      vulkan11.subgroupSize = subgroups.subgroupSize;
      vulkan11.subgroupSupportedStages = subgroups.supportedStages;
      vulkan11.subgroupSupportedOperations = subgroups.supportedOperations;
      std::copy_n(driver.driverName, VK_MAX_DRIVER_NAME_SIZE, vulkan12.driverName);
      std::copy_n(driver.driverInfo, VK_MAX_DRIVER_INFO_SIZE, vulkan12.driverInfo);
      vulkan12.shaderDenormPreserveFloat16 = floats.shaderDenormPreserveFloat16;
      vulkan12.denormBehaviorIndependence = floats.denormBehaviorIndependence;
    }
    if (api_version < kSince_vulkan13) {
      vulkan13.minSubgroupSize = subgroup_sizes.minSubgroupSize;
      vulkan13.maxSubgroupSize = subgroup_sizes.maxSubgroupSize;
      vulkan13.requiredSubgroupSizeStages = subgroup_sizes.requiredSubgroupSizeStages;
      vulkan13.integerDotProduct4x8BitPackedSignedAccelerated =
          dot_products.integerDotProduct4x8BitPackedSignedAccelerated;
    }
    // Without the extension, a driver names one size.
    if (vulkan13.maxSubgroupSize == 0) vulkan13.minSubgroupSize = vulkan13.maxSubgroupSize = vulkan11.subgroupSize;
  }

  uint32_t api_version;
  VkPhysicalDeviceProperties2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  VkPhysicalDeviceVulkan11Properties vulkan11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties vulkan12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  VkPhysicalDeviceVulkan13Properties vulkan13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceIDProperties ids{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroups{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceFloatControlsProperties floats{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceShaderIntegerDotProductProperties dot_products{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceShaderCorePropertiesAMD amd{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
  VkPhysicalDeviceShaderCoreProperties2AMD amd2{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD};
  VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM};
};

DeviceProfile::Kind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceProfile::Kind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceProfile::Kind::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceProfile::Kind::virtual_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceProfile::Kind::cpu;
    default: return DeviceProfile::Kind::other;
  }
}

// One that was made for the newest version admits all that the device has.
uint32_t admitted(const Instance& instance, uint32_t of_device) {
  return instance.api_version() >= kApiVersion ? of_device : std::min(of_device, instance.api_version());
}

void read_identity(const VkPhysicalDeviceProperties& from, const Instance& instance, DeviceProfile& to) {
  to.name = from.deviceName;
  to.vendor_id = from.vendorID;
  to.device_id = from.deviceID;
  to.architecture = architecture_of(to.vendor_id, to.device_id);
  to.api_version = admitted(instance, from.apiVersion);
  to.driver_version = from.driverVersion;
  to.kind = kind_of(from.deviceType);
}

void read_driver(const PropertyChain& from, DeviceProfile& to) {
  to.driver_name = from.vulkan12.driverName;
  to.driver_info = from.vulkan12.driverInfo;
  std::copy_n(from.vulkan11.deviceUUID, to.device_uuid.size(), to.device_uuid.begin());
  std::copy_n(from.vulkan11.driverUUID, to.driver_uuid.size(), to.driver_uuid.begin());
}

void read_limits(const VkPhysicalDeviceLimits& from, DeviceProfile& to) {
  std::copy_n(from.maxComputeWorkGroupCount, 3, to.max_workgroup_count.begin());
  std::copy_n(from.maxComputeWorkGroupSize, 3, to.max_workgroup_size.begin());
  to.max_push_constants_bytes = from.maxPushConstantsSize;
  to.max_bound_sets = from.maxBoundDescriptorSets;
  to.max_storage_buffers_per_stage = from.maxPerStageDescriptorStorageBuffers;
  to.max_storage_images_per_stage = from.maxPerStageDescriptorStorageImages;
  to.storage_buffer_alignment_bytes = static_cast<uint32_t>(from.minStorageBufferOffsetAlignment);
  to.numbers.max_workgroup_invocations = from.maxComputeWorkGroupInvocations;
  to.numbers.max_workgroup_size_x = from.maxComputeWorkGroupSize[0];
  to.numbers.shared_memory_bytes = from.maxComputeSharedMemorySize;
  to.numbers.max_storage_buffer_bytes = from.maxStorageBufferRange;
  to.numbers.max_image_extent = from.maxImageDimension3D;
}

void read_subgroups(const PropertyChain& from, const FeatureChain& features, DeviceProfile& to) {
  to.numbers.subgroup_size = from.vulkan11.subgroupSize;
  to.min_subgroup_size = from.vulkan13.minSubgroupSize;
  to.max_subgroup_size = from.vulkan13.maxSubgroupSize;
  to.has_subgroup_size_control = features.vulkan13.subgroupSizeControl && features.vulkan13.computeFullSubgroups &&
                                 (from.vulkan13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
}

uint64_t largest_device_heap_bytes(const Instance& instance, VkPhysicalDevice handle) {
  VkPhysicalDeviceMemoryProperties memory{};
  instance.functions().vkGetPhysicalDeviceMemoryProperties(handle, &memory);
  uint64_t largest = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryHeaps[i];
    if (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) largest = std::max<uint64_t>(largest, heap.size);
  }
  return largest;
}

std::vector<VkQueueFamilyProperties> queue_families(const Instance& instance, VkPhysicalDevice handle) {
  uint32_t count = 0;
  instance.functions().vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  instance.functions().vkGetPhysicalDeviceQueueFamilyProperties(handle, &count, families.data());
  return families;
}

void use_queue_family(const Instance& instance, uint32_t family, PhysicalDevice& device) {
  const auto families = queue_families(instance, device.handle);
  if (family >= families.size() || !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT)) return;
  device.compute_family = family;
  device.timestamp_bits = families[family].timestampValidBits;
}

// The first family that computes and counts time, else the first that computes.
void choose_queue_family(const Instance& instance, PhysicalDevice& device) {
  const auto families = queue_families(instance, device.handle);
  for (uint32_t i = 0; i < families.size(); ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || families[i].queueCount == 0) continue;
    const bool is_better = !device.compute_family || (device.timestamp_bits == 0 && families[i].timestampValidBits > 0);
    if (!is_better) continue;
    device.compute_family = i;
    device.timestamp_bits = families[i].timestampValidBits;
  }
}

std::optional<DType> dtype_of(VkComponentTypeKHR type) {
  if (type == VK_COMPONENT_TYPE_BFLOAT16_KHR) return DType::bf16;  // not an enumerator of older headers
  switch (type) {
    case VK_COMPONENT_TYPE_FLOAT32_KHR: return DType::f32;
    case VK_COMPONENT_TYPE_FLOAT16_KHR: return DType::f16;
    case VK_COMPONENT_TYPE_SINT8_KHR: return DType::i8;
    case VK_COMPONENT_TYPE_UINT8_KHR: return DType::u8;
    case VK_COMPONENT_TYPE_SINT16_KHR: return DType::i16;
    case VK_COMPONENT_TYPE_UINT16_KHR: return DType::u16;
    case VK_COMPONENT_TYPE_SINT32_KHR: return DType::i32;
    case VK_COMPONENT_TYPE_UINT32_KHR: return DType::u32;
    default: return std::nullopt;  // f64, 64-bit integers, 8-bit floats: qgen has no such dtype
  }
}

// From a row of either of Vulkan's two lists. nullopt: a dtype or a scope that qgen has no word for.
template <typename Row>
std::optional<CooperativeMatrixShape> shape_of(const Row& row, uint32_t m, uint32_t n, uint32_t k) {
  const auto a = dtype_of(row.AType), b = dtype_of(row.BType), c = dtype_of(row.CType),
             result = dtype_of(row.ResultType);
  const bool is_known_scope = row.scope == VK_SCOPE_SUBGROUP_KHR || row.scope == VK_SCOPE_WORKGROUP_KHR;
  if (!a || !b || !c || !result || !is_known_scope || row.saturatingAccumulation) return std::nullopt;
  const auto side = [](uint32_t elements) { return static_cast<uint16_t>(elements); };
  return CooperativeMatrixShape{side(m), side(n), side(k), *a, *b, *c, *result, row.scope == VK_SCOPE_WORKGROUP_KHR};
}

// Vulkan lists the same flexible shape once for each workgroup size it can have.
void add_once(std::vector<CooperativeMatrixShape>& shapes, const std::optional<CooperativeMatrixShape>& shape) {
  if (shape && std::find(shapes.begin(), shapes.end(), *shape) == shapes.end()) shapes.push_back(*shape);
}

void read_cooperative_matrices(const Instance& instance, VkPhysicalDevice handle, DeviceProfile& to) {
  const auto list = instance.functions().vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  uint32_t count = 0;
  if (!list || list(handle, &count, nullptr) != VK_SUCCESS) return;
  std::vector<VkCooperativeMatrixPropertiesKHR> rows(count, {VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  if (list(handle, &count, rows.data()) != VK_SUCCESS) return;
  for (const auto& row : rows) add_once(to.cooperative_matrices, shape_of(row, row.MSize, row.NSize, row.KSize));
}

void read_flexible_matrices(const Instance& instance, VkPhysicalDevice handle, DeviceProfile& to) {
  const auto list = instance.functions().vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV;
  uint32_t count = 0;
  if (!list || list(handle, &count, nullptr) != VK_SUCCESS) return;
  std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> rows(
      count, {VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV});
  if (list(handle, &count, rows.data()) != VK_SUCCESS) return;
  for (const auto& row : rows) {
    add_once(to.flexible_cooperative_matrices, shape_of(row, row.MGranularity, row.NGranularity, row.KGranularity));
  }
}

void read_features(const Instance& instance, VkPhysicalDevice handle, FeatureChain& features,
                   const PropertyChain& properties, DeviceProfile& to) {
  const FeatureMask offered = granted(features, {properties.vulkan11, properties.vulkan12});
  to.distrusted &= offered;
  to.features = offered & ~to.distrusted;
  if (to.features & bit(Feature::cooperative_matrix)) read_cooperative_matrices(instance, handle, to);
  if (features.matrix2.cooperativeMatrixFlexibleDimensions) read_flexible_matrices(instance, handle, to);
}

void fill_numbers(const PropertyChain& properties, DeviceProfile& to) {
  to.numbers.is_cpu = to.kind == DeviceProfile::Kind::cpu;
  to.numbers.is_integrated = to.kind == DeviceProfile::Kind::integrated;
  to.has_fast_integer_dot = properties.vulkan13.integerDotProduct4x8BitPackedSignedAccelerated;
  if (const int64_t units = properties.compute_units(); units > 0) {
    to.numbers.compute_units = units;
    to.sources.emplace("compute_units", "the driver");
  }
  EstimateInput input = estimate_input(to);
  input.host_threads = std::thread::hardware_concurrency();
  estimate(input, to.numbers);
}

ExtensionSet extensions_of(const Instance& instance, VkPhysicalDevice handle) {
  const auto list = instance.functions().vkEnumerateDeviceExtensionProperties;
  uint32_t count = 0;
  if (list(handle, nullptr, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> rows(count);
  if (list(handle, nullptr, &count, rows.data()) < VK_SUCCESS) return {};
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; ++i) names.emplace_back(rows[i].extensionName);
  return ExtensionSet(std::move(names));
}

// Of a device that qgen can open, by these of its features. nullptr `opened`: it is not open, and a queue family is chosen.
void describe_by(const Instance& instance, FeatureChain& features, const OpenedAs* opened, bool trusts_driver,
                 PhysicalDevice& device) {
  const VkPhysicalDevice handle = device.handle;
  DeviceProfile& profile = device.profile;
  VkPhysicalDeviceProperties identity{};
  instance.functions().vkGetPhysicalDeviceProperties(handle, &identity);
  PropertyChain properties(device.extensions, profile.api_version);
  instance.functions().vkGetPhysicalDeviceProperties2(handle, &properties.core);
  properties.gather();

  read_driver(properties, profile);
  const std::vector<const Quirk*> quirks = trusts_driver ? std::vector<const Quirk*>() : quirks_of(profile);
  profile.distrusted = distrusted_features(quirks);
  read_limits(identity.limits, profile);
  read_subgroups(properties, features, profile);
  read_features(instance, handle, features, properties, profile);
  distrust_parts(quirks, profile);
  profile.device_memory_bytes = largest_device_heap_bytes(instance, handle);
  fill_numbers(properties, profile);
  if (opened) use_queue_family(instance, opened->queue_family, device);
  else choose_queue_family(instance, device);
  if (device.timestamp_bits > 0) profile.timestamp_period_ns = identity.limits.timestampPeriod;
}

// Its name and version; its extensions too, if qgen can open it.
PhysicalDevice identify(const Instance& instance, VkPhysicalDevice handle) {
  PhysicalDevice device;
  device.handle = handle;
  VkPhysicalDeviceProperties identity{};
  instance.functions().vkGetPhysicalDeviceProperties(handle, &identity);
  read_identity(identity, instance, device.profile);
  if (device.profile.api_version >= kLeastApiVersion) device.extensions = extensions_of(instance, handle);
  return device;
}

}  // namespace

uint32_t version_of(const Instance& instance, VkPhysicalDevice handle) {
  VkPhysicalDeviceProperties identity{};
  instance.functions().vkGetPhysicalDeviceProperties(handle, &identity);
  return admitted(instance, identity.apiVersion);
}

PhysicalDevice describe(const Instance& instance, VkPhysicalDevice handle, bool trusts_driver) {
  PhysicalDevice device = identify(instance, handle);
  if (device.profile.api_version < kLeastApiVersion) return device;
  FeatureChain features(device.extensions, device.profile.api_version);
  instance.functions().vkGetPhysicalDeviceFeatures2(handle, &features.features);
  features.gather();
  describe_by(instance, features, nullptr, trusts_driver, device);
  return device;
}

PhysicalDevice describe(const Instance& instance, VkPhysicalDevice handle, const OpenedAs& opened) {
  PhysicalDevice device = identify(instance, handle);
  if (device.profile.api_version >= kLeastApiVersion)
    describe_by(instance, opened.features, &opened, opened.trusts_driver, device);
  return device;
}

}  // namespace qgen::vulkan
