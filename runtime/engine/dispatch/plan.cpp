// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/engine/dispatch/blocks.h"
#include "runtime/engine/dispatch/device_tensor.h"
#include "runtime/engine/dispatch/grid.h"
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
  if (resource.view) return {resource.memory->image.handle(), 0, 1};
  // Scratch may have no buffer yet, and is one object: the null handle stands for it.
  return {resource.buffer, resource.offset, resource.range};
}

// The offsets of a choice's scratch buffers, which are consecutive. Sizes are rounded up to 16, like tensor sizes, and
// saturate.
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

uint64_t end_of(std::span<const Region> pieces) {
  return pieces.empty() ? 0 : pieces.back().offset + pieces.back().size;
}

Done check_scratch(const Choice& choice, std::span<const Region> pieces, const DeviceProfile& device) {
  const auto most = static_cast<uint64_t>(device.numbers.max_storage_buffer_bytes);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].size <= most) continue;
    return Error{Error::Kind::unsupported,
                 fmt::format("'{}' needs scratch '{}' of {} bytes, and '{}' binds at most {} at once",
                             choice.recipe->id, choice.recipe->scratch[i].name, pieces[i].size, device.name, most),
                 "choose another kernel, or run a smaller problem"};
  }
  return std::monostate{};
}

// ---- plan -----------------------------------------------------------------------------------------------------------

BoundResource plan_block(const Launch& launch, const BindingInfo& binding, std::vector<std::byte>& blocks) {
  const InterfaceInfo& interface = launch.op->interface_of(*launch.kernel);
  const auto block = gather_block(interface.problem_buffer, interface.problem_buffer_bytes, launch.problem);
  const uint64_t offset = round_up(blocks.size(), kTensorAlignment);
  blocks.resize(offset);
  blocks.insert(blocks.end(), block.begin(), block.end());
  return {BoundResource::Source::block, &binding, nullptr, VK_NULL_HANDLE, offset, block.size(), VK_NULL_HANDLE};
}

BoundResource plan_resource(const Launch& launch, const BindingInfo& binding, std::vector<std::byte>& blocks) {
  if (binding.operand == kProblemOperand) return plan_block(launch, binding, blocks);
  BoundResource resource;
  resource.binding = &binding;
  const OperandSource source = launch.operands[binding.operand];
  if (source.is_scratch) resource.source = BoundResource::Source::scratch;
  else if (source.index == kAbsent) resource.source = BoundResource::Source::absent;
  return resource;
}

Expected<Dispatch> plan(const Launch& launch, Pipelines& pipelines, std::vector<std::byte>& blocks) {
  Dispatch dispatch;
  dispatch.launch = &launch;
  const auto groups = fold_grid(launch.groups, pipelines.device().profile.max_workgroup_count);
  if (!groups) return groups.error();
  dispatch.groups = *groups;
  dispatch.indirect_scratch = launch.indirect;
  auto pipeline = pipelines.get(source_of(launch));
  if (!pipeline) return pipeline.error();
  dispatch.pipeline = *std::move(pipeline);
  const InterfaceInfo& interface = launch.op->interface_of(*launch.kernel);
  if (interface.bindings.size() > kMostBindings) {
    return Error{Error::Kind::unsupported,
                 fmt::format("kernel '{}' binds {} resources, and qgen binds {} at most", launch.kernel->id,
                             interface.bindings.size(), kMostBindings),
                 "choose another kernel"};
  }
  for (const BindingInfo& binding : interface.bindings)
    dispatch.resources.push_back(plan_resource(launch, binding, blocks));
  dispatch.push_constants = gather_block(interface.push_constants, interface.push_constants_bytes, launch.problem);
  return dispatch;
}

}  // namespace

