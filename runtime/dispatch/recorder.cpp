// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/dispatch/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <utility>

#include "runtime/dispatch/blocks.h"
#include "runtime/dispatch/device_tensor.h"
#include "runtime/dispatch/grid.h"
#include "runtime/dispatch/work_checks.h"
#include "vocabulary/layouts.h"

namespace qgen::dispatch {
namespace {

constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

OperandForm form_of(const Launch& launch, const BindingInfo& binding) {
  return launch.op->form(launch.kernel->parameters, binding.operand);
}

std::string describe_form(DType dtype, Storage storage, Layout layout) {
  return fmt::format("{} {} {}", name(dtype), name(storage), name(layout));
}

// "f32 buffer", "f32 texture3d width_packed or height_packed"
std::string describe_form(const OperandForm& form) {
  std::string layouts;
  for (const LayoutInfo& row : kLayouts) {
    if ((form.layouts & bit(row.layout)) == 0) continue;
    layouts += (layouts.empty() ? " " : " or ") + std::string(row.name);
  }
  return fmt::format("{} {}{}", name(form.dtype), name(form.storage), layouts);
}

Region region_of(const BoundResource& resource) {
  if (resource.view) return {resource.view, 0, 1};
  // Scratch has no buffer yet, and is one object: the null handle stands for it.
  return {resource.buffer, resource.offset, resource.range};
}

std::vector<RegionUse> uses_of(const std::vector<BoundResource>& resources) {
  std::vector<RegionUse> uses;
  for (const BoundResource& resource : resources) {
    if (resource.source == BoundResource::Source::block) continue;  // only the host writes them
    uses.push_back({region_of(resource), resource.binding->access});
  }
  return uses;
}

// Where a choice's pieces of scratch lie, one behind the other. Sizes are rounded up to 16, as those of tensors are,
// and saturate.
std::vector<Region> scratch_of(const Choice& choice) {
  constexpr uint64_t kMost = uint64_t{1} << 58;
  std::vector<Region> pieces;
  uint64_t end = 0;
  for (size_t i = 0; i < choice.scratch_elements.size(); ++i) {
    const auto each = static_cast<uint64_t>(bytes(choice.recipe->scratch[i].dtype));
    const uint64_t size = std::max<uint64_t>(16, round_up(std::min(choice.scratch_elements[i], kMost) * each, 16));
    pieces.push_back({nullptr, round_up(end, kTensorAlignment), size});
    end = pieces.back().offset + size;
  }
  return pieces;
}

}  // namespace

// ---- stand-ins ------------------------------------------------------------------------------------------------------

Expected<std::shared_ptr<const Buffer>> Absentees::buffer() {
  if (!buffer_) {
    auto made = Buffer::make(allocator_, kAbsentBytes, BufferUse::device);
    if (!made) return made.error();
    buffer_ = std::make_shared<Buffer>(*std::move(made));
  }
  return buffer_;
}

Expected<std::shared_ptr<const Image>> Absentees::image(DType dtype) {
  std::shared_ptr<const Image>& image = images_[dtype];
  if (!image) {
    auto made = Image::make(allocator_, dtype, {1, 1, 1});
    if (!made) return made.error();
    if (const Done ready = transfers_->initialize(*made); !ready) return ready.error();
    image = std::make_shared<Image>(*std::move(made));
  }
  return image;
}

// ---- plan -----------------------------------------------------------------------------------------------------------

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

