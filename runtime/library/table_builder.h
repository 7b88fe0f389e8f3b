// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// What generated tables are built with, so that the generated text holds facts only. Generated .cpp files include
// this; nothing else needs to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/library/kernel_info.h"
#include "runtime/library/required.h"

namespace qgen::table {

// ---- kernels: one row each, in the order of the modules in the blob -------------------------------------------------

template <typename Parameters>
struct Row {
  std::string_view id;
  Parameters parameters;
  uint16_t interface;
};

template <typename Parameters, size_t N>
constexpr std::array<KernelInfo, N> kernels(const std::array<Row<Parameters>, N>& rows, uint32_t first_module) {
  std::array<KernelInfo, N> result{};
  for (size_t i = 0; i < N; ++i) {
    const auto module = static_cast<uint32_t>(first_module + i);
    result[i] = {rows[i].id, &rows[i].parameters, rows[i].interface, module};
  }
  return result;
}

// ---- interfaces: what the modules of a family bind, and what they need and use --------------------------------------

template <typename Operand>
constexpr BindingInfo buffer(uint8_t binding, Operand operand, Access access) {
  return {binding, static_cast<uint8_t>(operand), BindingKind::storage_buffer, access};
}
template <typename Operand>
constexpr BindingInfo image(uint8_t binding, Operand operand, Access access) {
  return {binding, static_cast<uint8_t>(operand), BindingKind::storage_image, access};
}
constexpr BindingInfo problem_buffer(uint8_t binding) {
  return {binding, kProblemOperand, BindingKind::uniform_buffer, Access::read};
}

struct InterfaceRow {
  const InterfaceInfo* binds;  // bindings, blocks and specialization: few for a family
  std::span<const uint32_t[3]> workgroup;
  std::span<const uint32_t> shared_bytes;
  FeatureMask needs = 0;
  std::span<const std::span<const CooperativeMatrixShape>> cooperative_matrices = {};
};

template <size_t N>
constexpr std::array<InterfaceInfo, N> interfaces(const InterfaceRow (&rows)[N]) {
  std::array<InterfaceInfo, N> result{};
  for (size_t i = 0; i < N; ++i) {
    result[i] = *rows[i].binds;
    result[i].workgroup = rows[i].workgroup;
    result[i].shared_bytes = rows[i].shared_bytes;
    result[i].needs = rows[i].needs;
    result[i].cooperative_matrices = rows[i].cooperative_matrices;
  }
  return result;
}

// ---- names: what the expressions of a spec may speak of -------------------------------------------------------------

// The words of qgen's own enumerations, by value.
inline constexpr auto kDTypes = names_of(qgen::kDTypes);
inline constexpr auto kStorages = names_of(qgen::kStorages);
inline constexpr auto kLayouts = names_of(qgen::kLayouts);

// The members of DeviceNumbers, in its order: the last names of every operator.
enum class DeviceNumber : uint16_t {
  subgroup_size,
  max_workgroup_invocations,
  max_workgroup_size_x,
  shared_memory_bytes,
  max_storage_buffer_bytes,
  max_image_extent,
  compute_units,
  is_cpu,
  is_integrated,
  bytes_per_us,
  f32_ops_per_us,
  int8_ops_per_us,
  launch_us,
  barrier_us,
  f16_ops_per_us,
  int8_matrix_ops_per_us,
  f16_matrix_ops_per_us,
  cache_bytes,
  cache_bytes_per_us,
  count_,
};
inline constexpr size_t kDeviceNumbers = static_cast<size_t>(DeviceNumber::count_);

inline constexpr NameInfo kDeviceNames[kDeviceNumbers] = {
    {"device.subgroup_size", {}},
    {"device.max_workgroup_invocations", {}},
    {"device.max_workgroup_size_x", {}},
    {"device.shared_memory_bytes", {}},
    {"device.max_storage_buffer_bytes", {}},
    {"device.max_image_extent", {}},
    {"device.compute_units", {}},
    {"device.is_cpu", {}},
    {"device.is_integrated", {}},
    {"device.bytes_per_us", {}},
    {"device.f32_ops_per_us", {}},
    {"device.int8_ops_per_us", {}},
    {"device.launch_us", {}},
    {"device.barrier_us", {}},
    {"device.f16_ops_per_us", {}},
    {"device.int8_matrix_ops_per_us", {}},
    {"device.f16_matrix_ops_per_us", {}},
    {"device.cache_bytes", {}},
    {"device.cache_bytes_per_us", {}},
};

// A real number as an integer, for showing: rounded toward zero, the nearest that fits.
constexpr Integer truncated(double number) {
  if (!(number > -9.2e18)) return INT64_MIN;
  return number < 9.2e18 ? static_cast<int64_t>(number) : INT64_MAX;
}

// As a specialization constant, which is a uint.
constexpr uint32_t as_constant(Integer value) {
  return value.value < 0 ? 0 : value.value > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(value.value);
}

constexpr Integer device_value(size_t number, const DeviceNumbers& device) {
  switch (static_cast<DeviceNumber>(number)) {
    case DeviceNumber::subgroup_size: return device.subgroup_size;
    case DeviceNumber::max_workgroup_invocations: return device.max_workgroup_invocations;
    case DeviceNumber::max_workgroup_size_x: return device.max_workgroup_size_x;
    case DeviceNumber::shared_memory_bytes: return device.shared_memory_bytes;
    case DeviceNumber::max_storage_buffer_bytes: return device.max_storage_buffer_bytes;
    case DeviceNumber::max_image_extent: return device.max_image_extent;
    case DeviceNumber::compute_units: return device.compute_units;
    case DeviceNumber::is_cpu: return device.is_cpu ? 1 : 0;
    case DeviceNumber::is_integrated: return device.is_integrated ? 1 : 0;
    case DeviceNumber::bytes_per_us: return truncated(device.bytes_per_us);
    case DeviceNumber::f32_ops_per_us: return truncated(device.f32_ops_per_us);
    case DeviceNumber::int8_ops_per_us: return truncated(device.int8_ops_per_us);
    case DeviceNumber::launch_us: return truncated(device.launch_us);
    case DeviceNumber::barrier_us: return truncated(device.barrier_us);
    case DeviceNumber::f16_ops_per_us: return truncated(device.f16_ops_per_us);
    case DeviceNumber::int8_matrix_ops_per_us: return truncated(device.int8_matrix_ops_per_us);
    case DeviceNumber::f16_matrix_ops_per_us: return truncated(device.f16_matrix_ops_per_us);
    case DeviceNumber::cache_bytes: return device.cache_bytes;
    case DeviceNumber::cache_bytes_per_us: return truncated(device.cache_bytes_per_us);
    case DeviceNumber::count_: break;
  }
  return 0;
}

// Expressions read single numbers: arrays are for kernels alone.
constexpr bool is_read(const FieldInfo& field) { return field.count == 1; }

template <typename Fields>
constexpr size_t count_read(const Fields& fields) {
  size_t count = 0;
  for (const FieldInfo& field : fields) count += is_read(field) ? 1 : 0;
  return count;
}

inline constexpr std::array<FieldInfo, 0> kNoFields{};

// A field that no choice depends on.
constexpr FieldInfo data(FieldInfo field) {
  field.is_data = true;
  return field;
}

// An operator's parameters and specialization constants, then the numbers of its problem, then those of the device.
template <const auto& fields, size_t N>
constexpr auto names(const std::array<NameInfo, N>& own) {
  std::array<NameInfo, N + count_read(fields) + kDeviceNumbers> result{};
  size_t end = 0;
  for (const NameInfo& name : own) result[end++] = name;
  for (const FieldInfo& field : fields) {
    if (is_read(field)) result[end++] = {field.name, field.words};
  }
  for (const NameInfo& name : kDeviceNames) result[end++] = name;
  return result;
}
template <const auto& fields, size_t N>
constexpr auto names(const NameInfo (&own)[N]) {
  return names<fields>(std::to_array(own));
}
template <const auto& fields>
constexpr auto names() {
  return names<fields>(std::array<NameInfo, 0>{});
}

// A field's number: what a word or a real is shown by, too.
inline Integer field_value(const FieldInfo& field, const void* problem) {
  const auto* bytes = static_cast<const std::byte*>(problem) + field.offset;
  const auto read = [bytes]<typename Number>(Number number) {
    std::memcpy(&number, bytes, sizeof(number));
    return number;
  };
  switch (field.kind) {
    case FieldInfo::Kind::u32: return read(uint32_t{});
    case FieldInfo::Kind::i32: return read(int32_t{});
    case FieldInfo::Kind::f32: return truncated(read(float{}));
  }
  return 0;
}

// The value of a name, counted from the first that names() puts behind an operator's own.
inline Integer value_behind_own(size_t name, std::span<const FieldInfo> fields, const SelectionScope& scope) {
  for (const FieldInfo& field : fields) {
    if (!is_read(field)) continue;
    if (name == 0) return field_value(field, scope.problem);
    --name;
  }
  return device_value(name, *scope.device);
}

// The place of a device number behind `own` names.
template <typename Name>
constexpr Name after(Name own, DeviceNumber number) {
  return static_cast<Name>(static_cast<uint16_t>(own) + static_cast<uint16_t>(number));
}

// The names that a condition speaks of: kNamesOf<Name::width, Name::vec>.
template <auto... Names>
inline constexpr uint16_t kNamesOf[] = {static_cast<uint16_t>(Names)...};

// ---- reading a SelectionScope ---------------------------------------------------------------------------------------

template <typename Problem>
const Problem& problem(const SelectionScope& scope) {
  return *static_cast<const Problem*>(scope.problem);
}
template <typename Parameters>
const Parameters& parameters(const SelectionScope& scope) {
  return *static_cast<const Parameters*>(scope.parameters);
}

// ---- expressions ----------------------------------------------------------------------------------------------------

// A word as its place in NameInfo::words.
template <typename Enumerator>
constexpr Integer word(Enumerator enumerator) {
  return static_cast<int64_t>(enumerator);
}

constexpr int first_false(std::initializer_list<bool> conditions) {
  int index = 0;
  for (const bool holds : conditions) {
    if (!holds) return index;
    ++index;
  }
  return kAllHold;
}

inline int all_hold(const SelectionScope&) { return kAllHold; }

constexpr uint32_t only(Layout layout) { return bit(layout); }

template <typename Enumerator>
constexpr uint8_t place(Enumerator enumerator) {
  return static_cast<uint8_t>(enumerator);
}

// ---- costs in steps -------------------------------------------------------------------------------------------------

// Of a function that finds what kernels share: `void(const SelectionScope&, std::span<const Terms>, Shared*)`.
template <typename Terms, typename Shared>
Shared shared_of(void (*)(const SelectionScope&, std::span<const Terms>, Shared*));
template <auto find>
using SharedOf = decltype(shared_of(find));

template <auto find, typename Shared>
Shared found_for(const SelectionScope& scope, const auto& terms) {
  Shared shared;
  find(scope, {&terms, 1}, &shared);
  return shared;
}

// The same of one kernel at once.
template <auto terms_of, auto costs_of, auto... find_shared>
Real cost(const SelectionScope& scope) {
  const auto terms = terms_of(scope);
  Real cost;
  if constexpr (sizeof...(find_shared) == 0) {
    costs_of(scope, {&terms, 1}, &cost);
  } else {
    constexpr uint32_t kPlaces[sizeof...(find_shared)] = {};
    const auto with = [&](const auto&... shared) { costs_of(scope, {&terms, 1}, kPlaces, &shared..., &cost); };
    with(found_for<find_shared, SharedOf<find_shared>>(scope, terms)...);
  }
  return cost;
}

template <typename Terms, auto... find>
inline constexpr std::array<SharedTerms, sizeof...(find)> kSharedTerms = {
    SharedTerms{SharedOf<find>::kTerms, sizeof(SharedOf<find>),
                [](const SelectionScope& scope, const void* terms, size_t count, void* shared) {
                  find(scope, {static_cast<const Terms*>(terms), count}, static_cast<SharedOf<find>*>(shared));
                }}...};

// Of shared terms by their types: clang 14 does not expand functions and numbers together.
template <typename... Shared>
struct SharedTypes {};

template <auto costs_of, typename Terms, typename... Shared, size_t... i>
void costs_with(const SelectionScope& scope, std::span<const Terms> terms, const CostedKernels& kernels, Real* costs,
                SharedTypes<Shared...>, std::index_sequence<i...>) {
  costs_of(scope, terms, kernels.places, static_cast<const Shared*>(kernels.shared[i])..., costs);
}

template <typename Terms, auto costs_of, auto... find_shared>
void costs(const SelectionScope& scope, const CostedKernels& kernels, Real* costs) {
  const std::span terms(static_cast<const Terms*>(kernels.terms), kernels.count);
  if constexpr (sizeof...(find_shared) == 0) {
    costs_of(scope, terms, costs);
  } else {
    costs_with<costs_of>(scope, terms, kernels, costs, SharedTypes<SharedOf<find_shared>...>(),
                         std::index_sequence_for<SharedOf<find_shared>...>());
  }
}

template <auto terms_of, auto costs_of, auto... find_shared>
inline constexpr StagedCost kStagedCost = [] {
  using Terms = decltype(terms_of(SelectionScope{}));
  return StagedCost{sizeof(Terms), [](const SelectionScope& scope, void* terms) { new (terms) Terms(terms_of(scope)); },
                    kSharedTerms<Terms, find_shared...>, costs<Terms, costs_of, find_shared...>};
}();

// ---- steps of recipes -----------------------------------------------------------------------------------------------

template <typename Operand>
constexpr OperandSource ours(Operand operand) {
  return {false, place(operand)};
}
template <typename Operand>
constexpr OperandSource ours(Operand operand, Layout seen_as) {
  return {false, place(operand), place(seen_as)};
}
constexpr OperandSource scratch(uint8_t index) { return {true, index}; }
constexpr OperandSource scratch(uint8_t index, Layout seen_as) { return {true, index, place(seen_as)}; }
constexpr OperandSource kNoSource = {false, kAbsent};

// Values past the field's range become its nearest.
template <typename Field>
void set(Required<Field>& field, Integer value) {
  constexpr int64_t least = static_cast<int64_t>(static_cast<Field>(-1) < Field{0} ? INT32_MIN : 0);
  constexpr int64_t most = static_cast<Field>(-1) < Field{0} ? int64_t{INT32_MAX} : int64_t{UINT32_MAX};
  field = static_cast<Field>(value.value < least ? least : value.value > most ? most : value.value);
}
inline void set(Required<float>& field, Real value) { field = static_cast<float>(value.value); }

}  // namespace qgen::table
