// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/recorder.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "runtime/engine/dispatch/device_tensor.h"
#include "runtime/engine/dispatch/work_checks.h"

namespace qgen::dispatch {

Recorder::Recorder(SharedAllocator allocator, std::shared_ptr<Submission> submission,
                   std::shared_ptr<Pipelines> pipelines, Absentees& absentees)
    : allocator_(std::move(allocator)),
      submission_(std::move(submission)),
      pipelines_(std::move(pipelines)),
      absentees_(&absentees) {}

Expected<std::unique_ptr<Recording::State>> Recorder::record(std::span<const Work> works) {
  state_ = std::make_unique<Recording::State>(submission_, pipelines_);
  for (const Work& work : works) {
    if (const Done kept = keep(work.operands); !kept) return kept.error();
    if (const Done kept = keep({&work.scratch, 1}); !kept) return kept.error();
    if (const Done sound = check_work(work, pipelines_->library()); !sound) return sound.error();
    if (const Done planned = plan(work); !planned) return planned.error();
  }
  if (const Done allocated = allocate(); !allocated) return allocated.error();
  if (const Done described = describe(); !described) return described.error();
  for (Dispatch& dispatch : state_->dispatches) dispatch.launch = nullptr;
  return std::move(state_);
}

Done Recorder::keep(std::span<const DeviceTensor* const> operands) {
  for (const DeviceTensor* operand : operands) {
    if (!operand) continue;
    if (const Done ours = check_is_from(*allocator_, operand->memory()); !ours) return ours.error();
    state_->kept.push_back(operand->shared_memory());
  }
  return std::monostate{};
}

// Every work's scratch starts at the same place; the barriers see to it that they take turns.
Done Recorder::plan(const Work& work) {
  auto planned = dispatch::plan(*work.choice, *pipelines_, blocks_);
  if (!planned) return planned.error();
  Operands operands{work.operands};
  if (work.scratch) {
    operands.put_scratch(work.scratch->memory());
  } else {
    scratch_bytes_ = std::max(scratch_bytes_, planned->scratch_bytes);
  }
  for (Dispatch& dispatch : planned->dispatches) {
    const Done bound = bind_operands(dispatch, operands, planned->scratch, device(), *absentees_, state_->kept);
    if (!bound) return bound.error();
    state_->dispatches.push_back(std::move(dispatch));
  }
  return std::monostate{};
}

// ---- allocate, describe ---------------------------------------------------------------------------------------------

Expected<Buffer> make_blocks(const SharedAllocator& allocator, std::span<const std::byte> bytes) {
  auto blocks = Buffer::make(allocator, bytes.size(), BufferUse::block);
  if (!blocks) return blocks.error();
  std::copy(bytes.begin(), bytes.end(), blocks->mapped().begin());
  if (const VkResult flushed = blocks->flush(); flushed != VK_SUCCESS) {
    return vulkan::error_of(flushed, "flushing the problem blocks");
  }
  return blocks;
}

Done Recorder::allocate() {
  if (scratch_bytes_ > 0) {
    auto scratch = Buffer::make(allocator_, scratch_bytes_, BufferUse::device);
    if (!scratch) return scratch.error();
    state_->scratch = *std::move(scratch);
  }
  if (!blocks_.empty()) {
    auto blocks = make_blocks(allocator_, blocks_);
    if (!blocks) return blocks.error();
    state_->blocks = *std::move(blocks);
  }
  for (Dispatch& dispatch : state_->dispatches) {
    for (BoundResource& resource : dispatch.resources) {
      if (resource.buffer || resource.view) continue;
      const bool is_scratch = resource.source == BoundResource::Source::scratch;
      resource.buffer = is_scratch ? state_->scratch.handle() : state_->blocks.handle();
    }
    if (dispatch.indirect && !dispatch.indirect->buffer) dispatch.indirect->buffer = state_->scratch.handle();
    find_uses(dispatch);
  }
  return std::monostate{};
}

Done Recorder::describe() {
  std::map<VkDescriptorType, uint32_t> counts;
  std::vector<VkDescriptorSetLayout> layouts;
  for (const Dispatch& dispatch : state_->dispatches) {
    layouts.push_back(dispatch.pipeline->set_layout);
    for (const BoundResource& resource : dispatch.resources)
      ++counts[descriptor_type_of(resource.binding->kind, device().profile)];
  }
  if (layouts.empty() || device().has_push_descriptors) return std::monostate{};

  std::vector<VkDescriptorPoolSize> sizes;
  for (const auto& [type, count] : counts) sizes.push_back({type, count});
  VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = static_cast<uint32_t>(layouts.size());
  pool.poolSizeCount = static_cast<uint32_t>(sizes.size());
  pool.pPoolSizes = sizes.data();
  VkResult result = device().vk.vkCreateDescriptorPool(device().device, &pool, nullptr, &state_->descriptors);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "creating a descriptor pool");

  VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorPool = state_->descriptors;
  info.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  info.pSetLayouts = layouts.data();
  std::vector<VkDescriptorSet> sets(layouts.size());
  result = device().vk.vkAllocateDescriptorSets(device().device, &info, sets.data());
  if (result != VK_SUCCESS) return vulkan::error_of(result, "creating descriptor sets");

  for (size_t i = 0; i < sets.size(); ++i) {
    Dispatch& dispatch = state_->dispatches[i];
    dispatch.set = sets[i];
    const DescriptorWrites described(dispatch, dispatch.set);
    device().vk.vkUpdateDescriptorSets(device().device, described.count, described.writes.data(), 0, nullptr);
  }
  return std::monostate{};
}

}  // namespace qgen::dispatch

// ---- encode, time ---------------------------------------------------------------------------------------------------

namespace qgen {
namespace {

// A barrier where the dispatch must wait for earlier ones, then the dispatch.
void encode_in_turn(const dispatch::Dispatch& dispatch, dispatch::Dependencies& dependencies,
                    const vulkan::DeviceFunctions& vk, VkCommandBuffer to) {
  if (dispatch.is_empty()) return;
  dispatch::put_barrier(dependencies.barrier_before(dispatch.uses), vk, to);
  dispatch::encode(dispatch, dispatch.set, vk, to);
}

}  // namespace

void Recording::State::encode(VkCommandBuffer to) const {
  dispatch::Dependencies dependencies;
  for (const dispatch::Dispatch& dispatch : dispatches) encode_in_turn(dispatch, dependencies, device().vk, to);
}

void Recording::State::encode_timed(VkCommandBuffer to) const {
  uint32_t written = 0;
  const auto timestamp = [&] { timestamps->write(to, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, written++); };
  timestamps->reset(to);
  timestamp();
  dispatch::Dependencies dependencies;
  for (size_t i = 0; i < dispatches.size(); ++i) {
    encode_in_turn(dispatches[i], dependencies, device().vk, to);
    if ((i + 1) % timed_chain == 0 || i + 1 == dispatches.size()) timestamp();
  }
}

Done Recording::State::prepare(VkCommandBuffer& commands_of, dispatch::Submission::Usage usage) {
  if (commands_of) return std::monostate{};
  const auto made = submission->make_commands();
  if (!made) return made.error();
  const Done recorded = submission->record(*made, usage, [this](VkCommandBuffer to) { encode(to); });
  if (recorded) commands_of = *made;
  else submission->free_commands(*made);
  return recorded;
}

Done Recording::State::prepare_commands() { return prepare(commands, dispatch::Submission::Usage::repeated); }
Done Recording::State::prepare_submitting() {
  return prepare(submitted_commands, dispatch::Submission::Usage::simultaneous);
}

Done Recording::State::prepare_timing(uint32_t chain) {
  if (timed_chain == chain) return std::monostate{};
  submission->free_commands(std::exchange(timed_commands, VK_NULL_HANDLE));
  timed_chain = 0;
  const size_t chains = (dispatches.size() + chain - 1) / chain;
  auto made_timestamps = dispatch::Timestamps::make(submission->device(), static_cast<uint32_t>(chains + 1));
  if (!made_timestamps) return made_timestamps.error();
  timestamps = *std::move(made_timestamps);
  const auto made = submission->make_commands();
  if (!made) return made.error();
  timed_commands = *made;
  timed_chain = chain;
  const Done recorded = submission->record(*made, dispatch::Submission::Usage::repeated,
                                           [this](VkCommandBuffer to) { encode_timed(to); });
  if (!recorded) timed_chain = 0;
  return recorded;
}

Expected<Timing> Recording::State::read_timing() const {
  const auto intervals = timestamps->intervals_us();
  if (!intervals) return intervals.error();
  return Timing{std::reduce(intervals->begin(), intervals->end()), *intervals};
}

Recording::State::~State() {
  (void)submission->wait_for(last_submitted);
  submission->free_commands(timed_commands);
  submission->free_commands(submitted_commands);
  submission->free_commands(commands);
  if (descriptors) device().vk.vkDestroyDescriptorPool(device().device, descriptors, nullptr);
}

}  // namespace qgen
