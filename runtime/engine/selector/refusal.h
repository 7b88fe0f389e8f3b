// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Why a kernel cannot run a problem: a cause and an index, whose sentence is written on demand; and the facts that the
// check compares and the sentence mentions. Private to this room.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/engine/selector/fit.h"

namespace qgen::selector {

enum class Cause : uint8_t {
  form,            // index: operand
  absent_operand,  // index: operand
  features,
  subgroup_size,
  push_constants,
  storage_buffers,
  storage_images,
  cooperative_matrix,  // index: of the row's shapes
  workgroup_side,      // index: dimension
  workgroup_invocations,
  shared_memory,
  device_condition,  // index: condition
  rarely_best,       // index: of op.rarely_best
  distrusted,        // index: of DeviceProfile::distrusted_kernels
  condition,         // index: condition
  grid,
};

struct Refusal {
  Cause cause;
  size_t index = 0;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

RefusedBy check_of(Cause cause);

// Whether the item lists the device's architecture.
bool is_about_architecture(const RarelyBestInfo& info, const DeviceProfile& device);

// "was rarely the best on hopper: at most 4 % faster, in 2 of 330 problems, 2026-11-25"
std::string sentence(const RarelyBestInfo& info, const DeviceProfile& device);

// "needs 65536 bytes of shared memory, and the device has 32768"
std::string sentence(const Request& request, const KernelInfo& kernel, size_t row, const Refusal& refusal);

// ---- what checks compare and sentences tell -------------------------------------------------------------------------

SelectionScope scope_of(const Request& request, const KernelInfo& kernel, size_t row);

bool takes(const OperandForm& form, const OperandDesc& desc);
// "i8 buffer packed_4w or packed_4c"
std::string form_text(const OperandForm& form);

size_t count_bindings(const InterfaceInfo& interface, BindingKind kind);
// With uniform blocks, on devices where they have to be storage buffers.
size_t count_storage_buffers(const InterfaceInfo& interface, const DeviceProfile& device);
int64_t invocations(const uint32_t (&workgroup)[3]);

std::array<uint64_t, 3> groups_of(const OperatorInfo& op, const SelectionScope& scope);
bool is_row(const std::array<uint64_t, 3>& groups);
// The longest grid of one dimension: the dispatcher folds it into three, and kernels number their groups with 32 bits.
uint64_t longest_row(const std::array<uint32_t, 3>& limits);

}  // namespace qgen::selector