Expected<Plan> plan(const Choice& choice, Pipelines& pipelines, std::vector<std::byte>& blocks) {
  Plan made;
  made.scratch = scratch_of(choice);
  made.scratch_bytes = end_of(made.scratch);
  if (const Done held = check_scratch(choice, made.scratch, pipelines.device().profile); !held) return held.error();
  for (const Launch& launch : choice.launches) {
    auto dispatch = plan(launch, pipelines, blocks);
    if (!dispatch) return dispatch.error();
    made.dispatches.push_back(*std::move(dispatch));
  }
  return made;
}

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
    if (const Done ready = initialize_(*made); !ready) return ready.error();
    image = std::make_shared<Image>(*std::move(made));
  }
  return image;
}

// ---- bind -----------------------------------------------------------------------------------------------------------

namespace {

Done bind_absent(BoundResource& resource, const Launch& launch, Absentees& absentees,
                 std::vector<std::shared_ptr<const void>>& kept) {
  const OperandInfo& operand = launch.op->operands[resource.binding->operand];
  if (!operand.is_optional) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("operand '{}' of kernel '{}' is left out", operand.name, launch.kernel->id),
                 "only operands that the spec calls optional may be null"};
  }
  resource.source = BoundResource::Source::absent;  // read only: nothing waits for it
  if (resource.binding->kind == BindingKind::storage_image) {
    const auto image = absentees.image(form_of(launch, *resource.binding).dtype);
    if (!image) return image.error();
    resource.view = (*image)->view();
    kept.push_back(*image);
    return std::monostate{};
  }
  const auto buffer = absentees.buffer();
  if (!buffer) return buffer.error();
  resource.buffer = (*buffer)->handle();
  kept.push_back(*buffer);
  resource.range = kAbsentBytes;
  return std::monostate{};
}

Done check_form(const DeviceTensor::Memory& memory, const Launch& launch, const BindingInfo& binding) {
  const OperandForm form = form_of(launch, binding);
  const OperandSource source = launch.operands[binding.operand];
  const Layout layout = source.seen_as == kAbsent ? memory.layout : static_cast<Layout>(source.seen_as);
  if (takes(form, memory.dtype, memory.storage, layout)) return std::monostate{};
  return Error{
      Error::Kind::invalid_argument,
      fmt::format("operand '{}' of kernel '{}' takes {}, and was given {}", launch.op->operands[binding.operand].name,
                  launch.kernel->id, describe_form(form), describe_form(memory.dtype, memory.storage, layout)),
      "choose with select(), which knows the operands"};
}

}  // namespace

void Operands::put_scratch(const DeviceTensor::Memory& memory, uint64_t offset) {
  scratch = memory.buffer_handle();
  scratch_offset = memory.offset + offset;
  may_be_indirect = memory.may_be_indirect();
}

void bind_memory(BoundResource& resource, const DeviceTensor::Memory& memory, uint64_t most_bytes) {
  resource.source = BoundResource::Source::tensor;
  resource.memory = &memory;
  if (memory.storage == Storage::texture3d) {
    resource.view = memory.image.view();
    return;
  }
  resource.buffer = memory.buffer_handle();
  resource.offset = memory.offset;
  resource.range = std::min(memory.bound_bytes(), most_bytes);
}

