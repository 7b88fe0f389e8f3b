// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// For a choice that was recorded before, three things are repeated: operands are checked and bound, the descriptor set
// is written, and the commands are encoded. Plans are kept by the choice's address, together with the choice, so that
// no other can get its address.
#include "runtime/engine/dispatch/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "runtime/engine/dispatch/device_tensor.h"
#include "runtime/engine/dispatch/plan.h"
#include "runtime/engine/dispatch/recorder.h"
#include "runtime/engine/dispatch/work_checks.h"

namespace qgen {

using dispatch::BoundResource;
using dispatch::Buffer;
using dispatch::BufferUse;
using dispatch::Dispatch;

namespace {

constexpr size_t kMostPlans = 4096;
constexpr uint32_t kSetsOfPool = 256;

struct KeptPlan {
  std::shared_ptr<const Choice> choice;
  dispatch::Plan plan;
  Buffer blocks;
};

// Descriptor sets of one frame, from pools that are made when they are needed.
class Sets {
 public:
  Sets(const Device::Handles& device, VkDescriptorPool lent) : device_(&device), lent_(lent) {}
  Sets(const Sets&) = delete;
  Sets& operator=(const Sets&) = delete;
  ~Sets() {
    for (const VkDescriptorPool pool : pools_) device_->vk.vkDestroyDescriptorPool(device_->device, pool, nullptr);
  }

  Done reset() {
    for (const VkDescriptorPool pool : pools_) {
      const VkResult result = device_->vk.vkResetDescriptorPool(device_->device, pool, 0);
      if (result != VK_SUCCESS) return vulkan::error_of(result, "resetting a descriptor pool");
    }
    used_ = 0;
    return std::monostate{};
  }

  Expected<VkDescriptorSet> make(VkDescriptorSetLayout layout) {
    if (lent_) return make_from(lent_, layout);
    for (; used_ < pools_.size(); ++used_) {
      if (auto set = make_from(pools_[used_], layout)) return set;
    }
    if (const Done added = add_pool(); !added) return added.error();
    return make_from(pools_.back(), layout);
  }

 private:
  Expected<VkDescriptorSet> make_from(VkDescriptorPool pool, VkDescriptorSetLayout layout) {
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    info.descriptorPool = pool;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = device_->vk.vkAllocateDescriptorSets(device_->device, &info, &set);
    if (result == VK_SUCCESS) return set;
    return vulkan::error_of(
        result, lent_ ? "allocating a set from CommandsOptions::descriptor_pool" : "creating a descriptor set");
  }

  Done add_pool() {
    constexpr uint32_t kOfEach = kSetsOfPool * 8;
    const std::array<VkDescriptorPoolSize, 3> sizes{{{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kOfEach},
                                                     {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, kOfEach},
                                                     {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kSetsOfPool}}};
    VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    info.maxSets = kSetsOfPool;
    info.poolSizeCount = sizes.size();
    info.pPoolSizes = sizes.data();
    VkDescriptorPool pool = VK_NULL_HANDLE;
    const VkResult result = device_->vk.vkCreateDescriptorPool(device_->device, &info, nullptr, &pool);
    if (result != VK_SUCCESS) return vulkan::error_of(result, "creating a descriptor pool");
    pools_.push_back(pool);
    return std::monostate{};
  }

