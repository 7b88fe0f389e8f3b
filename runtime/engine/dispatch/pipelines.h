// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compute pipelines. Each is made when a recording first needs it, and kept. If there are more than the budget allows,
// the least recently used one is removed; recordings that use it keep it. A pipeline is identified by its module's
// digest, its interface and the values of its specialization constants. Kernels that agree in all three share a
// pipeline. Some of these values come from the problem. After KernelLibrary::reload(), pipelines of replaced modules are
// removed at the next request.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/engine/device/handles.h"
#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/dispatch/pipeline_cache_file.h"
#include "runtime/engine/dispatch/statistics.h"
#include "runtime/engine/library/kernel_library.h"

namespace qgen {
struct Launch;
}

namespace qgen::dispatch {

struct Pipeline {
  Pipeline(std::shared_ptr<const Device::Handles> owner, VkPipelineLayout with, VkDescriptorSetLayout set)
      : device(std::move(owner)), layout(with), set_layout(set) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline();

  std::shared_ptr<const Device::Handles> device;
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;           // both belong to Pipelines, which must live longer
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;  // null: the module binds nothing
};
using SharedPipeline = std::shared_ptr<const Pipeline>;

// The data of a pipeline.
struct PipelineSource {
  const OperatorInfo* op = nullptr;
  const KernelInfo* kernel = nullptr;
  size_t specialization = 0;      // row of op->specializations
  const void* problem = nullptr;  // the operator's Problem
};
PipelineSource source_of(const Launch& launch);

class Pipelines {
 public:
  Pipelines(std::shared_ptr<const Device::Handles> device, KernelLibrary library, const ExecutorOptions& options);
  Done init();
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;
  ~Pipelines();

  // Safe from many threads, as make_all() and save_cache() are. Errors: a feature, subgroup size or number of push
  // constants that the device lacks; a damaged module; the driver's. Others need not wait while it is made.
  Expected<SharedPipeline> get(const PipelineSource& source);

  // The driver's report on it; it is created if necessary. Errors: the errors of get(), a device without such reports.
  Expected<std::vector<Statistic>> statistics(const PipelineSource& source);

  // Makes those that are not there on all cores, or on the threads of the caller's. Failing ones are left out: get()
  // returns the reason. `on_made` hears of each, one at a time, from any thread; may be empty.
  using OnMade = std::function<void(size_t made, size_t total)>;
  void make_all(std::span<const PipelineSource> sources, const OnMade& on_made);

  const Device::Handles& device() const { return *device_; }
  const KernelLibrary& library() const { return library_; }
  Done save_cache();
  bool has_unsaved_pipelines() const {
    const std::lock_guard lock(mutex_);
    return has_unsaved_pipelines_;
  }
  size_t count() const {
    const std::lock_guard lock(mutex_);
    return pipelines_.size();
  }
  bool was_cache_read() const { return was_cache_read_; }  // from a file that was whole and ours

 private:
  struct Layout {
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  struct Key {
    uint64_t module;  // its digest
    const InterfaceInfo* interface;
    std::vector<uint32_t> values;  // of the constants that the module has
    auto operator<=>(const Key&) const = default;
  };
  struct Job {
    Key key;
    PipelineSource source;
    Layout layout;
  };

  static Key key_of(const PipelineSource& source, const Modules& modules);
  Expected<Layout> layout_of(const InterfaceInfo& interface);
  // Those that are not there.
  std::vector<Job> jobs_of(std::span<const PipelineSource> sources, const Modules& modules);
  // With mutex_ held.
  SharedPipeline known(const Key& key);  // null: not there
  SharedPipeline keep(Key key, const KernelInfo& kernel, SharedPipeline pipeline);
  void drop_replaced(const std::shared_ptr<const Modules>& modules);
  // Safe from many threads.
  Expected<SharedPipeline> make(const PipelineSource& source, const Key& key, const Layout& layout,
                                const Modules& modules) const;
  Expected<std::vector<uint32_t>> words_of(const KernelInfo& kernel, const InterfaceInfo& interface,
                                           const Modules& modules) const;

  struct Kept {
    SharedPipeline pipeline;
    const KernelInfo* kernel = nullptr;  // that it was made for
    uint64_t last_use = 0;
  };

  std::shared_ptr<const Device::Handles> device_;
  KernelLibrary library_;
  ExecutorOptions options_;
  mutable std::mutex mutex_;  // guards the following members
  uint64_t uses_ = 0;
  std::filesystem::path cache_path_;  // empty: none
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  bool was_cache_read_ = false;
  bool has_unsaved_pipelines_ = false;
  std::shared_ptr<const Modules> modules_;  // at the last request
  std::map<const InterfaceInfo*, Layout> layouts_;
  std::map<Key, Kept> pipelines_;
};

// Errors: the device was not opened for it, or its driver does not have VK_KHR_pipeline_executable_properties; the
// driver's.
Expected<std::vector<Statistic>> read_statistics(const Device::Handles& device, VkPipeline pipeline);

// A device of Vulkan 1.1 may lack the layout of uniform blocks that kernels use (older_spirv.h).
bool binds_blocks_as_storage(const DeviceProfile& device);
VkDescriptorType descriptor_type_of(BindingKind kind, const DeviceProfile& device);

}  // namespace qgen::dispatch