  const auto commands = submission_->make_commands();
  if (!commands) return commands.error();
  state_->commands = *commands;
  const Done recorded = submission_->record(*commands, false, [this](VkCommandBuffer to) { state_->encode(to); });
  if (!recorded) return recorded.error();
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

Done Recorder::plan(const Work& work) {
  const auto scratch = place_scratch(work);
  if (!scratch) return scratch.error();
  for (const Launch& launch : work.choice->launches) {
    if (const Done planned = plan(work, launch, *scratch); !planned) return planned.error();
  }
  return std::monostate{};
}

Done Recorder::plan(const Work& work, const Launch& launch, std::span<const Region> scratch) {
  Dispatch dispatch;
  const auto groups = fold_grid(launch.groups, device().profile.max_workgroup_count);
  if (!groups) return groups.error();
  dispatch.groups = *groups;
  const auto pipeline = pipelines_->get(source_of(launch));
  if (!pipeline) return pipeline.error();
  dispatch.pipeline = *pipeline;

  const InterfaceInfo& interface = launch.op->interface_of(*launch.kernel);
  for (const BindingInfo& binding : interface.bindings) {
    const auto resource = bind(work, launch, binding, scratch);
    if (!resource) return resource.error();
    dispatch.resources.push_back(*resource);
  }
  dispatch.push_constants = gather_block(interface.push_constants, interface.push_constants_bytes, launch.problem);
  if (!dispatch.is_empty()) dispatch.needs_barrier = dependencies_.needs_barrier(uses_of(dispatch.resources));
  state_->dispatches.push_back(std::move(dispatch));
  return std::monostate{};
}

// Every work starts at its beginning; the barriers see to it that they take turns.
Expected<std::vector<Region>> Recorder::place_scratch(const Work& work) {
  const Choice& choice = *work.choice;
  const auto most = static_cast<uint64_t>(device().profile.numbers.max_storage_buffer_bytes);
  std::vector<Region> pieces = scratch_of(choice);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].size <= most) continue;
    return Error{
        Error::Kind::unsupported,
        fmt::format("scratch '{}' of '{}' takes {} bytes, and a storage buffer of '{}' holds {}",
                    choice.recipe->scratch[i].name, choice.recipe->id, pieces[i].size, device().profile.name, most),
        "split the work, or choose another kernel"};
  }
  if (!work.scratch) scratch_bytes_ = std::max(scratch_bytes_, scratch_bytes(choice));
  else
    for (Region& piece : pieces) piece.offset += work.scratch->memory().offset;
  return pieces;
}

Expected<BoundResource> Recorder::bind(const Work& work, const Launch& launch, const BindingInfo& binding,
                                       std::span<const Region> scratch) {
  if (binding.operand == kProblemOperand) return bind_block(launch, binding);
  const OperandSource source = launch.operands[binding.operand];
  if (source.is_scratch) {
    const Region& region = scratch[source.index];
    const auto whose = work.scratch ? BoundResource::Source::tensor : BoundResource::Source::scratch;
    const VkBuffer buffer = work.scratch ? work.scratch->memory().buffer_handle() : VK_NULL_HANDLE;
    return BoundResource{whose, &binding, buffer, region.offset, region.size, {}};
  }
  if (source.index == kAbsent) return bind_absent(launch, binding);
  const DeviceTensor* tensor = work.operands[source.index];
  return tensor ? bind_tensor(*tensor, launch, binding) : bind_absent(launch, binding);
}

Expected<BoundResource> Recorder::bind_tensor(const DeviceTensor& tensor, const Launch& launch,
                                              const BindingInfo& binding) {
  const DeviceTensor::Memory& memory = tensor.memory();
  const OperandForm form = form_of(launch, binding);
  const OperandSource source = launch.operands[binding.operand];
  const Layout layout = source.seen_as == kAbsent ? memory.layout : static_cast<Layout>(source.seen_as);
  if (!takes(form, memory.dtype, memory.storage, layout)) {
    return Error{
        Error::Kind::invalid_argument,
        fmt::format("operand '{}' of kernel '{}' takes {}, and was given {}", launch.op->operands[binding.operand].name,
                    launch.kernel->id, describe_form(form), describe_form(memory.dtype, memory.storage, layout)),
        "choose with select(), which knows the operands"};
  }
  BoundResource resource;
  resource.binding = &binding;
  if (memory.storage == Storage::texture3d) {
    resource.view = memory.image.view();
    return resource;
  }
  resource.buffer = memory.buffer_handle();
  resource.offset = memory.offset;
  const auto limit = static_cast<uint64_t>(device().profile.numbers.max_storage_buffer_bytes);
  resource.range = std::min(memory.bound_bytes(), limit);
  return resource;
}

