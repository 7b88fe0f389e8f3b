// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Runs choices on a device: tensors in device memory, pipelines made on demand, commands recorded, replayed, timed.
//
//   Executor executor = *Executor::create(device, library, {});
//   DeviceTensor x = *executor.upload(host_x, Storage::buffer);
//   DeviceTensor q = *executor.allocate(DType::i8, shape, Storage::buffer);
//   Recording recording = *executor.record({{&choice, {&x, &scale, &zero_point, &q}}});
//   executor.run(recording);                    // again and again
//   HostTensor result = *executor.download(q);
//
// Lifetimes: each object keeps alive the objects that it uses. An Executor keeps its device and library. A tensor keeps
// its memory and the device. A recording keeps the memory of its operands, so it may be replayed after the tensors are
// gone. They may be moved, and destroyed in any order. An Executor accepts only its own tensors and recordings; it
// refuses others, and those that were moved from. An Executor and everything that it made belong to one thread at a
// time. Executors of one Device may work in different threads, and with create_beside() on the same tensors.
//
// A work is compared with the Problem of its choice: the number of operands, which of them are present, and each one's
// dtype, shape, storage and layout. A Choice that was made by hand, or for a Problem without shapes, contains less, and
// its author is responsible for sizes. No operand that a work writes may also be another operand: kernels declare them
// `restrict`, and later steps of a recipe read the same inputs as earlier ones. The exception is a kernel that may
// write in place of this operand (OperandInfo::in_place). Then both must be the same bytes, in the same form.
//
// On the caller's device (Device::adopt()), wrap() makes tensors of the caller's memory, and works are recorded into
// the caller's command buffers (commands.h). docs/engines.md describes both.
//
// A buffer holds the tensor in its layout, rounded up to 16 bytes, so that kernels may read and write whole vec4s at
// its end. Host tensors are row-major; upload(), write() and download() convert.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/device/device.h"
#include "runtime/engine/dispatch/lent_memory.h"
#include "runtime/engine/dispatch/statistics.h"
#include "runtime/engine/library/kernel_library.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/tensor/tensor.h"

namespace qgen {

// A tensor on the device. Moving it moves the memory; one that was moved from is an empty f32 that no Executor takes.
class DeviceTensor {
 public:
  DType dtype() const;
  const Shape& shape() const;
  Storage storage() const;
  Layout layout() const;
  OperandDesc desc() const;
  // Its buffer and offset, for commands of the caller. Of a texture, and of one that was moved from: a null buffer.
  LentBuffer place() const;

  DeviceTensor(DeviceTensor&&) noexcept;
  DeviceTensor& operator=(DeviceTensor&&) noexcept;
  ~DeviceTensor();

  struct Memory;
  const Memory& memory() const;
  const std::shared_ptr<const Memory>& shared_memory() const { return memory_; }  // null: it was moved away
  explicit DeviceTensor(std::shared_ptr<const Memory> memory);

 private:
  std::shared_ptr<const Memory> memory_;
};

// Texture shapes (rank 1 to 4, [N, C, H, W] with leading sides of 1): x = W, y = H, z = N * C, with the packed
// dimension divided by four, rounded up. With channels packed, z = N * ceil(C / 4).
struct Work {
  const Choice* choice = nullptr;
  std::vector<const DeviceTensor*> operands;  // in the operator's order; null: an optional operand that is left out
  // Where the choice's scratch lies, scratch_bytes() of it at least; null: the recording has memory for it.
  const DeviceTensor* scratch = nullptr;
};
// What a choice keeps between its steps; 0: nothing.
uint64_t scratch_bytes(const Choice& choice);

// Where a tensor may begin in an arena, in bytes: no device asks for more.
constexpr uint64_t kTensorAlignment = 256;

// Of a tensor in a buffer, in its layout, rounded up to 16. Saturates.
uint64_t buffer_bytes(DType dtype, const Shape& shape, Layout layout);

// Whether a buffer of the device can hold the tensor, as Executor::allocate() asks. Errors: a layout that buffers or the
// dtype do not have, more bytes than the device binds at once.
Done check_buffer(const DeviceProfile& device, DType dtype, const Shape& shape, Layout layout);

struct Timing {
  double device_us = 0;              // first kernel's start to last kernel's end, by GPU timestamps
  std::vector<double> intervals_us;  // one a chain of launches, from the end of the one before; together device_us
  double submit_us = 0;              // the driver's time to hand it to the device, by the host's clock
};

class Recording {
 public:
  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();
  struct State;
  explicit Recording(std::shared_ptr<State> state);
  State* state() { return state_.get(); }  // null: it was moved away
  const std::shared_ptr<State>& shared_state() const { return state_; }

