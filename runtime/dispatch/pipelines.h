// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Compute pipelines, made when a recording first asks and kept until the end. A pipeline is known by its module's
// digest, its interface and the values of its specialization constants: kernels that agree in all three share one.
// Some of these values are the problem's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/device/handles.h"
#include "runtime/dispatch/pipeline_cache_file.h"
#include "runtime/dispatch/statistics.h"
#include "runtime/library/kernel_library.h"

namespace qgen {
struct Launch;
}

namespace qgen::dispatch {

struct Pipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;  // null: the module binds nothing
};

// What a pipeline is made of.
struct PipelineSource {
  const OperatorInfo* op = nullptr;
  const KernelInfo* kernel = nullptr;
  size_t specialization = 0;      // row of op->specializations
  const void* problem = nullptr;  // the operator's Problem
};
PipelineSource source_of(const Launch& launch);

class Pipelines {
 public:
  Pipelines(std::shared_ptr<const Device::Handles> device, KernelLibrary library);
  // An empty folder keeps nothing on disk.
  Done init(const std::filesystem::path& cache_folder);
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;
  ~Pipelines();

  // Safe from many threads, as make_all() and save_cache() are. Errors: a feature, subgroup size or number of push
  // constants that the device lacks; a damaged module; the driver's. The pipeline stays where it is as long as this
  // does.
  Expected<const Pipeline*> get(const PipelineSource& source);

  // What the driver says of it; it is made where it is not there. Errors: those of get(), a device that says nothing.
  Expected<std::vector<Statistic>> statistics(const PipelineSource& source);

  // Makes those that are not there on all cores. What fails is left out: get() says why. `on_made` hears of each, one
  // at a time, from any thread; may be empty.
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

  Key key_of(const PipelineSource& source) const;
  Expected<Layout> layout_of(const InterfaceInfo& interface);
  std::vector<Job> jobs_of(std::span<const PipelineSource> sources);  // those that are not there
  const Pipeline* keep(Key key, const Pipeline& pipeline);            // with mutex_ held
  // Safe from many threads.
  Expected<Pipeline> make(const PipelineSource& source, const Key& key, const Layout& layout) const;

  std::shared_ptr<const Device::Handles> device_;
  KernelLibrary library_;
  mutable std::mutex mutex_;          // of what follows
  std::filesystem::path cache_path_;  // empty: none
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  bool was_cache_read_ = false;
  bool has_unsaved_pipelines_ = false;
  std::map<const InterfaceInfo*, Layout> layouts_;
  std::map<Key, Pipeline> pipelines_;
};

// Errors: the device was not opened for it, or its driver does not have VK_KHR_pipeline_executable_properties; the
// driver's.
Expected<std::vector<Statistic>> read_statistics(const Device::Handles& device, VkPipeline pipeline);

VkDescriptorType descriptor_type_of(BindingKind kind);

}  // namespace qgen::dispatch
