// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Turns a choice into dispatches in two steps. The first depends on the choice alone and runs once. The second depends
// on the operands, and runs for each command buffer.
//
//   std::vector<std::byte> blocks;
//   auto plan = planner.plan(choice, blocks);              // pipelines, workgroups, push constants, scratch
//   for (Dispatch& dispatch : plan->dispatches) bind_operands(dispatch, ...);  // buffers, and who must wait for whom
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/dispatch/dependencies.h"
#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/dispatch/memory.h"
#include "runtime/engine/dispatch/pipelines.h"

namespace qgen::dispatch {

// More than any kernel of Vulkan's least device may bind: descriptor writes are made on the stack.
constexpr size_t kMostBindings = 32;

struct BoundResource {
  enum class Source : uint8_t { tensor, scratch, block, absent } source = Source::tensor;
  const BindingInfo* binding = nullptr;
  const DeviceTensor::Memory* memory = nullptr;  // of a tensor
  VkBuffer buffer = VK_NULL_HANDLE;              // of scratch and blocks: known after allocating
  uint64_t offset = 0;
  uint64_t range = 0;
  VkImageView view = VK_NULL_HANDLE;  // of images
};

// Where an indirect dispatch reads its number of workgroups.
struct IndirectCount {
  VkBuffer buffer = VK_NULL_HANDLE;  // known after allocating
  uint64_t offset = 0;
  uint64_t size = 0;
};

struct Dispatch {
  SharedPipeline pipeline;
  VkDescriptorSet set = VK_NULL_HANDLE;  // null: the device has push descriptors
  const Launch* launch = nullptr;        // of the choice, which must live as long
  std::vector<BoundResource> resources;
  std::vector<RegionUse> uses;  // of tensors and scratch
  std::vector<std::byte> push_constants;
  std::array<uint32_t, 3> groups{};       // 0 anywhere: nothing is dispatched
  uint8_t indirect_scratch = kAbsent;     // Launch::indirect
  std::optional<IndirectCount> indirect;  // nullopt: `groups`

  bool is_empty() const { return groups[0] == 0 || groups[1] == 0 || groups[2] == 0; }
};

// The launches of a choice, with all that does not depend on its operands.
struct Plan {
  std::vector<Dispatch> dispatches;
  std::vector<Region> scratch;  // from offset 0 on
  uint64_t scratch_bytes = 0;
};

// Stand-ins for optional operands that are left out: kernels read nothing from them, but Vulkan wants something bound.
class Absentees {
 public:
  // Brings an image from its undefined layout to GENERAL.
  using Initialize = std::function<Done(const Image&)>;
  Absentees(SharedAllocator allocator, Initialize initialize)
      : allocator_(std::move(allocator)), initialize_(std::move(initialize)) {}
  Expected<std::shared_ptr<const Buffer>> buffer();
  Expected<std::shared_ptr<const Image>> image(DType dtype);
  void forget_images() { images_.clear(); }

 private:
  SharedAllocator allocator_;
  Initialize initialize_;
  std::shared_ptr<const Buffer> buffer_;
  std::map<DType, std::shared_ptr<const Image>> images_;
};
constexpr uint64_t kAbsentBytes = 16;

// A choice must be whole (work_checks.h). Appends the bytes of its problem blocks to `blocks`, and its resources hold
// their offsets there. Errors: the errors of pipelines, grids that no device can number, scratch that the device cannot
// bind.
Expected<Plan> plan(const Choice& choice, Pipelines& pipelines, std::vector<std::byte>& blocks);

// The operands of one call, checked by check_work() or before.
struct Operands {
  std::span<const DeviceTensor* const> tensors;  // in the operator's order; null: left out
  VkBuffer scratch = VK_NULL_HANDLE;             // null: known after allocating
  uint64_t scratch_offset = 0;
  bool may_be_indirect = true;  // DeviceTensor::Memory::may_be_indirect() of the scratch

  // From this offset in the tensor on.
  void put_scratch(const DeviceTensor::Memory& memory, uint64_t offset = 0);
};
// Of one resource. `most_bytes`: the most that the device binds at once.
void bind_memory(BoundResource& resource, const DeviceTensor::Memory& memory, uint64_t most_bytes);

// Puts them into a planned dispatch. Objects that must live as long as its commands are added to `kept`. Errors: a
// tensor of a form that the kernel does not take, an operand that is left out and must not be.
Done bind_operands(Dispatch& dispatch, const Operands& operands, std::span<const Region> scratch,
                   const Device::Handles& device, Absentees& absentees, std::vector<std::shared_ptr<const void>>& kept);
// After resources were changed.
void find_uses(Dispatch& dispatch);

// ---- commands -------------------------------------------------------------------------------------------------------

// The bindings of a dispatch, in Vulkan's form.
struct DescriptorWrites {
  explicit DescriptorWrites(const Dispatch& dispatch, VkDescriptorSet set);
  DescriptorWrites(const DescriptorWrites&) = delete;  // the structs point at one another
  DescriptorWrites& operator=(const DescriptorWrites&) = delete;

  uint32_t count = 0;
  std::array<VkWriteDescriptorSet, kMostBindings> writes;
  std::array<VkDescriptorBufferInfo, kMostBindings> buffers;
  std::array<VkDescriptorImageInfo, kMostBindings> images;
};

void put_barrier(Barrier barrier, const vulkan::DeviceFunctions& vk, VkCommandBuffer commands);
// Pipeline, operands, push constants, dispatch. `set`: the dispatch's own, or another; null: operands are pushed.
void encode(const Dispatch& dispatch, VkDescriptorSet set, const vulkan::DeviceFunctions& vk, VkCommandBuffer commands);

}  // namespace qgen::dispatch
