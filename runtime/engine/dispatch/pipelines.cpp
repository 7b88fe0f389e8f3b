// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/pipelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "common/all_cores.h"
#include "runtime/engine/library/older_spirv.h"
#include "runtime/engine/selector/missing_features.h"
#include "runtime/engine/selector/select.h"
#include "vocabulary/features.h"

namespace qgen::dispatch {
namespace {

CacheIdentity identity_of(const Device::Handles& device) {
  VkPhysicalDeviceProperties properties{};
  device.instance.functions().vkGetPhysicalDeviceProperties(device.physical, &properties);
  CacheIdentity identity{properties.vendorID, properties.deviceID, {}};
  std::copy(std::begin(properties.pipelineCacheUUID), std::end(properties.pipelineCacheUUID),
            identity.cache_uuid.begin());
  return identity;
}

// What `select` would have refused; a kernel that is named past it must not reach the driver.
Done check_runs_here(const KernelInfo& kernel, const InterfaceInfo& interface, const DeviceProfile& device) {
  const auto refuse = [&](const std::string& why) {
    return Error{Error::Kind::unsupported, fmt::format("kernel '{}' {}", kernel.id, why), "choose with select()"};
  };
  if (const FeatureMask missing = device.missing(interface.needs); missing != 0) {
    return refuse(selector::missing_text(missing, device));
  }
  if (interface.push_constants_bytes > device.max_push_constants_bytes) {
    return refuse(fmt::format("has {} bytes of push constants, and the device accepts {}",
                              interface.push_constants_bytes, device.max_push_constants_bytes));
  }
  const uint32_t subgroup = interface.required_subgroup_size;
  const bool is_selectable =
      device.has_subgroup_size_control && subgroup >= device.min_subgroup_size && subgroup <= device.max_subgroup_size;
  if (subgroup != 0 && !is_selectable && subgroup != device.numbers.subgroup_size) {
    return refuse(fmt::format("needs subgroups of {}, and the device has {} to {}", subgroup, device.min_subgroup_size,
                              device.max_subgroup_size));
  }
  return std::monostate{};
}

}  // namespace

bool binds_blocks_as_storage(const DeviceProfile& device) {
  return device.missing(bit(Feature::uniform_buffer_standard_layout)) != 0;
}

VkDescriptorType descriptor_type_of(BindingKind kind, const DeviceProfile& device) {
  switch (kind) {
    case BindingKind::storage_buffer: return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    case BindingKind::storage_image: return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    case BindingKind::uniform_buffer: break;
  }
  return binds_blocks_as_storage(device) ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
}

PipelineSource source_of(const Launch& launch) {
  return {launch.op, launch.kernel, launch.specialization, launch.problem.data()};
}

Pipeline::~Pipeline() { device->vk.vkDestroyPipeline(device->device, handle, nullptr); }

Pipelines::Pipelines(std::shared_ptr<const Device::Handles> device, KernelLibrary library,
                     const ExecutorOptions& options)
    : device_(std::move(device)), library_(std::move(library)), options_(options) {}

Done Pipelines::init() {
  if (options_.pipeline_cache) return std::monostate{};
  std::vector<std::byte> known;
  if (!options_.pipeline_cache_folder.empty()) {
    cache_path_ = options_.pipeline_cache_folder / cache_file_name(device_->profile);
    if (const auto file = read_file(cache_path_)) {
      if (auto blob = unwrap_cache(*file, identity_of(*device_))) known = *std::move(blob);
    }
  }
  was_cache_read_ = !known.empty();
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  info.initialDataSize = known.size();
  info.pInitialData = known.data();
  const VkResult result = device_->vk.vkCreatePipelineCache(device_->device, &info, nullptr, &cache_);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "creating the pipeline cache");
  return std::monostate{};
}

Pipelines::~Pipelines() {
  const auto& vk = device_->vk;
  pipelines_.clear();
  for (const auto& [interface, layout] : layouts_) {
    vk.vkDestroyPipelineLayout(device_->device, layout.pipeline, nullptr);
    vk.vkDestroyDescriptorSetLayout(device_->device, layout.set, nullptr);
  }
  if (cache_) vk.vkDestroyPipelineCache(device_->device, cache_, nullptr);
}

Pipelines::Key Pipelines::key_of(const PipelineSource& source, const Modules& modules) {
  Key key{modules.digest(*source.kernel), &source.op->interface_of(*source.kernel), {}};
  const std::vector<uint32_t> all = specialization_values(*source.op, source.specialization, source.problem);
  for (const SpecializationSlot& slot : key.interface->specialization) key.values.push_back(all[slot.index]);
  return key;
}

