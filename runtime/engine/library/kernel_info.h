// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The plain structs of generated tables, which every other room reads. They do not use Vulkan, so generated code can be
// used without qgen's runtime.
//
// The terms, from large to small:
//
//   operator   what is computed: `quantize_affine`. Has a Problem, operands, kernels and recipes
//   recipe     several kernels, with scratch memory between them, that together compute the operator
//   variant    one combination of the spec's parameters; one SPIR-V module
//   kernel     a variant with a value for each specialization constant that is chosen: what pipelines are made from
//
// Generated code fills the structs with constexpr tables and a few functions, which are all pure. `const void* problem`
// points to the operator's generated Problem struct, and `const void* parameters` to its generated Parameters struct.
// Callers who know the operator use the typed structs; generic code uses the functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "vocabulary/dtypes.h"
#include "vocabulary/features.h"
#include "vocabulary/integer.h"
#include "vocabulary/layouts.h"

namespace qgen {

enum class Access : uint8_t { read, write, read_write };

// ---- what a module needs of a device --------------------------------------------------------------------------------

// A cooperative-matrix shape that a module uses, to be compared with the device's list.
struct CooperativeMatrixShape {
  uint16_t m, n, k;  // 0: any (a matrix whose other sides this module never multiplies)
  DType a, b, c, result;
  bool workgroup_scope;  // false: subgroup scope
  friend constexpr bool operator==(const CooperativeMatrixShape&, const CooperativeMatrixShape&) = default;
};

// ---- a module's interface, from reflection --------------------------------------------------------------------------

enum class BindingKind : uint8_t { storage_buffer, storage_image, uniform_buffer };

struct BindingInfo {
  uint8_t binding;
  uint8_t operand;  // index into OperatorInfo::operands, or kProblemOperand
  BindingKind kind;
  Access access;
};
constexpr uint8_t kProblemOperand = 0xff;  // the buffer of problem fields, filled by the dispatcher

// Copies `size_bytes` from the Problem struct into the push constants (or the problem buffer).
struct BlockField {
  uint16_t offset;          // in the block
  uint16_t problem_offset;  // in the generated Problem struct
  uint16_t size_bytes;
};

// The value of specialization constant `constant_id` is element `index` of the kernel's specialization values, which
// end with those that the problem decides: specialization_values() of kernel_library.h.
struct SpecializationSlot {
  uint32_t constant_id;
  uint8_t index;
};

// Shared by all variants that reflect to the same thing.
struct InterfaceInfo {
  std::span<const BindingInfo> bindings = {};
  std::span<const BlockField> push_constants = {};
  uint16_t push_constants_bytes = 0;
  std::span<const BlockField> problem_buffer = {};  // empty: none
  uint16_t problem_buffer_bytes = 0;
  std::span<const SpecializationSlot> specialization = {};
  FeatureMask needs = 0;
  // The module's properties with the values of each row of OperatorInfo::specializations. One element stands for all
  // rows; `*_of` find a row's.
  std::span<const std::span<const CooperativeMatrixShape>> cooperative_matrices = {};  // empty: none in any row
  std::span<const uint32_t[3]> workgroup = {};
  std::span<const uint32_t> shared_bytes = {};
  uint8_t required_subgroup_size = 0;  // 0: any

  constexpr std::span<const CooperativeMatrixShape> cooperative_matrices_of(size_t row) const {
    if (cooperative_matrices.empty()) return {};
    return cooperative_matrices[place_of(row, cooperative_matrices.size())];
  }
  constexpr const uint32_t (&workgroup_of(size_t row) const)[3] { return workgroup[place_of(row, workgroup.size())]; }
  constexpr uint32_t shared_bytes_of(size_t row) const { return shared_bytes[place_of(row, shared_bytes.size())]; }