 private:
  std::shared_ptr<State> state_;  // shared with command buffers that it went into (commands.h)
};

// Runs job(0) to job(count - 1), each once, on whatever threads, and returns when all are done.
using ParallelFor = std::function<void(size_t count, const std::function<void(size_t)>& job)>;

struct ExecutorOptions {
  // Where pipelines are kept between runs; empty: nowhere. The file's name holds device and driver UUID; a damaged or
  // foreign file is ignored; it is written to a temporary name and renamed.
  std::filesystem::path pipeline_cache_folder = {};
  // The caller's cache, which it saves and destroys, after all that came from the Executor; null: one of qgen's own, and
  // the folder above. It is used from every thread that makes pipelines.
  VkPipelineCache pipeline_cache = {};
  // How many pipelines stay when nothing uses them; 0: all. The least recently requested one goes first.
  size_t most_pipelines = 0;
  // How make_pipelines() distributes its work, for example over the caller's threads; empty: over new threads, one a
  // core.
  ParallelFor parallel_for = {};
  // How the memory is made that the Executor allocates; empty: by an allocator of qgen's own.
  MemoryCallbacks memory = {};
  // Bytes of a known pattern after every tensor in a buffer (beyond its rounding to 16 bytes), checked by
  // guards_are_intact(). They are bound with the tensor, since drivers drop writes outside a binding. For tests.
  uint32_t guard_bytes = 0;
  // A submission that takes longer is an error, and the Executor accepts nothing more.
  uint64_t timeout_ms = 600'000;
};

// A point of the Executor's timeline: the submissions are done when the semaphore has reached the value.
struct Submitted {
  VkSemaphore semaphore = {};  // a timeline semaphore, which the Executor owns
  uint64_t value = 0;
};
// Further semaphores that a submission waits for and signals. `value`: of a timeline semaphore; of another it is
// ignored.
struct SemaphoreValue {
  VkSemaphore semaphore = {};
  uint64_t value = 0;
};
struct SubmitOptions {
  std::vector<SemaphoreValue> wait = {};
  std::vector<SemaphoreValue> signal = {};
};

class Commands;  // commands.h
struct CommandsOptions;

class Executor {
 public:
  // The tables and the blob that `library` views must outlive the Executor: the generated ones are constants.
  static Expected<Executor> create(const Device& device, const KernelLibrary& library, const ExecutorOptions& options);

  // One for another thread: it takes the tensors of `other`, and shares its memory and its pipelines. Recordings are
  // each one's own. Two threads may not write an object that both use at a time.
  static Expected<Executor> create_beside(const Executor& other);