Done bind_operands(Dispatch& dispatch, const Operands& operands, std::span<const Region> scratch,
                   const Device::Handles& device, Absentees& absentees,
                   std::vector<std::shared_ptr<const void>>& kept) {
  const Launch& launch = *dispatch.launch;
  dispatch.indirect.reset();
  if (dispatch.indirect_scratch != kAbsent && operands.may_be_indirect) {
    const Region& piece = scratch[dispatch.indirect_scratch];
    dispatch.indirect = IndirectCount{operands.scratch, piece.offset + operands.scratch_offset, piece.size};
  }
  const auto most_bytes = static_cast<uint64_t>(device.profile.numbers.max_storage_buffer_bytes);
  for (BoundResource& resource : dispatch.resources) {
    if (resource.source == BoundResource::Source::block) continue;
    const OperandSource source = launch.operands[resource.binding->operand];
    if (source.is_scratch) {
      const Region& piece = scratch[source.index];
      resource.buffer = operands.scratch;
      resource.offset = piece.offset + operands.scratch_offset;
      resource.range = piece.size;
      continue;
    }
    const DeviceTensor* tensor = source.index == kAbsent ? nullptr : operands.tensors[source.index];
    if (!tensor) {
      if (const Done bound = bind_absent(resource, launch, absentees, kept); !bound) return bound.error();
      continue;
    }
    const DeviceTensor::Memory& memory = tensor->memory();
    if (const Done fits = check_form(memory, launch, *resource.binding); !fits) return fits.error();
    if (memory.storage == Storage::buffer && memory.stored_bytes > most_bytes)
      return check_buffer(device.profile, memory.dtype, memory.shape, memory.layout).error();
    bind_memory(resource, memory, most_bytes);
  }
  find_uses(dispatch);
  return std::monostate{};
}

void find_uses(Dispatch& dispatch) {
  dispatch.uses.clear();
  for (const BoundResource& resource : dispatch.resources) {
    // Blocks are written by the host alone, and from stand-ins nothing is read.
    const bool is_used =
        resource.source == BoundResource::Source::tensor || resource.source == BoundResource::Source::scratch;
    if (is_used) dispatch.uses.push_back({region_of(resource), resource.binding->access});
  }
  if (const auto& count = dispatch.indirect)
    dispatch.uses.push_back({{count->buffer, count->offset, count->size}, Access::read, true});
}

// ---- commands -------------------------------------------------------------------------------------------------------

DescriptorWrites::DescriptorWrites(const Dispatch& dispatch, VkDescriptorSet set) {
  for (const BoundResource& resource : dispatch.resources) {
    VkWriteDescriptorSet& write = writes[count];
    write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = set;
    write.dstBinding = resource.binding->binding;
    write.descriptorCount = 1;
    write.descriptorType = descriptor_type_of(resource.binding->kind, dispatch.pipeline->device->profile);
    if (resource.view) {
      images[count] = {VK_NULL_HANDLE, resource.view, VK_IMAGE_LAYOUT_GENERAL};
      write.pImageInfo = &images[count];
    } else {
      buffers[count] = {resource.buffer, resource.offset, resource.range};
      write.pBufferInfo = &buffers[count];
    }
    ++count;
  }
}

void put_barrier(Barrier wanted, const vulkan::DeviceFunctions& vk, VkCommandBuffer commands) {
  if (wanted == Barrier::none) return;
  VkPipelineStageFlags readers = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  if (wanted == Barrier::shaders_and_indirect) {
    readers |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
    barrier.dstAccessMask |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
  }
  vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, readers, 0, 1, &barrier, 0, nullptr, 0,
                          nullptr);
}

void encode(const Dispatch& dispatch, VkDescriptorSet set, const vulkan::DeviceFunctions& vk,
            VkCommandBuffer commands) {
  const Pipeline& pipeline = *dispatch.pipeline;
  vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  if (set) {
    vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
  } else if (!dispatch.resources.empty()) {
    const DescriptorWrites pushed(dispatch, VK_NULL_HANDLE);
    vk.vkCmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, pushed.count,
                                 pushed.writes.data());
  }
  if (!dispatch.push_constants.empty()) {
    vk.vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                          static_cast<uint32_t>(dispatch.push_constants.size()), dispatch.push_constants.data());
  }
  if (dispatch.indirect) {
    vk.vkCmdDispatchIndirect(commands, dispatch.indirect->buffer, dispatch.indirect->offset);
  } else {
    vk.vkCmdDispatch(commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
  }
}

}  // namespace qgen::dispatch

uint64_t qgen::scratch_bytes(const Choice& choice) { return dispatch::end_of(dispatch::scratch_of(choice)); }
