// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A graph for one device and one set of shapes, with nothing left to decide: the places of its tensors, its constants
// as kernels read them, and its kernels with the operands of each launch. Making one needs a profile, and no device. A
// file has one part for each device; bytes that several parts share are stored once.
//
//   auto part = fix(graph, *schedule, library, profile);
//   const auto bytes = write_fixed({&*part, 1});
//   auto here = read_fixed(bytes, device.profile());         // the one for this device
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/models/graph/bound_graph.h"
#include "runtime/models/graph/own_kernels.h"
#include "runtime/models/graph/schedule.h"

namespace qgen::graph {

struct FixedPart {
  struct Tensor {
    DType dtype = DType::f32;
    Shape shape = {};
    Layout layout = Layout::strided;
    uint64_t offset = 0;  // in the arena
    uint32_t owner = 0;   // BoundGraph::Parts::owners
  };
  struct Constant {
    DType dtype = DType::f32;
    Shape shape = {};
    Layout layout = Layout::strided;    // of a weight its form
    std::vector<std::byte> bytes = {};  // as they lie in the layout
  };
  struct Operand {
    enum class Kind : uint8_t { none, tensor, constant } kind = Kind::none;
    uint32_t index = 0;
  };
  struct Step {
    std::vector<Operand> operands;
    std::optional<uint64_t> scratch;  // in the arena
  };

  std::string device;        // the profile's name
  std::string architecture;  // "": not known
  uint64_t arena_bytes = 0;
  uint32_t shared_memory_bytes = 0;  // the most that a kernel takes
  bool has_matrices = false;         // cooperative matrices, whose shapes are the device's own
  std::vector<Tensor> tensors = {};
  std::vector<Constant> constants = {};
  std::vector<Step> steps = {};
  std::vector<NamedTensor> inputs = {}, outputs = {};
  std::shared_ptr<const OwnKernels> own_kernels = nullptr;  // a choice for each step
};

// `graph`: with the data of all constants. Errors: data is missing, a form that a weight does not have.
Expected<FixedPart> fix(const Graph& graph, const Schedule& schedule, const KernelLibrary& library,
                        const DeviceProfile& device);

// What the device lacks for a part, for people: "needs storage_8bit". Empty: it can run it. Matrices have shapes of
// one architecture, so a part with them is for no other.
std::string why_not(const FixedPart& part, const DeviceProfile& device);

std::vector<std::byte> write_fixed(std::span<const FixedPart> parts);
// The part for a device: of the same model of device, else of the same architecture, else the first that it can run.
// Errors: those of read_compiled(); the device can run none, with the reason of each.
Expected<FixedPart> read_fixed(std::span<const std::byte> file, const DeviceProfile& device);
Expected<std::vector<FixedPart>> read_fixed(std::span<const std::byte> file);
bool is_fixed(std::span<const std::byte> begin);

}  // namespace qgen::graph
