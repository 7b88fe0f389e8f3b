// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Kernels of the caller, without tables: OwnKernels makes a library of their modules. Its choices lack the number of
// workgroups and the problem, which each launch gives.
#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/c/objects.h"
#include "runtime/engine/library/blob_format.h"
#include "runtime/engine/library/blob_writer.h"
#include "vocabulary/features.h"

namespace qgen::c {
namespace {

using graph::OwnKernels;

constexpr uint32_t kMostOperands = 64;
constexpr uint32_t kMostProblemBytes = 4096;

Expected<FeatureMask> needs_of(const qgen_kernel& kernel) {
  FeatureMask needs = 0;
  for (size_t i = 0; i < kernel.need_count; ++i) {
    if (!kernel.needs || !kernel.needs[i]) return is_null("a need");
    const auto rows = feature_table();
    const auto row = std::ranges::find(rows, std::string_view(kernel.needs[i]), &FeatureRow::name);
    if (row == rows.end())
      return refused(std::string("there is no feature '") + kernel.needs[i] + "'", "devices/README.md lists features");
    needs |= bit(row->feature);
  }
  return needs;
}

Done add_operands(const qgen_kernel& given, OwnKernels::Kernel& kernel) {
  if (given.operand_count > kMostOperands)
    return refused("it has more than " + std::to_string(kMostOperands) + " operands");
  if (!given.operands && given.operand_count != 0) return is_null("operands");
  for (size_t i = 0; i < given.operand_count; ++i) {
    const qgen_binding& operand = given.operands[i];
    const auto dtype = dtype_of(operand.dtype);
    if (!dtype) return dtype.error();
    const bool reads = (operand.access & QGEN_READ) != 0, writes = (operand.access & QGEN_WRITE) != 0;
    if (!reads && !writes) return refused("operand " + std::to_string(i) + " is neither read nor written");
    if (operand.binding > 0xff) return refused("binding " + std::to_string(operand.binding) + " is over 255");
    const Access access = !writes ? Access::read : reads ? Access::read_write : Access::write;
    kernel.operands.push_back({std::to_string(i), access, false, 0, {*dtype, Storage::buffer, 0}});
    kernel.bindings.push_back(
        {static_cast<uint8_t>(operand.binding), static_cast<uint8_t>(i), BindingKind::storage_buffer, access});
  }
  return std::monostate{};
}

Done add_problem(const qgen_kernel& given, OwnKernels::Kernel& kernel) {
  const uint32_t bytes = given.problem_bytes;
  if (bytes % 4 != 0 || bytes > kMostProblemBytes)
    return refused("its problem has " + std::to_string(bytes) + " bytes",
                   "a multiple of 4, and " + std::to_string(kMostProblemBytes) + " at most");
  if (bytes == 0) return std::monostate{};
  const BlockField whole{0, 0, static_cast<uint16_t>(bytes)};
  if (given.problem_binding < 0) {
    kernel.push_constants = {whole};
    kernel.push_constants_bytes = whole.size_bytes;
    return std::monostate{};
  }
  if (given.problem_binding > 0xff) return refused("the problem's binding is over 255");
  kernel.problem_buffer = {whole};
  kernel.problem_buffer_bytes = whole.size_bytes;
  kernel.bindings.push_back(
      {static_cast<uint8_t>(given.problem_binding), kProblemOperand, BindingKind::uniform_buffer, Access::read});
  return std::monostate{};
}

Done add_constants(const qgen_kernel& given, OwnKernels::Kernel& kernel) {
  if (!given.constants && given.constant_count != 0) return is_null("constants");
  if (given.constant_count > 0xff) return refused("it has more than 255 constants");
  for (size_t i = 0; i < given.constant_count; ++i) {
    kernel.slots.push_back({given.constants[i].id, static_cast<uint8_t>(i)});
    kernel.specialization.push_back(given.constants[i].value);
  }
  return std::monostate{};
}

// All but the number of its module.
Expected<OwnKernels::Kernel> kernel_of(const qgen_kernel& given) {
  if (!given.name || !given.spirv) return is_null(given.name ? "spirv" : "the name of a kernel");
  if (given.words < 5 || given.spirv[0] != 0x07230203) return refused("it is no SPIR-V");
  const auto needs = needs_of(given);
  if (!needs) return needs.error();
  OwnKernels::Kernel kernel{.id = given.name, .needs = *needs};
  for (const auto add : {add_operands, add_problem, add_constants}) {
    if (Done added = add(given, kernel); !added) return added.error();
  }
  if (given.subgroup_size > 128) return refused("its subgroup size is over 128");
  kernel.required_subgroup_size = static_cast<uint8_t>(given.subgroup_size);
  return kernel;
}

// Each different module once.
class Parts {
 public:
  Done add(const qgen_kernel& given) {
    auto kernel = kernel_of(given);
    if (!kernel) {
      const std::string name = given.name ? std::string("kernel '") + given.name + "': " : "";
      return Error{kernel.error().kind, name + kernel.error().message, kernel.error().hint};
    }
    const std::span words(given.spirv, given.words);
    const uint64_t digest = blob_format::checksum(std::as_bytes(words));
    const auto [known, is_new] = numbers_.try_emplace(digest, static_cast<uint32_t>(modules_.size()));
    if (is_new) modules_.emplace_back(words.begin(), words.end());
    kernel->module = known->second;
    OwnKernels::OwnLaunch launch;
    launch.kernel = static_cast<uint32_t>(parts_.kernels.size());
    for (size_t i = 0; i < kernel->operands.size(); ++i) launch.operands.push_back({false, static_cast<uint8_t>(i)});
    parts_.choices.push_back({.id = kernel->id, .launches = {std::move(launch)}});
    parts_.kernels.push_back(*std::move(kernel));
    return std::monostate{};
  }

