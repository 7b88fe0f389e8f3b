// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Helpers for the tables that qgen generates: with them, a generated .cpp file consists of data and expressions. Only
// generated .cpp files include this header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string_view>

#include "runtime/engine/library/kernel_info.h"
#include "runtime/engine/library/required.h"

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

// ---- interfaces: the bindings, needed features and resources of a family's modules ----------------------------------

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

// ---- names: everything that the expressions of a spec can read ------------------------------------------------------

// The words of qgen's own enumerations, by value.
inline constexpr auto kDTypes = names_of(qgen::kDTypes);
inline constexpr auto kStorages = names_of(qgen::kStorages);
inline constexpr auto kLayouts = names_of(qgen::kLayouts);

// The members of DeviceNumbers, in its order: the last names of every operator.
enum class DeviceNumber : uint16_t {
#define QGEN_DEVICE_NUMBER(type, name, start) name,
#include "vocabulary/device_number_rows.inc"
  count_,
};
inline constexpr size_t kDeviceNumbers = static_cast<size_t>(DeviceNumber::count_);

inline constexpr NameInfo kDeviceNames[kDeviceNumbers] = {
#define QGEN_DEVICE_NUMBER(type, name, start) {"device." #name, {}},
#include "vocabulary/device_number_rows.inc"
};

// A floating-point number as an integer, for messages: rounded toward zero, and saturated.
constexpr Integer truncated(double number) {
  if (!(number > -9.2e18)) return INT64_MIN;
  return number < 9.2e18 ? static_cast<int64_t>(number) : INT64_MAX;
}

// As a specialization constant, which is a uint.
constexpr uint32_t as_constant(Integer value) {
  return value.value < 0 ? 0 : value.value > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(value.value);
}

constexpr Integer truncated(int64_t number) { return number; }
constexpr Integer truncated(bool number) { return number ? 1 : 0; }

constexpr Integer device_value(size_t number, const DeviceNumbers& device) {
  const Integer values[] = {
#define QGEN_DEVICE_NUMBER(type, name, start) truncated(device.name),
#include "vocabulary/device_number_rows.inc"
  };
  return number < kDeviceNumbers ? values[number] : Integer(0);
}

// Expressions read single numbers. Only kernels read arrays.
constexpr bool is_read(const FieldInfo& field) { return field.count == 1; }

template <typename Fields>
constexpr size_t count_read(const Fields& fields) {
  size_t count = 0;
  for (const FieldInfo& field : fields) count += is_read(field) ? 1 : 0;
  return count;
}

inline constexpr std::array<FieldInfo, 0> kNoFields{};

// Marks a field on which no choice depends.
constexpr FieldInfo data(FieldInfo field) {
  field.is_data = true;
  return field;
}

// An operator's parameters and specialization constants, then the numbers of its problem, then the numbers of the
// device.
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

// A field's value as an integer. Messages print words and floating-point numbers from it.
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

// The value of a name after the operator's axes, as names() lists them: problem fields, then device numbers.
inline Integer value_behind_own(size_t name, std::span<const FieldInfo> fields, const SelectionScope& scope) {
  for (const FieldInfo& field : fields) {
    if (!is_read(field)) continue;
    if (name == 0) return field_value(field, scope.problem);
    --name;
  }
  return device_value(name, *scope.device);
}

// The index of a device number in a list of names that begins with `own` other names.
template <typename Name>
constexpr Name after(Name own, DeviceNumber number) {
  return static_cast<Name>(static_cast<uint16_t>(own) + static_cast<uint16_t>(number));
}

// The names that a condition reads: kNamesOf<Name::width, Name::vec>.
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

// A word as its index in NameInfo::words.
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

// Bit i is set if condition i holds.
constexpr uint64_t bits_of(std::initializer_list<bool> conditions) {
  uint64_t bits = 0, bit = 1;
  for (const bool holds : conditions) {
    if (holds) bits |= bit;
    bit <<= 1;
  }
  return bits;
}

inline int all_hold(const SelectionScope&) { return kAllHold; }

constexpr uint32_t only(Layout layout) { return bit(layout); }

template <typename Enumerator>
constexpr uint8_t place(Enumerator enumerator) {
  return static_cast<uint8_t>(enumerator);
}

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

// Values outside the field's range are clamped to it.
template <typename Field>
void set(Required<Field>& field, Integer value) {
  constexpr int64_t least = static_cast<int64_t>(static_cast<Field>(-1) < Field{0} ? INT32_MIN : 0);
  constexpr int64_t most = static_cast<Field>(-1) < Field{0} ? int64_t{INT32_MAX} : int64_t{UINT32_MAX};
  field = static_cast<Field>(value.value < least ? least : value.value > most ? most : value.value);
}
inline void set(Required<float>& field, Real value) { field = static_cast<float>(value.value); }

}  // namespace qgen::table