Expected<BoundResource> Recorder::bind_absent(const Launch& launch, const BindingInfo& binding) {
  const OperandInfo& operand = launch.op->operands[binding.operand];
  if (!operand.is_optional) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("operand '{}' of kernel '{}' is left out", operand.name, launch.kernel->id),
                 "only operands that the spec calls optional may be null"};
  }
  BoundResource resource;
  resource.binding = &binding;
  resource.source = BoundResource::Source::block;  // read only: nothing waits for it
  if (binding.kind == BindingKind::storage_image) {
    const auto image = absentees_->image(form_of(launch, binding).dtype);
    if (!image) return image.error();
    resource.view = (*image)->view();
    state_->kept.push_back(*image);
    return resource;
  }
  const auto buffer = absentees_->buffer();
  if (!buffer) return buffer.error();
  resource.buffer = (*buffer)->handle();
  state_->kept.push_back(*buffer);
  resource.range = kAbsentBytes;
  return resource;
}

BoundResource Recorder::bind_block(const Launch& launch, const BindingInfo& binding) {
  const InterfaceInfo& interface = launch.op->interface_of(*launch.kernel);
  const auto block = gather_block(interface.problem_buffer, interface.problem_buffer_bytes, launch.problem);
  const uint64_t offset = round_up(blocks_.size(), kTensorAlignment);
  blocks_.resize(offset);
  blocks_.insert(blocks_.end(), block.begin(), block.end());
  return {BoundResource::Source::block, &binding, VK_NULL_HANDLE, offset, block.size(), VK_NULL_HANDLE};
}

// ---- allocate, describe ---------------------------------------------------------------------------------------------

Done Recorder::allocate() {
  if (scratch_bytes_ > 0) {
    auto scratch = Buffer::make(allocator_, scratch_bytes_, BufferUse::device);
    if (!scratch) return scratch.error();
    state_->scratch = *std::move(scratch);
  }
  if (!blocks_.empty()) {
    auto blocks = Buffer::make(allocator_, blocks_.size(), BufferUse::block);
    if (!blocks) return blocks.error();
    std::copy(blocks_.begin(), blocks_.end(), blocks->mapped().begin());
    if (const VkResult flushed = blocks->flush(); flushed != VK_SUCCESS) {
      return vulkan::error_of(flushed, "flushing the problem blocks");
    }
    state_->blocks = *std::move(blocks);
  }
  for (Dispatch& dispatch : state_->dispatches) {
    for (BoundResource& resource : dispatch.resources) {
      if (resource.buffer || resource.view) continue;
      const bool is_scratch = resource.source == BoundResource::Source::scratch;
      resource.buffer = is_scratch ? state_->scratch.handle() : state_->blocks.handle();
    }
  }
  return std::monostate{};
}