  const Device::Handles* device_;
  VkDescriptorPool lent_;
  std::vector<VkDescriptorPool> pools_;
  size_t used_ = 0;  // those before it are full
};

void barrier(const vulkan::DeviceFunctions& vk, VkCommandBuffer commands, const Edge& from, const Edge& to) {
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = from.access;
  memory.dstAccessMask = to.access;
  vk.vkCmdPipelineBarrier(commands, from.stages, to.stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

// From undefined to GENERAL, before anything reads or writes it.
void initialize(const vulkan::DeviceFunctions& vk, VkCommandBuffer commands, VkImage image) {
  VkImageMemoryBarrier to_general{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
  to_general.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  to_general.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  to_general.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  to_general.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  to_general.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  to_general.image = image;
  to_general.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0,
                          nullptr, 0, nullptr, 1, &to_general);
}

constexpr uint64_t next_aligned(uint64_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

}  // namespace

struct Commands::State {
  State(dispatch::SharedAllocator memory, std::shared_ptr<dispatch::Pipelines> made, const CommandsOptions& wanted)
      : allocator(std::move(memory)),
        pipelines(std::move(made)),
        options(wanted),
        sets(allocator->device(), wanted.descriptor_pool),
        absentees(allocator, [this](const dispatch::Image& image) {
          initialize(vk(), into, image.handle());
          return Done(std::monostate{});
        }) {
    if (wanted.arena) arena.emplace(wanted.arena->shared_memory());
  }

  const Device::Handles& device() const { return allocator->device(); }
  const vulkan::DeviceFunctions& vk() const { return device().vk; }

  // ---- one command buffer

  Done check_is_begun() const {
    if (into) return std::monostate{};
    return refused("these commands were not begun", "begin them with a command buffer in the recording state");
  }

  void enter() {
    if (is_inside) return;
    is_inside = true;
    constexpr Edge kInside{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    if (options.edges.before.stages != 0) barrier(vk(), into, options.edges.before, kInside);
  }

  void leave() {
    constexpr Edge kInside{VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT};
    if (is_inside && options.edges.after.stages != 0) barrier(vk(), into, kInside, options.edges.after);
    is_inside = false;
    dependencies = {};
    into = VK_NULL_HANDLE;
  }

  // ---- one dispatch

  Done encode(const Dispatch& dispatch) {
    VkDescriptorSet set = VK_NULL_HANDLE;
    if (!device().has_push_descriptors) {
      const auto made = sets.make(dispatch.pipeline->set_layout);
      if (!made) return made.error();
      set = *made;
      const dispatch::DescriptorWrites described(dispatch, set);
      vk().vkUpdateDescriptorSets(device().device, described.count, described.writes.data(), 0, nullptr);
    }
    encode(dispatch, set);
    return std::monostate{};
  }

  void encode(const Dispatch& dispatch, VkDescriptorSet set) {
    dispatch::put_barrier(dependencies.barrier_before(dispatch.uses), vk(), into);
    dispatch::encode(dispatch, set, vk(), into);
  }

  // ---- one choice

  Expected<std::shared_ptr<KeptPlan>> plan(const std::shared_ptr<const Choice>& choice) {
    auto made = std::make_shared<KeptPlan>();
    made->choice = choice;
    std::vector<std::byte> blocks;
    auto planned = dispatch::plan(*choice, *pipelines, blocks);
    if (!planned) return planned.error();
    made->plan = *std::move(planned);
    if (blocks.empty()) return made;
    auto buffer = dispatch::make_blocks(allocator, blocks);
    if (!buffer) return buffer.error();
    made->blocks = *std::move(buffer);
    for (Dispatch& dispatch : made->plan.dispatches) {
      for (BoundResource& resource : dispatch.resources) {
        if (resource.source == BoundResource::Source::block) resource.buffer = made->blocks.handle();
      }
    }
    return made;
  }

  // Keeps a plan for choices that others hold too. A choice was checked when its plan was made.
  Expected<std::shared_ptr<KeptPlan>> plan_once(const std::shared_ptr<const Choice>& choice) {
    const auto known = plans.find(choice.get());
    if (known != plans.end()) return known->second;
    auto made = plan(choice);
    if (!made) return made;
    if (plans.size() >= kMostPlans) plans.clear();
    plans.emplace(choice.get(), *made);
    return made;
  }

  Done record(const std::shared_ptr<KeptPlan>& planned, const Work& work) {
    dispatch::Operands operands{work.operands};
    if (const Done placed = place_scratch(planned->plan.scratch_bytes, work, operands); !placed) return placed;
    enter();
    kept.push_back(planned);
    for (const DeviceTensor* operand : work.operands) {
      if (operand) kept.push_back(operand->shared_memory());
    }
    for (Dispatch& dispatch : planned->plan.dispatches) {
      if (dispatch.is_empty()) continue;
      if (Done bound = bind_operands(dispatch, operands, planned->plan.scratch, device(), absentees, kept); !bound)
        return bound;
      if (Done encoded = encode(dispatch); !encoded) return encoded;
    }
    return std::monostate{};
  }

  Done check_are_ours(std::span<const DeviceTensor* const> operands) const {
    for (const DeviceTensor* operand : operands) {
      if (!operand) continue;
      if (Done ours = dispatch::check_is_from(*allocator, operand->memory()); !ours) return ours;
    }
    return std::monostate{};
  }

  // ---- memory of a frame

  Expected<uint64_t> take(uint64_t bytes) {
    const uint64_t available = arena->memory().tensor_bytes;
    const uint64_t begin = next_aligned(arena_used);
    if (begin > available || bytes > available - begin) {
      return refused(
          fmt::format("the arena of {} bytes is full: {} are taken, and {} more are needed", available, begin, bytes),
          "make it larger: a frame takes the bytes of each tensor and of the scratch of each choice, each rounded up "
          "to "
          "the alignment of tensors");
    }
    arena_used = begin + bytes;
    return begin;
  }

  Done place_scratch(uint64_t bytes, const Work& work, dispatch::Operands& operands) {
    if (bytes == 0) return std::monostate{};
    if (work.scratch) {
      operands.put_scratch(work.scratch->memory());
      kept.push_back(work.scratch->shared_memory());
      return std::monostate{};
    }
    if (arena) {
      const auto begin = take(bytes);
      if (!begin) return begin.error();
      operands.put_scratch(arena->memory(), *begin);
      return std::monostate{};
    }
    if (!scratch || scratch->size_bytes() < bytes) {
      auto made = Buffer::make(allocator, bytes, BufferUse::device);
      if (!made) return made.error();
      scratch = std::make_shared<Buffer>(*std::move(made));
    }
    kept.push_back(scratch);
    operands.scratch = scratch->handle();
    return std::monostate{};
  }

  Expected<DeviceTensor> allocate_image(DType dtype, const Shape& shape, Layout layout) {
    const auto extent = dispatch::texture_extent(dtype, shape, layout);
    if (!extent) return extent.error();
    auto image = dispatch::Image::make(allocator, dtype, *extent);
    if (!image) return image.error();
    enter();
    initialize(vk(), into, image->handle());
    auto memory = dispatch::described(allocator, dtype, shape, Storage::texture3d, layout);
    memory->image = *std::move(image);
    return DeviceTensor(std::move(memory));
  }

  Expected<DeviceTensor> allocate_buffer(DType dtype, const Shape& shape, Layout layout) {
    if (arena) {
      const auto begin = take(buffer_bytes(dtype, shape, layout));
      if (!begin) return begin.error();
      return dispatch::place(*arena, *begin, dtype, shape, layout);
    }
    auto memory = dispatch::described(allocator, dtype, shape, Storage::buffer, layout);
    if (const Done sized = dispatch::size_buffer(*memory); !sized) return sized.error();
    auto buffer = Buffer::make(allocator, memory->tensor_bytes, BufferUse::device);
    if (!buffer) return buffer.error();
    memory->buffer = *std::move(buffer);
    return DeviceTensor(std::move(memory));
  }

  dispatch::SharedAllocator allocator;
  std::shared_ptr<dispatch::Pipelines> pipelines;
  CommandsOptions options;
  std::optional<DeviceTensor> arena;
  Sets sets;
  dispatch::Absentees absentees;
  std::unordered_map<const Choice*, std::shared_ptr<KeptPlan>> plans;

  VkCommandBuffer into = VK_NULL_HANDLE;  // null: not begun, or ended
  bool is_inside = false;                 // after the barrier of the first edge
  dispatch::Dependencies dependencies;
  uint64_t arena_used = 0;
  std::shared_ptr<const Buffer> scratch;          // without an arena
  std::vector<std::shared_ptr<const void>> kept;  // recorded since begin()
};

Done Commands::begin(VkCommandBuffer into) {
  if (!state_) return moved_from("commands object");
  if (!into) return refused("the command buffer is null");
  if (Done reset = state_->sets.reset(); !reset) return reset;
  state_->kept.clear();
  state_->absentees.forget_images();
  state_->arena_used = 0;
  return resume(into);
}

Done Commands::resume(VkCommandBuffer into) {
  if (!state_) return moved_from("commands object");
  if (!into) return refused("the command buffer is null");
  state_->into = into;
  state_->is_inside = false;
  state_->dependencies = {};
  return std::monostate{};
}

Done Commands::end() {
  if (!state_) return moved_from("commands object");
  if (Done begun = state_->check_is_begun(); !begun) return begun;
  state_->leave();
  return std::monostate{};
}

Done Commands::record(const std::shared_ptr<const Choice>& choice, std::span<const DeviceTensor* const> operands,
                      const DeviceTensor* scratch) {
  if (!state_) return moved_from("commands object");
  if (Done begun = state_->check_is_begun(); !begun) return begun;
  const Work work{choice.get(), {operands.begin(), operands.end()}, scratch};
  if (Done ours = state_->check_are_ours(operands); !ours) return ours;
  const bool is_known = choice && state_->plans.contains(choice.get());
  const Done sound =
      is_known ? dispatch::check_operands(work) : dispatch::check_work(work, state_->pipelines->library());
  if (!sound) return sound;
  const auto planned = state_->plan_once(choice);
  return planned ? state_->record(*planned, work) : Done(planned.error());
}

Done Commands::record(const Work& work) {
  if (!state_) return moved_from("commands object");
  if (Done begun = state_->check_is_begun(); !begun) return begun;
  if (Done ours = state_->check_are_ours(work.operands); !ours) return ours;
  if (Done sound = dispatch::check_work(work, state_->pipelines->library()); !sound) return sound;
  const auto planned = state_->plan(std::make_shared<const Choice>(*work.choice));
  return planned ? state_->record(*planned, work) : Done(planned.error());
}

// ---- recordings -----------------------------------------------------------------------------------------------------

namespace {

Done check_rebinding(const Rebinding& rebinding) {
  if (!rebinding.from || !rebinding.to) return refused("a tensor of a Rebinding is null");
  const DeviceTensor &from = *rebinding.from, &to = *rebinding.to;
  if (from.dtype() == to.dtype() && from.shape() == to.shape() && from.storage() == to.storage() &&
      from.layout() == to.layout())
    return std::monostate{};
  return refused(fmt::format("a tensor of {} {} {} cannot replace {} {} {}", name(to.dtype()), to_text(to.shape()),
                             name(to.layout()), name(from.dtype()), to_text(from.shape()), name(from.layout())),
                 "wrap() the memory once more, described as the recording's tensor is");
}

const DeviceTensor* taking_the_place_of(const DeviceTensor::Memory* memory, std::span<const Rebinding> rebindings) {
  for (const Rebinding& rebinding : rebindings) {
    if (&rebinding.from->memory() == memory) return rebinding.to;
  }
  return nullptr;
}

// Two operands that were separate in the recording, of which one is written.
bool has_new_overlap(const Dispatch& before, const Dispatch& after) {
  for (size_t a = 0; a < after.uses.size(); ++a) {
    for (size_t b = a + 1; b < after.uses.size(); ++b) {
      const bool is_written = after.uses[a].access != Access::read || after.uses[b].access != Access::read;
      if (is_written && overlap(after.uses[a].region, after.uses[b].region) &&
          !overlap(before.uses[a].region, before.uses[b].region))
        return true;
    }
  }
  return false;
}

// nullopt: it uses none of the replaced tensors.
std::optional<Dispatch> rebound(const Dispatch& dispatch, std::span<const Rebinding> rebindings, uint64_t most_bytes) {
  std::optional<Dispatch> changed;
  for (size_t i = 0; i < dispatch.resources.size(); ++i) {
    const BoundResource& resource = dispatch.resources[i];
    if (resource.source != BoundResource::Source::tensor) continue;
    const DeviceTensor* to = taking_the_place_of(resource.memory, rebindings);
    if (!to) continue;
    if (!changed) changed = dispatch;
    bind_memory(changed->resources[i], to->memory(), most_bytes);
  }
  if (changed) find_uses(*changed);
  return changed;
}

}  // namespace

Done Commands::record(const Recording& recording, std::span<const Rebinding> rebindings) {
  if (!state_) return moved_from("commands object");
  if (Done begun = state_->check_is_begun(); !begun) return begun;
  const auto& recorded = recording.shared_state();
  if (!recorded) return moved_from("recording");
  if (recorded->pipelines != state_->pipelines)
    return refused("the recording belongs to another executor", "record() it with the one that these commands are of");
  for (const Rebinding& rebinding : rebindings) {
    if (Done sound = check_rebinding(rebinding); !sound) return sound;
    if (Done ours = state_->check_are_ours({&rebinding.to, 1}); !ours) return ours;
    state_->kept.push_back(rebinding.to->shared_memory());
  }
  state_->enter();
  state_->kept.push_back(recorded);
  const auto most_bytes = static_cast<uint64_t>(state_->device().profile.numbers.max_storage_buffer_bytes);
  for (const Dispatch& dispatch : recorded->dispatches) {
    if (dispatch.is_empty()) continue;
    const auto changed = rebindings.empty() ? std::nullopt : rebound(dispatch, rebindings, most_bytes);
    if (!changed) {
      state_->encode(dispatch, dispatch.set);
      continue;
    }
    if (has_new_overlap(dispatch, *changed))
      return refused("two replacements in a recording share bytes, and one of them is written",
                     "give each output separate memory");
    if (Done encoded = state_->encode(*changed); !encoded) return encoded;
  }
  return std::monostate{};
}

// ---- memory ---------------------------------------------------------------------------------------------------------

Expected<DeviceTensor> Commands::allocate(DType dtype, const Shape& shape, Storage storage, Layout layout) {
  if (!state_) return moved_from("commands object");
  if (const Done begun = state_->check_is_begun(); !begun) return begun.error();
  if (const Done sane = check_shape(shape); !sane) return sane.error();
  return storage == Storage::buffer ? state_->allocate_buffer(dtype, shape, layout)
                                    : state_->allocate_image(dtype, shape, layout);
}

uint64_t Commands::arena_bytes_used() const { return state_ ? state_->arena_used : 0; }

Expected<Commands> Commands::create(const std::shared_ptr<const dispatch::Allocator>& allocator,
                                    const std::shared_ptr<dispatch::Pipelines>& pipelines,
                                    const CommandsOptions& options) {
  if (options.arena && (options.arena->storage() != Storage::buffer || options.arena->memory().arena))
    return refused("an arena must be a tensor in a buffer that does not lie in another arena");
  return Commands(std::make_unique<State>(allocator, pipelines, options));
}

Commands::Commands(std::unique_ptr<State> state) : state_(std::move(state)) {}
Commands::Commands(Commands&&) noexcept = default;
Commands& Commands::operator=(Commands&&) noexcept = default;
Commands::~Commands() = default;

}  // namespace qgen
