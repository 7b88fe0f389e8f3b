// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tables as qgen would generate them, small enough to know by heart. For the tests of everything that reads tables.
//
//   scale_rows   output[r, c] = input[r, c] * factor[r]     f16 and f32 in buffers, f32 in textures, vec 1 and 4,
//                                                           three workgroup sizes; factor is optional
//   sum          of a vector: one kernel for short vectors, a recipe of two steps for long ones
//   multiply     of matrices, on cooperative matrices per subgroup or per workgroup
//
// Costs of the first two have constants that can be fitted.
#pragma once

#include <vector>

#include "runtime/engine/library/kernel_library.h"
#include "tests/runtime/engine/library/blob_builder.h"
#include "vocabulary/features.h"

namespace qgen::test {

template <typename T>
const T& as(const void* bytes) {
  return *static_cast<const T*>(bytes);
}

// ---- scale_rows -----------------------------------------------------------------------------------------------------

namespace scale_rows {

struct Problem {
  uint32_t rows, width;
  float alpha = 1;
};

struct Parameters {
  DType dtype;
  Storage storage;
  int64_t vec;
};

inline constexpr OperandInfo kOperands[] = {
    {"input", Access::read, false},
    {"factor", Access::read, true},
    {"output", Access::write, false},
};
inline constexpr FieldInfo kFields[] = {
    {"rows", FieldInfo::Kind::u32, offsetof(Problem, rows), 1},
    {"width", FieldInfo::Kind::u32, offsetof(Problem, width), 1},
    {"alpha", FieldInfo::Kind::f32, offsetof(Problem, alpha), 1, {}, true},
};

enum Name : uint16_t { kDtype, kVec, kWorkgroup, kRows, kWidth, kSubgroupSize };
inline constexpr std::string_view kDtypeWords[] = {"f32", "f16"};
// clang-format off
inline constexpr NameInfo kNames[] = {
    {"dtype", kDtypeWords}, {"vec", {}}, {"workgroup", {}}, {"rows", {}}, {"width", {}}, {"device.subgroup_size", {}}};
inline Integer value(size_t index, const SelectionScope& s) {
  switch (index) {
    case kDtype: return static_cast<int64_t>(as<Parameters>(s.parameters).dtype);
    case kVec: return as<Parameters>(s.parameters).vec;
    case kWorkgroup: return s.specialization[0];
    case kRows: return as<Problem>(s.problem).rows;
    case kWidth: return as<Problem>(s.problem).width;
    case kSubgroupSize: return s.device->subgroup_size;
  }
  return 0;
}

inline constexpr uint16_t kOfMultiple[] = {kVec, kWidth};
inline constexpr uint16_t kOfEnough[] = {kDtype, kWorkgroup, kRows, kWidth};
inline constexpr ConditionInfo kConditions[] = {
    {"width % vec == 0", kOfMultiple},
    {"dtype == f32 or rows * width >= workgroup", kOfEnough},
};
// clang-format on
inline int first_failing(const SelectionScope& s) {
  const auto& p = as<Problem>(s.problem);
  const auto& c = as<Parameters>(s.parameters);
  if (!(Integer(p.width) % Integer(c.vec) == Integer(0))) return 0;
  if (!(c.dtype == DType::f32 || Integer(p.rows) * Integer(p.width) >= Integer(s.specialization[0]))) return 1;
  return kAllHold;
}

inline constexpr uint16_t kOfFull[] = {kWorkgroup, kSubgroupSize};
inline constexpr ConditionInfo kDeviceConditions[] = {{"workgroup >= device.subgroup_size", kOfFull}};
inline int first_failing_device(const SelectionScope& s) {
  return Integer(s.specialization[0]) >= Integer(s.device->subgroup_size) ? kAllHold : 0;
}

inline constexpr std::string_view kSpecializationNames[] = {"workgroup"};
inline constexpr uint32_t kSpecializations[] = {64, 128, 256};

inline constexpr BindingInfo kBuffers[] = {{0, 0, BindingKind::storage_buffer, Access::read},
                                           {1, 1, BindingKind::storage_buffer, Access::read},
                                           {2, 2, BindingKind::storage_buffer, Access::write}};
inline constexpr BindingInfo kImages[] = {{0, 0, BindingKind::storage_image, Access::read},
                                          {1, 1, BindingKind::storage_buffer, Access::read},
                                          {2, 2, BindingKind::storage_image, Access::write}};
inline constexpr BlockField kPushConstants[] = {{0, 0, 12}};
inline constexpr SpecializationSlot kSlots[] = {{0, 0}};
inline constexpr uint32_t kWorkgroups[][3] = {{64, 1, 1}, {128, 1, 1}, {256, 1, 1}};
inline constexpr uint32_t kSharedBytes[] = {1024, 2048, 4096};
// clang-format off
inline constexpr InterfaceInfo kInterfaces[] = {
    {kBuffers, kPushConstants, 12, {}, 0, kSlots, 0, {}, kWorkgroups, kSharedBytes, 0},
    {kBuffers, kPushConstants, 12, {}, 0, kSlots, bit(Feature::storage_buffer_16bit) | bit(Feature::shader_float16), {},
     kWorkgroups, kSharedBytes, 0},
    {kImages, kPushConstants, 12, {}, 0, kSlots, 0, {}, kWorkgroups, kSharedBytes, 0},
};
// clang-format on

inline constexpr Parameters kF16Vec1{DType::f16, Storage::buffer, 1}, kF16Vec4{DType::f16, Storage::buffer, 4},
    kF32Vec1{DType::f32, Storage::buffer, 1}, kF32Vec4{DType::f32, Storage::buffer, 4},
    kTexture{DType::f32, Storage::texture3d, 4};
// clang-format off
inline constexpr KernelInfo kKernels[] = {
    {"scale_rows.f16.buffer.vec1", &kF16Vec1, 1, 0},
    {"scale_rows.f16.buffer.vec4", &kF16Vec4, 1, 1},
    {"scale_rows.f32.buffer.vec1", &kF32Vec1, 0, 2},
    {"scale_rows.f32.buffer.vec4", &kF32Vec4, 0, 3},
    {"scale_rows.f32.texture3d.vec4", &kTexture, 2, 4},
};
// clang-format on

inline OperandForm form(const void* parameters, size_t operand) {
  const auto& c = as<Parameters>(parameters);
  if (operand == 1) return {DType::f32, Storage::buffer, 0};
  const uint32_t packed =
      1u << static_cast<unsigned>(Layout::width_packed) | 1u << static_cast<unsigned>(Layout::channels_packed);
  return {c.dtype, c.storage, c.storage == Storage::buffer ? 0 : packed};
}
inline void grid(const SelectionScope& s, Integer groups[3]) {
  const auto& p = as<Problem>(s.problem);
  groups[0] =
      ceil_div(Integer(p.rows) * Integer(p.width), Integer(as<Parameters>(s.parameters).vec) * s.specialization[0]);
}
// Bandwidth; single elements get a quarter of it; 128 is the best workgroup.
inline constexpr std::string_view kFitNames[] = {"scale_rows.single", "scale_rows.odd_workgroup"};
inline constexpr double kFitValues[] = {4, 1.5};
inline Real cost(const SelectionScope& s) {
  const auto& p = as<Problem>(s.problem);
  const auto& c = as<Parameters>(s.parameters);
  const double* fit = s.fit ? s.fit : kFitValues;
  const double moved = 2.0 * p.rows * p.width * static_cast<double>(bytes(c.dtype));
  const double penalty = (c.vec == 1 ? fit[0] : 1) * (s.specialization[0] == 128 ? 1.0 : fit[1]);
  return Real(moved * penalty / s.device->bytes_per_us + s.device->launch_us);
}

inline constexpr OperatorInfo kOperator{
    .name = "scale_rows",
    .summary = "multiply each row by a factor",
    .is_internal = false,
    .operands = kOperands,
    .fields = kFields,
    .problem_bytes = sizeof(Problem),
    .names = kNames,
    .conditions = kConditions,
    .device_conditions = kDeviceConditions,
    .specialization_names = kSpecializationNames,
    .specializations = kSpecializations,
    .interfaces = kInterfaces,
    .kernels = kKernels,
    .recipes = {},
    .form = form,
    .value = value,
    .first_failing = first_failing,
    .first_failing_device = first_failing_device,
    .grid = grid,
    .cost = cost,
    .fit_names = kFitNames,
    .fit_values = kFitValues,
};

}  // namespace scale_rows

// ---- sum ------------------------------------------------------------------------------------------------------------

namespace sum {

struct Problem {
  uint32_t count;
};
struct Parameters {
  int64_t vec;
};

inline constexpr OperandInfo kOperands[] = {{"input", Access::read, false}, {"output", Access::write, false}};
inline constexpr FieldInfo kFields[] = {{"count", FieldInfo::Kind::u32, 0, 1}};

enum Name : uint16_t { kVec, kCount };
inline constexpr NameInfo kNames[] = {{"vec", {}}, {"count", {}}};
inline Integer value(size_t index, const SelectionScope& s) {
  return index == kVec ? Integer(as<Parameters>(s.parameters).vec) : Integer(as<Problem>(s.problem).count);
}
inline int none_failing(const SelectionScope&) { return kAllHold; }
inline OperandForm form(const void*, size_t) { return {DType::f32, Storage::buffer, 0}; }

inline constexpr BindingInfo kBindings[] = {{0, 0, BindingKind::storage_buffer, Access::read},
                                            {1, 1, BindingKind::storage_buffer, Access::write}};
inline constexpr BlockField kPushConstants[] = {{0, 0, 4}};
inline constexpr uint32_t kWorkgroup[][3] = {{64, 1, 1}};
inline constexpr uint32_t kSharedBytes[] = {256};
// clang-format off
inline constexpr InterfaceInfo kInterfaces[] = {
    {kBindings, kPushConstants, 4, {}, 0, {}, bit(Feature::subgroup_arithmetic), {}, kWorkgroup, kSharedBytes, 0}};
inline constexpr Parameters kVec1{1}, kVec4{4};

// sum_partial: many workgroups, a partial sum each, of 256 elements
inline constexpr uint16_t kOfMultiple[] = {kVec, kCount};
inline constexpr ConditionInfo kPartialConditions[] = {{"count % vec == 0", kOfMultiple}};
inline int first_failing_partial(const SelectionScope& s) {
  return Integer(as<Problem>(s.problem).count) % Integer(as<Parameters>(s.parameters).vec) == Integer(0) ? kAllHold : 0;
}
inline void partial_grid(const SelectionScope& s, Integer groups[3]) {
  groups[0] = ceil_div(as<Problem>(s.problem).count, 256);
}
inline constexpr std::string_view kPartialFitNames[] = {"sum_partial.bytes"};
inline constexpr double kPartialFitValues[] = {4};
inline Real partial_cost(const SelectionScope& s) {
  return Real((s.fit ? s.fit : kPartialFitValues)[0] * as<Problem>(s.problem).count / s.device->bytes_per_us /
              static_cast<double>(as<Parameters>(s.parameters).vec));
}
inline constexpr KernelInfo kPartialKernels[] = {{"sum_partial.vec1", &kVec1, 0, 6},
                                                 {"sum_partial.vec4", &kVec4, 0, 7}};
inline constexpr OperatorInfo kPartial{
    .name = "sum_partial", .summary = "sums of 256 elements each", .is_internal = true, .operands = kOperands,
    .fields = kFields, .problem_bytes = sizeof(Problem), .names = kNames, .conditions = kPartialConditions,
    .device_conditions = {}, .specialization_names = {}, .specializations = {}, .interfaces = kInterfaces,
    .kernels = kPartialKernels, .recipes = {}, .form = form, .value = value, .first_failing = first_failing_partial,
    .first_failing_device = none_failing, .grid = partial_grid, .cost = partial_cost, .fit_names = kPartialFitNames,
    .fit_values = kPartialFitValues};

// sum: one workgroup for all; slow where the vector is long
inline void one_group(const SelectionScope&, Integer groups[3]) { groups[0] = 1; }
inline constexpr std::string_view kWholeFitNames[] = {"sum.element_us"};
inline constexpr double kWholeFitValues[] = {0.02};
inline Real whole_cost(const SelectionScope& s) {
  return Real((s.fit ? s.fit : kWholeFitValues)[0] * as<Problem>(s.problem).count + s.device->launch_us);
}

inline constexpr uint16_t kOfLong[] = {kCount};
inline constexpr ConditionInfo kRecipeConditions[] = {{"count >= 1024", kOfLong}};
inline int first_failing_recipe(const SelectionScope& s) { return as<Problem>(s.problem).count >= 1024 ? kAllHold : 0; }
inline Integer partial_elements(const SelectionScope& s) { return ceil_div(as<Problem>(s.problem).count, 256); }
inline void same_problem(const SelectionScope& whole, void* step) {
  *static_cast<Problem*>(step) = as<Problem>(whole.problem);
}
inline void partials_problem(const SelectionScope& whole, void* step) {
  *static_cast<Problem*>(step) = {static_cast<uint32_t>(partial_elements(whole).value)};
}
inline bool takes_vec1(const void* parameters) { return as<Parameters>(parameters).vec == 1; }

inline constexpr KernelInfo kKernels[] = {{"sum.vec1", &kVec1, 0, 5}};
extern const OperatorInfo kOperator;

inline constexpr ScratchInfo kScratch[] = {{"partial", DType::f32, partial_elements}};
inline constexpr OperandSource kFirst[] = {{false, 0}, {true, 0}};
inline constexpr OperandSource kSecond[] = {{true, 0}, {false, 1}};
inline constexpr StepInfo kSteps[] = {{&kPartial, kFirst, same_problem, nullptr},
                                      {&kOperator, kSecond, partials_problem, takes_vec1}};
inline constexpr RecipeInfo kRecipes[] = {{"sum.two_pass", kRecipeConditions, first_failing_recipe, kScratch, kSteps}};
inline constexpr OperatorInfo kOperator{
    .name = "sum", .summary = "the sum of a vector", .is_internal = false, .operands = kOperands, .fields = kFields,
    .problem_bytes = sizeof(Problem), .names = kNames, .conditions = {}, .device_conditions = {},
    .specialization_names = {}, .specializations = {}, .interfaces = kInterfaces, .kernels = kKernels,
    .recipes = kRecipes, .form = form, .value = value, .first_failing = none_failing,
    .first_failing_device = none_failing, .grid = one_group, .cost = whole_cost, .fit_names = kWholeFitNames,
    .fit_values = kWholeFitValues};

}  // namespace sum

// ---- multiply -------------------------------------------------------------------------------------------------------

namespace multiply {

struct Problem {
  uint32_t m, n, k;
};
// clang-format on
struct Parameters {
  bool is_workgroup;
};

inline constexpr OperandInfo kOperands[] = {
    {"a", Access::read, false}, {"b", Access::read, false}, {"output", Access::write, false}};
inline constexpr FieldInfo kFields[] = {
    {"m", FieldInfo::Kind::u32, 0, 1}, {"n", FieldInfo::Kind::u32, 4, 1}, {"k", FieldInfo::Kind::u32, 8, 1}};

inline Integer value(size_t, const SelectionScope&) { return 0; }
inline int none_failing(const SelectionScope&) { return kAllHold; }
inline OperandForm form(const void*, size_t operand) {
  return {operand == 2 ? DType::i32 : DType::i8, Storage::buffer, 0};
}
inline void grid(const SelectionScope& s, Integer groups[3]) {
  groups[0] = ceil_div(as<Problem>(s.problem).n, 64);
  groups[1] = ceil_div(as<Problem>(s.problem).m, 64);
}
inline Real cost(const SelectionScope& s) { return Real(as<Parameters>(s.parameters).is_workgroup ? 10.0 : 20.0); }

inline constexpr BindingInfo kBindings[] = {{0, 0, BindingKind::storage_buffer, Access::read},
                                            {1, 1, BindingKind::storage_buffer, Access::read},
                                            {2, 2, BindingKind::storage_buffer, Access::write}};
inline constexpr uint32_t kWorkgroup[][3] = {{32, 2, 1}};
inline constexpr uint32_t kSharedBytes[] = {40960};
// Products, and sums that no product gives.
inline constexpr CooperativeMatrixShape kSubgroupShape[] = {
    {16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
    {16, 16, 0, DType::f32, DType::f32, DType::f32, DType::f32, false}};
inline constexpr CooperativeMatrixShape kWorkgroupShape[] = {
    {64, 64, 32, DType::i8, DType::i8, DType::i32, DType::i32, true}};
inline constexpr std::span<const CooperativeMatrixShape> kSubgroupShapes[] = {kSubgroupShape};
inline constexpr std::span<const CooperativeMatrixShape> kWorkgroupShapes[] = {kWorkgroupShape};
inline constexpr FeatureMask kNeeds = bit(Feature::cooperative_matrix) | bit(Feature::storage_buffer_8bit);
inline constexpr InterfaceInfo kInterfaces[] = {
    {kBindings, {}, 0, {}, 0, {}, kNeeds, kSubgroupShapes, kWorkgroup, kSharedBytes, 32},
    {kBindings, {}, 0, {}, 0, {}, kNeeds, kWorkgroupShapes, kWorkgroup, kSharedBytes, 0},
};
inline constexpr Parameters kSubgroup{false}, kOfWorkgroup{true};
inline constexpr KernelInfo kKernels[] = {{"multiply.subgroup", &kSubgroup, 0, 8},
                                          {"multiply.workgroup", &kOfWorkgroup, 1, 9}};
// clang-format off
inline constexpr OperatorInfo kOperator{
    .name = "multiply", .summary = "the product of matrices", .is_internal = false, .operands = kOperands,
    .fields = kFields, .problem_bytes = sizeof(Problem), .names = {}, .conditions = {}, .device_conditions = {},
    .specialization_names = {}, .specializations = {}, .interfaces = kInterfaces, .kernels = kKernels, .recipes = {},
    .form = form, .value = value, .first_failing = none_failing, .first_failing_device = none_failing, .grid = grid,
    .cost = cost};
// clang-format on

}  // namespace multiply

// ---- all of them ----------------------------------------------------------------------------------------------------

inline constexpr size_t kModuleCount = 10;
inline constexpr const OperatorInfo* kOperators[] = {&multiply::kOperator, &scale_rows::kOperator, &sum::kOperator,
                                                     &sum::kPartial};

// Module i holds {0x07230203, i}.
inline const ByteVector& sample_blob() {
  static const ByteVector bytes = [] {
    BlobBuilder builder;
    builder.add_family({});
    for (uint32_t i = 0; i < kModuleCount; ++i) builder.add_module(0, {0x07230203, i});
    return builder.build();
  }();
  return bytes;
}

inline LibraryInfo sample_library() { return {kOperators, sample_blob()}; }

}  // namespace qgen::test
