// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/dispatch/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/engine/dispatch/commands.h"
#include "runtime/engine/dispatch/device_tensor.h"
#include "runtime/engine/dispatch/pipelines.h"
#include "runtime/engine/dispatch/recorder.h"
#include "runtime/engine/dispatch/submission.h"
#include "runtime/engine/dispatch/texels.h"
#include "runtime/engine/dispatch/timestamps.h"
#include "runtime/engine/dispatch/transfers.h"
#include "runtime/engine/tensor/packed_layout.h"
#include "runtime/engine/tensor/weight_form.h"

namespace qgen {
namespace {

// No sum or product of it with itself is zero, no float that it spells is a round number.
constexpr uint32_t kGuardWord = 0x5ac3a53c;

constexpr uint64_t kBufferGranule = 16;  // a vec4 of 32-bit words

uint64_t dense_bytes_of(DType dtype, const Shape& shape) {
  return static_cast<uint64_t>(element_count(shape) * bytes(dtype));  // check_shape() keeps this below 2^63
}

uint64_t stored_bytes_of(DType dtype, const Shape& shape, const LayoutInfo& layout) {
  if (layout.is_weight) return static_cast<uint64_t>(packed_bytes(*find_weight_form(layout.layout), shape));
  if (!layout.is_packed_bytes()) return dense_bytes_of(dtype, shape);
  return static_cast<uint64_t>(packed_layout(shape, layout.dims).elements());
}

// Empty tensors too take memory: Vulkan binds no empty range.
uint64_t in_granules(uint64_t stored_bytes) {
  return std::max<uint64_t>(1, (stored_bytes + kBufferGranule - 1) / kBufferGranule) * kBufferGranule;
}

}  // namespace

uint64_t buffer_bytes(DType dtype, const Shape& shape, Layout layout) {
  return in_granules(stored_bytes_of(dtype, shape, info(layout)));
}

Done check_buffer(const DeviceProfile& device, DType dtype, const Shape& shape, Layout layout_of_tensor) {
  const auto limit = static_cast<uint64_t>(device.numbers.max_storage_buffer_bytes);
  const auto refuse = [&](std::string_view why, std::string hint) {
    return Error{Error::Kind::unsupported, fmt::format("a buffer of {} {} {}", name(dtype), to_text(shape), why),
                 std::move(hint)};
  };
  const LayoutInfo& layout = info(layout_of_tensor);
  if (layout.storage != Storage::buffer)
    return refuse(fmt::format("cannot have the layout {}", layout.name), "it is a layout of textures");
  if (layout.is_packed_bytes() && bytes(dtype) != 1)
    return refuse(fmt::format("cannot have the layout {}", layout.name), "it packs bytes: tensors of i8 or u8");
  if (layout.is_weight) {
    if (const Done matrix = check_weight(dtype, shape); !matrix) return matrix.error();
  }
  const uint64_t stored = stored_bytes_of(dtype, shape, layout);
  if (stored <= limit) return std::monostate{};
  return refuse(fmt::format("takes {} bytes, and '{}' binds at most {} at once", stored, device.name, limit),
                "split the tensor");
}

bool dispatch::share_memory(const DeviceTensor::Memory& a, const DeviceTensor::Memory& b) {
  if (&a == &b) return true;
  if (a.storage != b.storage) return false;
  if (a.storage == Storage::texture3d) return a.image.handle() == b.image.handle();
  return a.buffer_handle() == b.buffer_handle() && a.offset < b.offset + b.tensor_bytes &&
         b.offset < a.offset + a.tensor_bytes;
}

bool dispatch::are_same_memory(const DeviceTensor::Memory& a, const DeviceTensor::Memory& b) {
  return share_memory(a, b) && a.offset == b.offset && a.tensor_bytes == b.tensor_bytes;
}

// ---- tensors and recordings -----------------------------------------------------------------------------------------

const DeviceTensor::Memory& DeviceTensor::memory() const {
  static const Memory kNone;
  return memory_ ? *memory_ : kNone;
}
DType DeviceTensor::dtype() const { return memory().dtype; }
const Shape& DeviceTensor::shape() const { return memory().shape; }
Storage DeviceTensor::storage() const { return memory().storage; }
Layout DeviceTensor::layout() const { return memory().layout; }
LentBuffer DeviceTensor::place() const {
  if (!memory_ || memory_->storage != Storage::buffer) return {};
  return {memory_->buffer_handle(), memory_->offset, memory_->tensor_bytes};
}
OperandDesc DeviceTensor::desc() const { return {dtype(), storage(), layout(), true, 0, shape()}; }
DeviceTensor::DeviceTensor(std::shared_ptr<const Memory> memory) : memory_(std::move(memory)) {}
DeviceTensor::DeviceTensor(DeviceTensor&&) noexcept = default;
DeviceTensor& DeviceTensor::operator=(DeviceTensor&&) noexcept = default;
DeviceTensor::~DeviceTensor() = default;

Recording::Recording(std::shared_ptr<State> state) : state_(std::move(state)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

Done dispatch::check_is_from(const Allocator& allocator, const DeviceTensor::Memory& memory) {
  if (memory.allocator.get() == &allocator) return std::monostate{};
  if (!memory.allocator) return moved_from("tensor");
  return Error{Error::Kind::invalid_argument,
               fmt::format("a tensor of {} {} belongs to another executor", name(memory.dtype), to_text(memory.shape)),
               "copy it through host memory"};
}

std::shared_ptr<DeviceTensor::Memory> dispatch::described(const SharedAllocator& allocator, DType dtype,
                                                          const Shape& shape, Storage storage, Layout layout) {
  auto memory = std::make_shared<DeviceTensor::Memory>();
  memory->allocator = allocator;
  memory->dtype = dtype;
  memory->shape = shape;
  memory->storage = storage;
  memory->layout = layout;
  memory->dense_bytes = dense_bytes_of(dtype, shape);
  return memory;
}

namespace {

// No kernel binds an arena as a whole, but the tensors in it: plan.cpp refuses a vector of bytes that is too long for one.
bool may_be_arena(const DeviceTensor::Memory& memory) {
  return memory.dtype == DType::u8 && memory.shape.size() == 1 && memory.layout == Layout::strided;
}

}  // namespace

Done dispatch::size_buffer(DeviceTensor::Memory& memory) {
  if (!may_be_arena(memory)) {
    const DeviceProfile& device = memory.allocator->device().profile;
    if (const Done held = check_buffer(device, memory.dtype, memory.shape, memory.layout); !held) return held;
  }
  memory.stored_bytes = stored_bytes_of(memory.dtype, memory.shape, info(memory.layout));
  memory.tensor_bytes = in_granules(memory.stored_bytes);
  return std::monostate{};
}

Expected<DeviceTensor> dispatch::place(const DeviceTensor& arena, uint64_t offset, DType dtype, const Shape& shape,
                                       Layout layout) {
  if (const Done sane = check_shape(shape); !sane) return sane.error();
  if (arena.storage() != Storage::buffer || arena.memory().arena)
    return refused("an arena must be a tensor that does not lie in another arena");
  auto memory = described(arena.memory().allocator, dtype, shape, Storage::buffer, layout);
  if (const Done sized = size_buffer(*memory); !sized) return sized.error();
  const uint64_t available = arena.memory().tensor_bytes;
  if (offset % kTensorAlignment != 0 || offset > available || memory->tensor_bytes > available - offset) {
    return refused(fmt::format("{} {} takes {} bytes, which do not fit at offset {} of an arena of {} bytes",
                               name(dtype), to_text(shape), memory->tensor_bytes, offset, available),
                   fmt::format("offsets are multiples of {}", kTensorAlignment));
  }
  memory->arena = arena.shared_memory();
  memory->offset = arena.memory().offset + offset;
  return DeviceTensor(std::move(memory));
}

// ---- the executor ---------------------------------------------------------------------------------------------------

struct Executor::State {
  State(std::shared_ptr<const Device::Handles> owner, const KernelLibrary& library, const ExecutorOptions& wanted,
        dispatch::SharedAllocator memory)
      : State(wanted, std::move(memory), std::make_shared<dispatch::Pipelines>(owner, library, wanted)) {}
  State(const ExecutorOptions& wanted, dispatch::SharedAllocator memory, std::shared_ptr<dispatch::Pipelines> kept)
      : options(wanted),
        allocator(std::move(memory)),
        submission(std::make_shared<dispatch::Submission>(allocator->shared_device(), wanted.timeout_ms)),
        transfers(allocator, *submission),
        pipelines(std::move(kept)),
        absentees(allocator, [this](const dispatch::Image& image) { return transfers.initialize(image); }) {}

  // Recordings and tensors keep the shared parts when this is gone.
  ExecutorOptions options;
  dispatch::SharedAllocator allocator;
  std::shared_ptr<dispatch::Submission> submission;
  dispatch::Transfers transfers;
  std::shared_ptr<dispatch::Pipelines> pipelines;
  dispatch::Absentees absentees;

  Done init() {
    if (const Done made = submission->init(); !made) return made.error();
    return pipelines->init();
  }

  ~State() {
    submission->settle();
    // Destructors have nobody to tell; the next run makes its pipelines anew.
    if (pipelines->has_unsaved_pipelines()) (void)pipelines->save_cache();
  }

  const DeviceProfile& profile() const { return allocator->device().profile; }
  uint64_t guard_bytes() const { return (uint64_t{options.guard_bytes} + 3) / 4 * 4; }

  Done make_buffer(DeviceTensor::Memory& memory);
  Done make_image(DeviceTensor::Memory& memory);
  Done write_bytes(const DeviceTensor::Memory& memory, std::span<const std::byte> stored);
  Done read_bytes(const DeviceTensor::Memory& memory, std::span<std::byte> stored);
};

Done Executor::check_is_ours(const DeviceTensor& tensor) const {
  if (!state_) return moved_from("executor");
  return dispatch::check_is_from(*state_->allocator, tensor.memory());
}

Done Executor::check_is_ours(Recording& recording) const {
  if (!state_) return moved_from("executor");
  if (!recording.state()) return moved_from("recording");
  if (recording.state()->submission == state_->submission) return std::monostate{};
  return refused("the recording belongs to another executor", "record() it here");
}

Done Executor::State::make_buffer(DeviceTensor::Memory& memory) {
  if (const Done sized = dispatch::size_buffer(memory); !sized) return sized;
  auto buffer = dispatch::Buffer::make(allocator, memory.tensor_bytes + guard_bytes(), dispatch::BufferUse::device);
  if (!buffer) return buffer.error();
  memory.buffer = *std::move(buffer);
  if (guard_bytes() == 0) return std::monostate{};
  return transfers.fill_buffer(memory.buffer.handle(), memory.tensor_bytes, guard_bytes(), kGuardWord);
}

Done Executor::State::make_image(DeviceTensor::Memory& memory) {
  const auto extent = dispatch::texture_extent(memory.dtype, memory.shape, memory.layout);
  if (!extent) return extent.error();
  auto image = dispatch::Image::make(allocator, memory.dtype, *extent);
  if (!image) return image.error();
  memory.image = *std::move(image);
  return transfers.initialize(memory.image);
}

// Writes the tensor's bytes in its layout, zero in the rounding after them.
Done Executor::State::write_bytes(const DeviceTensor::Memory& memory, std::span<const std::byte> stored) {
  const auto fill = [&](std::span<std::byte> piece, uint64_t offset) {
    const uint64_t count = std::min<uint64_t>(piece.size(), stored.size() - std::min<uint64_t>(offset, stored.size()));
    if (count > 0) std::memcpy(piece.data(), stored.data() + offset, count);
    std::fill(piece.begin() + static_cast<ptrdiff_t>(count), piece.end(), std::byte{0});
  };
  return transfers.to_buffer(memory.buffer_handle(), memory.offset, memory.tensor_bytes, fill);
}

Done Executor::State::read_bytes(const DeviceTensor::Memory& memory, std::span<std::byte> stored) {
  const auto drain = [&](std::span<const std::byte> piece, uint64_t offset) {
    const uint64_t rest = stored.size() - std::min<uint64_t>(offset, stored.size());
    const uint64_t count = std::min<uint64_t>(piece.size(), rest);
    if (count > 0) std::memcpy(stored.data() + offset, piece.data(), count);
  };
  return transfers.from_buffer(memory.buffer_handle(), memory.offset, memory.tensor_bytes, drain);
}

namespace {

Done check_lent(const Device::Handles& owner, const LentBuffer& lent, const DeviceTensor::Memory& memory) {
  if (!lent.buffer) return refused("the lent buffer is null");
  const DeviceProfile& device = owner.profile;
  if (lent.offset % device.storage_buffer_alignment_bytes != 0) {
    return refused(fmt::format("the lent buffer's offset is {}, and '{}' binds buffers from multiples of {} on",
                               lent.offset, device.name, device.storage_buffer_alignment_bytes));
  }
  if (memory.tensor_bytes > lent.bytes) {
    return refused(fmt::format("{} {} takes {} bytes as {}, and the lent buffer has {}", name(memory.dtype),
                               to_text(memory.shape), memory.tensor_bytes, name(memory.layout), lent.bytes),
                   "kernels write whole 16 bytes, so a tensor takes a multiple of 16");
  }
  // A buffer does not tell its size. Its memory may be larger, but not smaller.
  VkMemoryRequirements needs{};
  owner.vk.vkGetBufferMemoryRequirements(owner.device, lent.buffer, &needs);
  if (lent.offset <= needs.size && lent.bytes <= needs.size - lent.offset) return std::monostate{};
  return refused(fmt::format("{} bytes at offset {} were lent, and the buffer's memory has {} bytes", lent.bytes,
                             lent.offset, needs.size));
}

}  // namespace

Expected<Executor> Executor::create(const Device& device, const KernelLibrary& library,
                                    const ExecutorOptions& options) {
  if (!device.handles()) return moved_from("device");
  auto allocator = dispatch::Allocator::create(device.handles(), options.memory);
  if (!allocator) return allocator.error();
  auto state = std::make_unique<State>(device.handles(), library, options, *std::move(allocator));
  if (const Done made = state->init(); !made) return made.error();
  return Executor(std::move(state));
}

Expected<Executor> Executor::create_beside(const Executor& other) {
  if (!other.state_) return moved_from("executor");
  const State& shared = *other.state_;
  auto state = std::make_unique<State>(shared.options, shared.allocator, shared.pipelines);
  if (const Done made = state->submission->init(); !made) return made.error();
  return Executor(std::move(state));
}

const ExecutorOptions& Executor::options() const {
  static const ExecutorOptions defaults;
  return state_ ? state_->options : defaults;
}

Expected<DeviceTensor> Executor::allocate(DType dtype, const Shape& shape, Storage storage, Layout layout) {
  if (!state_) return moved_from("executor");
  if (const Done sane = check_shape(shape); !sane) return sane.error();
  auto memory = dispatch::described(state_->allocator, dtype, shape, storage, layout);
  const Done made = storage == Storage::buffer ? state_->make_buffer(*memory) : state_->make_image(*memory);
  if (!made) return made.error();
  return DeviceTensor(std::move(memory));
}

Expected<DeviceTensor> Executor::place(const DeviceTensor& arena, uint64_t offset, DType dtype, const Shape& shape,
                                       Layout layout) {
  if (const Done ours = check_is_ours(arena); !ours) return ours.error();
  return dispatch::place(arena, offset, dtype, shape, layout);
}

Expected<DeviceTensor> Executor::wrap(const LentBuffer& lent, DType dtype, const Shape& shape, Layout layout) {
  if (!state_) return moved_from("executor");
  if (const Done sane = check_shape(shape); !sane) return sane.error();
  auto memory = dispatch::described(state_->allocator, dtype, shape, Storage::buffer, layout);
  if (const Done sized = dispatch::size_buffer(*memory); !sized) return sized.error();
  if (const Done fits = check_lent(state_->allocator->device(), lent, *memory); !fits) return fits.error();
  memory->buffer = dispatch::Buffer::lent(state_->allocator, lent.buffer, lent.offset + lent.bytes);
  memory->is_lent = true;
  memory->offset = lent.offset;
  return DeviceTensor(std::move(memory));
}

Expected<DeviceTensor> Executor::wrap(const LentImage& lent, DType dtype, const Shape& shape, Layout layout) {
  if (!state_) return moved_from("executor");
  if (!lent.image) return refused("LentImage::image is null");
  if (const Done sane = check_shape(shape); !sane) return sane.error();
  const auto extent = dispatch::texture_extent(dtype, shape, layout);
  if (!extent) return extent.error();
  auto image = dispatch::Image::lent(state_->allocator, lent, dtype, *extent);
  if (!image) return image.error();
  auto memory = dispatch::described(state_->allocator, dtype, shape, Storage::texture3d, layout);
  memory->image = *std::move(image);
  memory->is_lent = true;
  return DeviceTensor(std::move(memory));
}

Expected<DeviceTensor> Executor::view(const DeviceTensor& tensor, DType dtype, const Shape& shape, Layout layout) {
  if (const Done ours = check_is_ours(tensor); !ours) return ours.error();
  if (const Done sane = check_shape(shape); !sane) return sane.error();
  const DeviceTensor::Memory& whole = tensor.memory();
  if (whole.storage != Storage::buffer) return refused("a texture cannot be viewed as another tensor");
  auto memory = dispatch::described(state_->allocator, dtype, shape, Storage::buffer, layout);
  if (const Done sized = dispatch::size_buffer(*memory); !sized) return sized.error();
  if (memory->tensor_bytes > whole.tensor_bytes) {
    return refused(fmt::format("{} {} takes {} bytes, and the tensor has {}", name(dtype), to_text(shape),
                               memory->tensor_bytes, whole.tensor_bytes));
  }
  memory->arena = whole.arena ? whole.arena : tensor.shared_memory();
  memory->offset = whole.offset;
  return DeviceTensor(std::move(memory));
}

Expected<DeviceTensor> Executor::upload(const HostTensor& tensor, Storage storage, Layout layout) {
  if (const Done whole = check_host_tensor(tensor); !whole) return whole.error();
  auto result = allocate(tensor.dtype, tensor.shape, storage, layout);
  if (!result) return result.error();
  if (const Done written = write(*result, tensor); !written) return written.error();
  return result;
}

Done Executor::write(const DeviceTensor& to, const HostTensor& from) {
  if (const Done ours = check_is_ours(to); !ours) return ours.error();
  const DeviceTensor::Memory& memory = to.memory();
  if (from.dtype != memory.dtype || from.shape != memory.shape) {
    return Error{Error::Kind::invalid_argument,
                 fmt::format("{} {} cannot be written to a tensor of {} {}", name(from.dtype), to_text(from.shape),
                             name(memory.dtype), to_text(memory.shape)),
                 ""};
  }
  if (const Done whole = check_host_tensor(from); !whole) return whole.error();
  if (memory.storage == Storage::buffer) {
    if (memory.layout == Layout::strided) return state_->write_bytes(memory, from.data);
    if (const WeightForm* form = find_weight_form(memory.layout)) {
      const auto weight = pack_weight(*form, from);
      return weight ? state_->write_bytes(memory, *weight) : Done(weight.error());
    }
    auto packed = dispatch::host_bytes(memory.stored_bytes);
    if (!packed) return packed.error();
    pack_elements(from, info(memory.layout).dims, *packed);
    return state_->write_bytes(memory, *packed);
  }

  const dispatch::Extent& extent = memory.image.extent();
  auto texels = dispatch::host_bytes(extent[0] * extent[1] * extent[2] * memory.texel_bytes());
  if (!texels) return texels.error();
  dispatch::pack_texels(from, memory.layout, *texels);
  return state_->transfers.to_image(memory.image, memory.texel_bytes(), [&](std::span<std::byte> piece, uint64_t at) {
    std::memcpy(piece.data(), texels->data() + at, piece.size());
  });
}

Expected<HostTensor> Executor::download(const DeviceTensor& tensor) {
  if (const Done ours = check_is_ours(tensor); !ours) return ours.error();
  const DeviceTensor::Memory& memory = tensor.memory();
  if (memory.storage == Storage::buffer) {
    auto stored = download_stored(tensor);
    if (!stored) return stored.error();
    return unpacked(memory.dtype, memory.shape, memory.layout, *std::move(stored));
  }
  auto data = dispatch::host_bytes(memory.dense_bytes);
  if (!data) return data.error();
  HostTensor result{memory.dtype, memory.shape, *std::move(data)};
  const dispatch::Extent& extent = memory.image.extent();
  auto texels = dispatch::host_bytes(extent[0] * extent[1] * extent[2] * memory.texel_bytes());
  if (!texels) return texels.error();
  const auto drain = [&](std::span<const std::byte> piece, uint64_t offset) {
    std::memcpy(texels->data() + offset, piece.data(), piece.size());
  };
  const Done read = state_->transfers.from_image(memory.image, memory.texel_bytes(), drain);
  if (!read) return read.error();
  dispatch::unpack_texels(*texels, memory.layout, result);
  return result;
}

Expected<HostTensor> unpacked(DType dtype, const Shape& shape, Layout layout, std::vector<std::byte> stored) {
  if (layout == Layout::strided) return HostTensor{dtype, shape, std::move(stored)};
  if (const WeightForm* form = find_weight_form(layout)) return unpack_weight(*form, shape, stored);
  auto data = dispatch::host_bytes(dense_bytes_of(dtype, shape));
  if (!data) return data.error();
  HostTensor result{dtype, shape, *std::move(data)};
  unpack_elements(stored, info(layout).dims, result);
  return result;
}

namespace {

Done check_is_buffer(const DeviceTensor::Memory& memory) {
  if (memory.storage == Storage::buffer) return std::monostate{};
  return Error{Error::Kind::invalid_argument, "the bytes of a texture have no defined order", "download() the tensor"};
}

}  // namespace

Expected<bool> Executor::holds(const DeviceTensor& tensor, std::span<const std::byte> stored) {
  if (const Done ours = check_is_ours(tensor); !ours) return ours.error();
  const DeviceTensor::Memory& memory = tensor.memory();
  if (const Done buffer = check_is_buffer(memory); !buffer) return buffer.error();
  if (stored.size() != memory.stored_bytes) return false;
  bool is_same = true;
  const auto compare = [&](std::span<const std::byte> piece, uint64_t offset) {
    const uint64_t count = std::min<uint64_t>(piece.size(), stored.size() - std::min<uint64_t>(offset, stored.size()));
    is_same = is_same && (count == 0 || std::memcmp(stored.data() + offset, piece.data(), count) == 0);
  };
  const Done read = state_->transfers.from_buffer(memory.buffer_handle(), memory.offset, memory.tensor_bytes, compare);
  if (!read) return read.error();
  return is_same;
}

Expected<std::vector<std::byte>> Executor::download_stored(const DeviceTensor& tensor) {
  if (const Done ours = check_is_ours(tensor); !ours) return ours.error();
  const DeviceTensor::Memory& memory = tensor.memory();
  if (const Done buffer = check_is_buffer(memory); !buffer) return buffer.error();
  auto stored = dispatch::host_bytes(memory.stored_bytes);
  if (!stored) return stored.error();
  if (const Done read = state_->read_bytes(memory, *stored); !read) return read.error();
  return stored;
}

Done Executor::write_stored(const DeviceTensor& to, std::span<const std::byte> from) {
  if (const Done ours = check_is_ours(to); !ours) return ours.error();
  const DeviceTensor::Memory& memory = to.memory();
  if (memory.storage == Storage::buffer && from.size() == memory.stored_bytes) return state_->write_bytes(memory, from);
  return Error{Error::Kind::invalid_argument,
               fmt::format("{} bytes cannot be copied to a {} {} of {} bytes", from.size(), name(memory.layout),
                           name(memory.storage), memory.stored_bytes),
               ""};
}

Done Executor::fill(const DeviceTensor& tensor, uint8_t byte) {
  if (const Done ours = check_is_ours(tensor); !ours) return ours.error();
  const DeviceTensor::Memory& memory = tensor.memory();
  if (memory.storage == Storage::buffer) {
    return state_->transfers.fill_buffer(memory.buffer_handle(), memory.offset, memory.tensor_bytes,
                                         byte * 0x01010101u);
  }
  return state_->transfers.to_image(memory.image, memory.texel_bytes(), [&](std::span<std::byte> piece, uint64_t) {
    std::memset(piece.data(), byte, piece.size());
  });
}

Expected<bool> Executor::guards_are_intact(const DeviceTensor& tensor) {
  if (const Done ours = check_is_ours(tensor); !ours) return ours.error();
  const DeviceTensor::Memory& memory = tensor.memory();
  if (memory.storage != Storage::buffer || memory.arena || memory.is_lent || state_->guard_bytes() == 0) return true;
  bool is_intact = true;
  const auto check = [&](std::span<const std::byte> piece, uint64_t) {
    for (size_t i = 0; i < piece.size(); i += sizeof(kGuardWord)) {
      is_intact &= std::memcmp(piece.data() + i, &kGuardWord, sizeof(kGuardWord)) == 0;
    }
  };
  const Done read =
      state_->transfers.from_buffer(memory.buffer.handle(), memory.tensor_bytes, state_->guard_bytes(), check);
  if (!read) return read.error();
  return is_intact;
}

Expected<Recording> Executor::record(std::span<const Work> works) {
  if (!state_) return moved_from("executor");
  dispatch::Recorder recorder(state_->allocator, state_->submission, state_->pipelines, state_->absentees);
  auto recorded = recorder.record(works);
  if (!recorded) return recorded.error();
  return Recording(*std::move(recorded));
}

Done Executor::run(Recording& recording) {
  if (const Done ours = check_is_ours(recording); !ours) return ours.error();
  if (const Done ready = recording.state()->prepare_commands(); !ready) return ready.error();
  return state_->submission->run(recording.state()->commands);
}

Expected<Submitted> Executor::submit(Recording& recording, const SubmitOptions& options) {
  if (const Done ours = check_is_ours(recording); !ours) return ours.error();
  if (const Done ready = recording.state()->prepare_submitting(); !ready) return ready.error();
  const auto submitted = state_->submission->submit(recording.state()->submitted_commands, options);
  if (submitted) recording.state()->last_submitted = submitted->value;
  return submitted;
}

Done Executor::wait(const Submitted& submitted) {
  return state_ ? state_->submission->wait_for(submitted.value) : Done(moved_from("executor"));
}

Expected<bool> Executor::is_done(const Submitted& submitted) const {
  return state_ ? state_->submission->is_done(submitted.value) : Expected<bool>(moved_from("executor"));
}

Expected<Commands> Executor::commands(const CommandsOptions& options) {
  if (!state_) return moved_from("executor");
  if (options.arena) {
    if (const Done ours = check_is_ours(*options.arena); !ours) return ours.error();
  }
  return Commands::create(state_->allocator, state_->pipelines, options);
}

Expected<Timing> Executor::time(Recording& recording, uint32_t chain) {
  if (const Done ours = check_is_ours(recording); !ours) return ours.error();
  if (const Done ready = recording.state()->prepare_timing(std::max(chain, 1u)); !ready) return ready.error();
  if (const Done ran = state_->submission->run(recording.state()->timed_commands); !ran) return ran.error();
  auto timing = recording.state()->read_timing();
  if (timing) timing->submit_us = state_->submission->submit_us();
  return timing;
}

void Executor::make_pipelines(std::span<const Choice> choices,
                              const std::function<void(size_t made, size_t total)>& on_made) {
  if (!state_) return;
  std::vector<dispatch::PipelineSource> sources;
  for (const Choice& choice : choices) {
    for (const Launch& launch : choice.launches) sources.push_back(dispatch::source_of(launch));
  }
  state_->pipelines->make_all(sources, on_made);
}

Expected<std::vector<std::vector<Statistic>>> Executor::statistics(const Choice& choice) {
  if (!state_) return moved_from("executor");
  std::vector<std::vector<Statistic>> launches;
  for (const Launch& launch : choice.launches) {
    auto said = state_->pipelines->statistics(dispatch::source_of(launch));
    if (!said) return said.error();
    launches.push_back(*std::move(said));
  }
  return launches;
}

Done Executor::save_pipeline_cache() { return state_ ? state_->pipelines->save_cache() : Done(moved_from("executor")); }

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
Executor::~Executor() = default;

}  // namespace qgen