  // Errors: out of memory, a buffer past maxStorageBufferRange, an image past the device's extents, a rank that
  // textures cannot hold; each with the numbers. A vector of u8 may be longer than that range: as an arena.
  Expected<DeviceTensor> allocate(DType dtype, const Shape& shape, Storage storage, Layout layout = Layout::strided);
  // One inside another tensor's buffer, an arena: any tensor in a plain buffer that is itself in no arena. Tensors that
  // share bytes take turns: a recording waits for reads before it writes, byte range by byte range. Errors: it does not
  // fit into the arena, `offset` is no multiple of kTensorAlignment.
  Expected<DeviceTensor> place(const DeviceTensor& arena, uint64_t offset, DType dtype, const Shape& shape,
                               Layout layout = Layout::strided);
  // One in the caller's memory, which is not freed. It must outlive the tensor and the device's work with it. Contents
  // stay as they are. Errors: a null handle, an offset at which kernels cannot begin, too few bytes, and the errors of
  // allocate().
  Expected<DeviceTensor> wrap(const LentBuffer& memory, DType dtype, const Shape& shape,
                              Layout layout = Layout::strided);
  Expected<DeviceTensor> wrap(const LentImage& image, DType dtype, const Shape& shape, Layout layout);
  // The same bytes of a buffer, described otherwise, as another shape. Errors: it needs more bytes than there are, and
  // the errors of allocate().
  Expected<DeviceTensor> view(const DeviceTensor& tensor, DType dtype, const Shape& shape,
                              Layout layout = Layout::strided);
  Expected<DeviceTensor> upload(const HostTensor& tensor, Storage storage, Layout layout = Layout::strided);
  Done write(const DeviceTensor& to, const HostTensor& from);
  Expected<HostTensor> download(const DeviceTensor& tensor);
  // A buffer's bytes unchanged, including the layout's padding.
  Expected<std::vector<std::byte>> download_stored(const DeviceTensor& tensor);
  // Whether these are a buffer's bytes unchanged. Nothing that is read is kept: of a large tensor it takes a part of
  // the time that download_stored() takes.
  Expected<bool> holds(const DeviceTensor& tensor, std::span<const std::byte> stored);
  Done write_stored(const DeviceTensor& to, std::span<const std::byte> from);
  Done fill(const DeviceTensor& tensor, uint8_t byte);           // every byte, padding too: poisons outputs
  Expected<bool> guards_are_intact(const DeviceTensor& tensor);  // true of textures: stores past an image are dropped

  // Makes the pipelines of these choices on all cores, those that are not there, so that record() need not make one
  // after the other. One that cannot be made is record()'s to report. `on_made` hears of each; may be empty.
  void make_pipelines(std::span<const Choice> choices,
                      const std::function<void(size_t made, size_t total)>& on_made = {});

  // The driver's report on the pipelines of a choice, one list per launch (runtime/engine/dispatch/statistics.h). They
  // are made where they are not there. Errors: as record() has for the choice; a device that says nothing.
  Expected<std::vector<std::vector<Statistic>>> statistics(const Choice& choice);

  // Pipelines are made here too (and kept). Barriers stand between works that depend on one another. Workgroup counts
  // past the device's limits are folded into y and z (kernels read lib/grid.glsl's linear ids); past all three: an
  // error. Other errors: no choice, or one of another library; operands that differ from the choice's, too few, too
  // many, null, another executor's, or written and used twice; a kernel that the device cannot run, out of memory.
  Expected<Recording> record(std::span<const Work> works);
  Done run(Recording& recording);
  // The same without waiting. Submissions run in order, each after a full barrier. The recording may be submitted again
  // while it runs; destroying it waits until it is done. Errors: the errors of run(), a device without
  // timelineSemaphore.
  Expected<Submitted> submit(Recording& recording, const SubmitOptions& options = {});
  // Waits for a submission of this Executor. Errors: it took longer than ExecutorOptions::timeout_ms, the device is lost.
  Done wait(const Submitted& submitted);
  Expected<bool> is_done(const Submitted& submitted) const;

  // For works in command buffers of the caller: one for each frame that may be in flight (commands.h).
  Expected<Commands> commands(const CommandsOptions& options);
  // Runs it once, with a timestamp after each chain of so many launches, and after the last. A timestamp between two
  // launches keeps the second waiting for longer than a barrier does: for each launch apart, chains are of 1. An error
  // where the queue has no timestamps.
  Expected<Timing> time(Recording& recording, uint32_t chain = 1);

  const ExecutorOptions& options() const;  // it was created with; of one that was moved from: the defaults

  // Writes the pipeline cache now; the destructor does too, and drops errors.
  Done save_pipeline_cache();

  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;
  ~Executor();

 private:
  struct State;
  explicit Executor(std::unique_ptr<State> state);
  Done check_is_ours(const DeviceTensor& tensor) const;
  Done check_is_ours(Recording& recording) const;
  std::unique_ptr<State> state_;
};

// The elements of bytes in a buffer's order, as Executor::download_stored() returns them.
Expected<HostTensor> unpacked(DType dtype, const Shape& shape, Layout layout, std::vector<std::byte> stored);

}  // namespace qgen