 private:
  static constexpr size_t place_of(size_t row, size_t count) { return count == 1 ? 0 : row; }
};

// ---- the numbers of a device that expressions may name as device.<name> ---------------------------------------------

// Its members are the rows of vocabulary/device_number_rows.inc: `double bytes_per_us = 1e4;`.
struct DeviceNumbers {
#define QGEN_DEVICE_NUMBER(type, name, start) type name = start;
#include "vocabulary/device_number_rows.inc"
  friend constexpr bool operator==(const DeviceNumbers&, const DeviceNumbers&) = default;
};

// ---- kernels --------------------------------------------------------------------------------------------------------

// The formats that one variant accepts at one operand.
struct OperandForm {
  DType dtype;
  Storage storage;
  uint32_t layouts;  // bit(Layout) each; 0: `strided` of a buffer, any of a texture
  friend constexpr bool operator==(const OperandForm&, const OperandForm&) = default;
};
constexpr bool takes(const OperandForm& form, DType dtype, Storage storage, Layout layout) {
  return form.dtype == dtype && form.storage == storage && has_layout(form.layouts, storage, layout);
}

struct OperandInfo {
  std::string_view name;
  Access access;
  bool is_optional;  // the caller may leave it out; the kernel then reads nothing from it
  // For an operator that consists only of recipes, whose kernels may accept more than it does: bit(DType) of each dtype
  // that it accepts. 0: all that its own kernels accept.
  uint32_t dtypes = 0;
  // For an output: a bit for each operand whose bytes it may use, if dtype, shape and layout are the same. No
  // invocation of any kernel reads an element that another one writes.
  uint32_t in_place = 0;
  constexpr bool may_lie_in(size_t operand) const { return operand < 32 && (in_place >> operand & 1u) != 0; }
};

struct KernelInfo {
  std::string_view id;     // "quantize_affine.f32.i8.vec4"
  const void* parameters;  // the operator's Parameters
  uint16_t interface;      // index into OperatorInfo::interfaces
  uint32_t module;         // index into the blob
};

// The values that a generated function may read.
struct SelectionScope {
  const void* problem;
  const void* parameters;
  const uint32_t* specialization;  // one row of OperatorInfo::specializations
  const DeviceNumbers* device;
  const double* fit = nullptr;  // one for each of OperatorInfo::fit_names; null: fit_values
};

struct NameInfo {
  std::string_view name;                    // "width", "vec", "workgroup", "device.subgroup_size"
  std::span<const std::string_view> words;  // if the value is a word: its spellings by value
};

// One line of applies_when or require_device: its text, and the names whose values explain a refusal.
struct ConditionInfo {
  std::string_view text;
  std::span<const uint16_t> names;  // indices into OperatorInfo::names
};
constexpr int kAllHold = -1;

// One item of rarely_best: kernels that were measured on some architectures and were hardly ever the best there.
struct RarelyBestInfo {
  std::string_view when;                 // the condition's text
  std::span<const std::string_view> on;  // architectures: "hopper"; or features
  std::string_view because;              // "at most 4 % faster, in 2 of 330 problems, 2026-11-25"
};

struct FieldInfo {  // one field of the Problem struct
  std::string_view name;
  enum class Kind : uint8_t { u32, i32, f32 } kind;
  uint16_t offset;
  uint16_t count;                                // 1: a scalar
  std::span<const std::string_view> words = {};  // of a word: the spellings, by value
  // A number that kernels alone read: no condition, grid, cost or scratch depends on it, so no choice does.
  bool is_data = false;
};

// ---- judging --------------------------------------------------------------------------------------------------------

// The allowed error of a result: |got - expected| <= abs + rel * |expected|. Zeros: bit-exact.
struct Tolerance {
  double abs = 0;
  double rel = 0;
  friend constexpr bool operator==(const Tolerance&, const Tolerance&) = default;
};

// How far an output may be from the reference's.
struct ToleranceInfo {
  Tolerance f16 = {};        // of outputs of f16
  Tolerance others = {};     // of all other outputs
  bool is_computed = false;  // the reference says of each element how far computing may lead, before it is rounded
  constexpr const Tolerance& of(DType output) const { return output == DType::f16 ? f16 : others; }
};

struct OperatorInfo;

// ---- recipes --------------------------------------------------------------------------------------------------------

struct ScratchInfo {
  std::string_view name;
  DType dtype;
  Integer (*elements)(const SelectionScope&);  // parameters and specialization are null
};

// Where a step's operand comes from: an operand of the whole, or scratch.
struct OperandSource {
  bool is_scratch;
  uint8_t index;           // kAbsent: an optional operand that this step leaves out
  uint8_t seen_as = 0xff;  // the Layout in which it sees the memory; kAbsent: its own layout
};
constexpr uint8_t kAbsent = 0xff;

// How an indirect step gets its number of workgroups: an earlier step of the recipe counts them on the device.
struct IndirectInfo {
  uint8_t scratch = kAbsent;     // its first three elements, u32, are the workgroups; kAbsent: the step is not indirect
  uint8_t counter = 0;           // the step that writes them
  uint16_t most_workgroups = 0;  // offset in the counter's Problem: a u32, the workgroups of the grid
};

struct StepInfo {
  const OperatorInfo* family;  // whose kernels may run this step
  std::span<const OperandSource> operands;
  void (*make_problem)(const SelectionScope& whole, void* step_problem);
  bool (*takes)(const void* parameters) = nullptr;  // whether this step admits a variant of the family; null: all do
  IndirectInfo indirect = {};
};

struct RecipeInfo {
  std::string_view id;  // "choose_qparams_affine.two_pass"
  std::span<const ConditionInfo> conditions = {};
  int (*first_failing)(const SelectionScope&) = nullptr;
  std::span<const ScratchInfo> scratch = {};
  std::span<const StepInfo> steps = {};
};

// ---- operators ------------------------------------------------------------------------------------------------------

struct OperatorInfo {
  std::string_view name;
  std::string_view summary;
  bool is_internal = false;  // a step of recipes only
  std::span<const OperandInfo> operands = {};
  std::span<const FieldInfo> fields = {};
  size_t problem_bytes = 0;
  std::span<const NameInfo> names = {};
  std::span<const ConditionInfo> conditions = {};         // of applies_when
  std::span<const ConditionInfo> device_conditions = {};  // of require_device
  std::span<const RarelyBestInfo> rarely_best = {};       // 64 at most
  std::span<const std::string_view> specialization_names = {};
  std::span<const uint32_t> specializations =
      {};                      // rows of specialization_names.size() values; no names: one empty row
  size_t constants_count = 0;  // of `constants`
  void (*constants)(const SelectionScope&, uint32_t* values) = nullptr;  // of the problem alone; null: none
  std::span<const InterfaceInfo> interfaces = {};
  std::span<const KernelInfo> kernels = {};  // sorted by id
  std::span<const RecipeInfo> recipes = {};