SharedPipeline Pipelines::known(const Key& key) {
  const auto found = pipelines_.find(key);
  if (found == pipelines_.end()) return nullptr;
  found->second.last_use = ++uses_;
  return found->second.pipeline;
}

Expected<SharedPipeline> Pipelines::get(const PipelineSource& source) {
  const std::shared_ptr<const Modules> modules = library_.modules();
  Key key = key_of(source, *modules);
  std::unique_lock lock(mutex_);
  drop_replaced(modules);
  if (SharedPipeline there = known(key)) return there;
  if (const Done runs = check_runs_here(*source.kernel, *key.interface, device_->profile); !runs) {
    return runs.error();
  }
  const auto layout = layout_of(*key.interface);
  if (!layout) return layout.error();
  lock.unlock();
  auto pipeline = make(source, key, *layout, *modules);
  if (!pipeline) return pipeline.error();
  lock.lock();
  return keep(std::move(key), *source.kernel, *std::move(pipeline));
}

Expected<std::vector<Statistic>> Pipelines::statistics(const PipelineSource& source) {
  const auto pipeline = get(source);
  if (!pipeline) return pipeline.error();
  return read_statistics(*device_, (*pipeline)->handle);
}

void Pipelines::make_all(std::span<const PipelineSource> sources, const OnMade& on_made) {
  const std::shared_ptr<const Modules> modules = library_.modules();
  const std::vector<Job> jobs = jobs_of(sources, *modules);
  std::mutex told;
  size_t done = 0;
  const ParallelFor& each = options_.parallel_for ? options_.parallel_for : on_all_cores;
  each(jobs.size(), [&](size_t i) {
    if (const auto pipeline = make(jobs[i].source, jobs[i].key, jobs[i].layout, *modules)) {
      const std::lock_guard lock(mutex_);
      keep(jobs[i].key, *jobs[i].source.kernel, *pipeline);
    }
    const std::lock_guard one_at_a_time(told);
    if (on_made) on_made(++done, jobs.size());
  });
}

std::vector<Pipelines::Job> Pipelines::jobs_of(std::span<const PipelineSource> sources, const Modules& modules) {
  const std::lock_guard lock(mutex_);
  std::map<Key, PipelineSource> missing;
  for (const PipelineSource& source : sources) {
    if (Key key = key_of(source, modules); !pipelines_.contains(key)) missing.emplace(std::move(key), source);
  }
  std::vector<Job> jobs;
  for (const auto& [key, source] : missing) {
    const auto layout = layout_of(*key.interface);
    if (layout && check_runs_here(*source.kernel, *key.interface, device_->profile)) {
      jobs.push_back({key, source, *layout});
    }
  }
  return jobs;
}

void Pipelines::drop_replaced(const std::shared_ptr<const Modules>& modules) {
  if (modules == modules_) return;
  modules_ = modules;
  std::erase_if(pipelines_, [&](const auto& kept) {
    const auto& [key, value] = kept;
    return key.module != modules->digest(*value.kernel);
  });
}

// Two threads may have made the same one.
SharedPipeline Pipelines::keep(Key key, const KernelInfo& kernel, SharedPipeline pipeline) {
  if (SharedPipeline there = known(key)) return there;
  has_unsaved_pipelines_ = true;
  if (options_.most_pipelines > 0 && pipelines_.size() >= options_.most_pipelines) {
    pipelines_.erase(std::ranges::min_element(pipelines_, {}, [](const auto& kept) { return kept.second.last_use; }));
  }
  pipelines_.emplace(std::move(key), Kept{pipeline, &kernel, ++uses_});
  return pipeline;
}

Expected<Pipelines::Layout> Pipelines::layout_of(const InterfaceInfo& interface) {
  if (const auto known = layouts_.find(&interface); known != layouts_.end()) return known->second;

  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const BindingInfo& binding : interface.bindings) {
    bindings.push_back(
        {binding.binding, descriptor_type_of(binding.kind, device_->profile), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  if (device_->has_push_descriptors) set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  set.bindingCount = static_cast<uint32_t>(bindings.size());
  set.pBindings = bindings.data();
  Layout layout;
  VkResult result = device_->vk.vkCreateDescriptorSetLayout(device_->device, &set, nullptr, &layout.set);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "creating a descriptor set layout");

  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, interface.push_constants_bytes};
  VkPipelineLayoutCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  info.setLayoutCount = 1;
  info.pSetLayouts = &layout.set;
  info.pushConstantRangeCount = interface.push_constants_bytes > 0 ? 1 : 0;
  info.pPushConstantRanges = &range;
  result = device_->vk.vkCreatePipelineLayout(device_->device, &info, nullptr, &layout.pipeline);
  if (result != VK_SUCCESS) {
    device_->vk.vkDestroyDescriptorSetLayout(device_->device, layout.set, nullptr);
    return vulkan::error_of(result, "creating a pipeline layout");
  }
  layouts_.emplace(&interface, layout);
  return layout;
}

