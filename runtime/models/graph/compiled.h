// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A compiled model, ready to run: the graph, its weights in the forms that the chosen kernels read, and the choices for
// one device and one set of shapes. Loading it packs nothing and chooses nothing.
//
//   const auto bytes = write_compiled(*model.compiled());
//   auto compiled = read_compiled(bytes);                    // refused where a byte is missing or another
//   Executor executor = *Executor::create(device, compiled->own_kernels->library(), {});
//   Context context{device.profile(), compiled->own_kernels->library(), executor};
//   Model model = Model::create(context, operators, *std::move(compiled), {});
//
// The file contains the kernels, so the program's library need not have them (own_kernels.h). They are for one device
// and one set of shapes. Elsewhere the same file runs with an executor of the program's library. Kernels and layouts
// are then chosen again, and weights are packed again if other forms are needed.
//
//   bytes 0..31   "QGENMODL", version, bytes of the head; XXH3 of these 32 bytes with the rest's XXH3 here
//   head          JSON: values, nodes, inputs, outputs, constants, weights, decision, own kernels
//   data          what the head names by offset and size, each at a multiple of 64
#pragma once

#include <span>

#include "runtime/engine/selector/time_book.h"
#include "runtime/models/graph/own_kernels.h"
#include "runtime/models/graph/schedule.h"

namespace qgen::graph {

struct Compiled {
  Graph graph;  // its parameters with their data; of weights none
  std::map<ValueId, SavedWeight> weights;
  InputShapes shapes;  // that were chosen for
  Decision decision;
  std::string device;             // device_text() of the one that was chosen for
  std::vector<uint64_t> digests;  // by step: digest_of() the choice
  std::shared_ptr<const OwnKernels> own_kernels;
};

// By which a decision's device is known: UUIDs and the driver's version.
std::string device_text(const DeviceProfile& profile);

// Whether one of its kernels is quarantined on the device. Then the kernels of the file are not used: the Model chooses
// among those of the program's library.
bool has_quarantined(const Compiled& compiled, const DeviceProfile& device, const TimeBook* times);

std::vector<std::byte> write_compiled(const Compiled& compiled);
// Errors: another file, another version, a byte that is missing or another, and a head that does not hold together.
Expected<Compiled> read_compiled(std::span<const std::byte> file);
// Whether a file that begins so is a compiled model, whole or not. Eight bytes are enough.
bool is_compiled(std::span<const std::byte> begin);

}  // namespace qgen::graph