  OperandForm (*form)(const void* parameters, size_t operand) = nullptr;
  Integer (*value)(size_t name, const SelectionScope&) = nullptr;
  int (*first_failing)(const SelectionScope&) = nullptr;          // index into conditions, or kAllHold
  int (*first_failing_device)(const SelectionScope&) = nullptr;   // index into device_conditions, or kAllHold
  uint64_t (*rarely_best_when)(const SelectionScope&) = nullptr;  // a bit for each of rarely_best that holds
  void (*grid)(const SelectionScope&, Integer groups[3]) = nullptr;
  Real (*cost)(const SelectionScope&) = nullptr;  // microseconds, estimated
  ToleranceInfo tolerance = {};
  // The constants of the cost that are fitted to measured times. A name has before it which spec or fragment says its
  // number, so that operators are seen to share it: "half_product_times.step_us".
  std::span<const std::string_view> fit_names = {};
  std::span<const double> fit_values = {};

  constexpr size_t specialization_count() const {
    return specialization_names.empty() ? 1 : specializations.size() / specialization_names.size();
  }
  constexpr const uint32_t* specialization(size_t row) const {
    return specializations.data() + row * specialization_names.size();
  }
  constexpr const InterfaceInfo& interface_of(const KernelInfo& kernel) const { return interfaces[kernel.interface]; }
};

struct SignatureInfo;  // signature_info.h
struct TuningInfo;     // tuning_info.h

// Everything that one run of qgen made.
struct LibraryInfo {
  std::span<const OperatorInfo* const> operators;  // sorted by name
  std::span<const std::byte> blob;
  std::span<const SignatureInfo* const> signatures = {};  // of public operators, sorted by name
  std::span<const TuningInfo* const> tunings = {};        // of devices, sorted by name
};

}  // namespace qgen