Done Recorder::describe() {
  std::map<VkDescriptorType, uint32_t> counts;
  std::vector<VkDescriptorSetLayout> layouts;
  for (const Dispatch& dispatch : state_->dispatches) {
    layouts.push_back(dispatch.pipeline->set_layout);
    for (const BoundResource& resource : dispatch.resources) ++counts[descriptor_type_of(resource.binding->kind)];
  }
  if (layouts.empty()) return std::monostate{};

  std::vector<VkDescriptorPoolSize> sizes;
  for (const auto& [type, count] : counts) sizes.push_back({type, count});
  VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = static_cast<uint32_t>(layouts.size());
  pool.poolSizeCount = static_cast<uint32_t>(sizes.size());
  pool.pPoolSizes = sizes.data();
  VkResult result = device().vk.vkCreateDescriptorPool(device().device, &pool, nullptr, &state_->descriptors);
  if (result != VK_SUCCESS) return vulkan::error_of(result, "making a descriptor pool");

  VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorPool = state_->descriptors;
  info.descriptorSetCount = static_cast<uint32_t>(layouts.size());
  info.pSetLayouts = layouts.data();
  std::vector<VkDescriptorSet> sets(layouts.size());
  result = device().vk.vkAllocateDescriptorSets(device().device, &info, sets.data());
  if (result != VK_SUCCESS) return vulkan::error_of(result, "making descriptor sets");

  for (size_t i = 0; i < sets.size(); ++i) {
    Dispatch& dispatch = state_->dispatches[i];
    dispatch.set = sets[i];
    for (const BoundResource& resource : dispatch.resources) {
      const VkDescriptorBufferInfo buffer{resource.buffer, resource.offset, resource.range};
      const VkDescriptorImageInfo image{VK_NULL_HANDLE, resource.view, VK_IMAGE_LAYOUT_GENERAL};
      VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
      write.dstSet = dispatch.set;
      write.dstBinding = resource.binding->binding;
      write.descriptorCount = 1;
      write.descriptorType = descriptor_type_of(resource.binding->kind);
      write.pBufferInfo = &buffer;
      write.pImageInfo = &image;
      device().vk.vkUpdateDescriptorSets(device().device, 1, &write, 0, nullptr);
    }
  }
  return std::monostate{};
}

}  // namespace qgen::dispatch

uint64_t qgen::scratch_bytes(const Choice& choice) {
  const std::vector<dispatch::Region> pieces = dispatch::scratch_of(choice);
  return pieces.empty() ? 0 : pieces.back().offset + pieces.back().size;
}

// ---- encode, time ---------------------------------------------------------------------------------------------------

namespace qgen {
namespace {

void barrier_between_dispatches(const VolkDeviceTable& vk, VkCommandBuffer commands) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1,
                          &barrier, 0, nullptr, 0, nullptr);
}

void encode_dispatch(const VolkDeviceTable& vk, const dispatch::Dispatch& dispatch, VkCommandBuffer commands) {
  if (dispatch.is_empty()) return;
  if (dispatch.needs_barrier) barrier_between_dispatches(vk, commands);
  const dispatch::Pipeline& pipeline = *dispatch.pipeline;
  vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &dispatch.set, 0,
                             nullptr);
  if (!dispatch.push_constants.empty()) {
    vk.vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<uint32_t>(dispatch.push_constants.size()), dispatch.push_constants.data());
  }
  vk.vkCmdDispatch(commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
}

}  // namespace

void Recording::State::encode(VkCommandBuffer to) const {
  for (const dispatch::Dispatch& dispatch : dispatches) encode_dispatch(device().vk, dispatch, to);
}

void Recording::State::encode_timed(VkCommandBuffer to) const {
  uint32_t written = 0;
  const auto timestamp = [&] { timestamps->write(to, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, written++); };
  timestamps->reset(to);
  timestamp();
  for (size_t i = 0; i < dispatches.size(); ++i) {
    encode_dispatch(device().vk, dispatches[i], to);
    if ((i + 1) % timed_chain == 0 || i + 1 == dispatches.size()) timestamp();
  }
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
  const Done recorded = submission->record(*made, false, [this](VkCommandBuffer to) { encode_timed(to); });
  if (!recorded) timed_chain = 0;
  return recorded;
}

Expected<Timing> Recording::State::read_timing() const {
  const auto intervals = timestamps->intervals_us();
  if (!intervals) return intervals.error();
  return Timing{std::reduce(intervals->begin(), intervals->end()), *intervals};
}

Recording::State::~State() {
  submission->free_commands(timed_commands);
  submission->free_commands(commands);
  if (descriptors) device().vk.vkDestroyDescriptorPool(device().device, descriptors, nullptr);
}

}  // namespace qgen