  OwnKernels::Parts take() {
    const blob_format::PackedFamily packed = blob_format::pack(modules_);
    std::vector<uint32_t> rows(modules_.size());
    for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const blob_format::BlobFamily family{&packed, rows};
    parts_.blob = blob_format::write_blob({&family, 1});
    return std::move(parts_);
  }

 private:
  std::map<uint64_t, uint32_t> numbers_;  // of modules, by their digests
  std::vector<blob_format::Module> modules_;
  OwnKernels::Parts parts_;
};

Expected<std::vector<const DeviceTensor*>> operands_of(const OwnKernels::Kernel& kernel,
                                                       const qgen_tensor* const* given, size_t count) {
  if (count != kernel.operands.size())
    return refused("kernel '" + kernel.id + "' has " + std::to_string(kernel.operands.size()) + " operands, and " +
                   std::to_string(count) + " were given");
  if (!given && count != 0) return is_null("operands");
  std::vector<const DeviceTensor*> operands;
  for (size_t i = 0; i < count; ++i) {
    const auto tensor = on_device(given[i]);
    if (!tensor) return tensor.error();
    const DType wanted = kernel.operands[i].form.dtype;
    if ((*tensor)->dtype() != wanted)
      return refused("operand " + std::to_string(i) + " of kernel '" + kernel.id + "' is " +
                     std::string(name((*tensor)->dtype())) + ", and the kernel takes " + std::string(name(wanted)));
    operands.push_back(*tensor);
  }
  return operands;
}

Done run(Executor& executor, Recording& recording, size_t runs, double* us) {
  for (size_t i = 0; i < runs; ++i) {
    if (!us) {
      if (Done done = executor.run(recording); !done) return done;
      continue;
    }
    const auto timing = executor.time(recording);
    if (!timing) return timing.error();
    us[i] = timing->device_us;
  }
  return std::monostate{};
}

}  // namespace
}  // namespace qgen::c

using namespace qgen;
using namespace qgen::c;

extern "C" {

qgen_code qgen_kernels_load(qgen_device* device, const qgen_kernel* kernels, size_t count, qgen_device** with,
                            qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !with) return is_null(device ? "with" : "device");
    if (!kernels || count == 0) return refused("there are no kernels");
    Parts parts;
    for (size_t i = 0; i < count; ++i) {
      if (Done added = parts.add(kernels[i]); !added) return added;
    }
    auto own = OwnKernels::create(parts.take());
    if (!own) return own.error();
    const qgen::c::OnDevice& on = *device->on;
    auto executor = Executor::create(*on.device, (*own)->library(), {});
    if (!executor) return executor.error();
    const KernelLibrary library = (*own)->library();
    return give(with, qgen_device{std::make_shared<qgen::c::OnDevice>(on.device, on.profile, *std::move(own), library,
                                                                      *std::move(executor))});
  });
}

qgen_code qgen_kernels_launch(qgen_device* with, size_t index, const qgen_tensor* const* operands, size_t operand_count,
                              const void* problem, const uint32_t groups[3], size_t runs, double* us,
                              qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!with || !groups) return is_null(with ? "groups" : "device");
    const graph::OwnKernels* own = with->on->own_kernels.get();
    const size_t count = own ? own->choices().size() : 0;
    if (index >= count)
      return refused("there is no kernel " + std::to_string(index) + ": the device has " + std::to_string(count),
                     "give a device of qgen_kernels_load()");
    const OwnKernels::Kernel& kernel = own->parts().kernels[index];
    const auto tensors = operands_of(kernel, operands, operand_count);
    if (!tensors) return tensors.error();
    Choice choice = own->choices()[index];
    Launch& launch = choice.launches.front();
    launch.groups = {groups[0], groups[1], groups[2]};
    launch.problem.resize(size_t{kernel.push_constants_bytes} + kernel.problem_buffer_bytes);
    if (!problem && !launch.problem.empty()) return is_null("problem");
    if (!launch.problem.empty()) std::memcpy(launch.problem.data(), problem, launch.problem.size());
    const Work work{&choice, *tensors};
    auto recording = with->on->executor.record({&work, 1});
    if (!recording) return recording.error();
    return run(with->on->executor, *recording, runs, us);
  });
}

}  // extern "C"