// The module as the device reads it.
Expected<std::vector<uint32_t>> Pipelines::words_of(const KernelInfo& kernel, const InterfaceInfo& interface,
                                                    const Modules& modules) const {
  const DeviceProfile& device = device_->profile;
  auto words = modules.words(kernel);
  if (!words) return words.error();
  const auto blocks = binds_blocks_as_storage(device) ? UniformBlocks::become_storage_buffers : UniformBlocks::stay;
  auto older = older_spirv(*words, spirv_version(device.api_version, interface.needs), blocks);
  if (older) return older;
  return Error{older.error().kind, fmt::format("kernel '{}': {}", kernel.id, older.error().message),
               older.error().hint};
}

Expected<SharedPipeline> Pipelines::make(const PipelineSource& source, const Key& key, const Layout& layout,
                                         const Modules& modules) const {
  const KernelInfo& kernel = *source.kernel;
  const InterfaceInfo& interface = *key.interface;
  const auto words = words_of(kernel, interface, modules);
  if (!words) return words.error();

  VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module_info.codeSize = words->size() * sizeof(uint32_t);
  module_info.pCode = words->data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = device_->vk.vkCreateShaderModule(device_->device, &module_info, nullptr, &module);
  if (result != VK_SUCCESS) return vulkan::error_of(result, fmt::format("loading kernel '{}'", kernel.id));

  std::vector<VkSpecializationMapEntry> entries;
  for (const SpecializationSlot& slot : interface.specialization) {
    const auto offset = static_cast<uint32_t>(entries.size() * sizeof(uint32_t));
    entries.push_back({slot.constant_id, offset, sizeof(uint32_t)});
  }
  const VkSpecializationInfo constants{static_cast<uint32_t>(entries.size()), entries.data(),
                                       key.values.size() * sizeof(uint32_t), key.values.data()};

  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  if (device_->has_pipeline_statistics) info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  info.layout = layout.pipeline;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &constants;

  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo subgroup{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  subgroup.requiredSubgroupSize = interface.required_subgroup_size;
  if (interface.required_subgroup_size != 0 && device_->profile.has_subgroup_size_control) {
    info.stage.pNext = &subgroup;
    // VUID-02758: full subgroups need a width that is a multiple of them.
    const bool is_full = !interface.workgroup.empty() &&
                         interface.workgroup_of(source.specialization)[0] % interface.required_subgroup_size == 0;
    if (is_full) info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }

  auto pipeline = std::make_shared<Pipeline>(device_, layout.pipeline, layout.set);
  const VkPipelineCache cache = options_.pipeline_cache ? options_.pipeline_cache : cache_;
  result = device_->vk.vkCreateComputePipelines(device_->device, cache, 1, &info, nullptr, &pipeline->handle);
  device_->vk.vkDestroyShaderModule(device_->device, module, nullptr);
  if (result != VK_SUCCESS)
    return vulkan::error_of(result, fmt::format("creating the pipeline of kernel '{}'", kernel.id));
  return SharedPipeline(std::move(pipeline));
}

Done Pipelines::save_cache() {
  const std::lock_guard lock(mutex_);
  if (cache_path_.empty()) return std::monostate{};
  size_t size = 0;
  VkResult result = device_->vk.vkGetPipelineCacheData(device_->device, cache_, &size, nullptr);
  std::vector<std::byte> blob(size);
  if (result == VK_SUCCESS) result = device_->vk.vkGetPipelineCacheData(device_->device, cache_, &size, blob.data());
  if (result != VK_SUCCESS) return vulkan::error_of(result, "reading the pipeline cache");
  blob.resize(size);
  const Done saved = replace_file(cache_path_, wrap_cache(blob));
  if (saved) has_unsaved_pipelines_ = false;
  return saved;
}

}  // namespace qgen::dispatch
