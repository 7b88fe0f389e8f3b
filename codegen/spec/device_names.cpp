// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/device_names.h"

#include <array>
#include <type_traits>

namespace qgen::spec {
namespace {

using expression::Type;

template <typename Member>
constexpr Type type_of_member(Member DeviceNumbers::*) {
  if constexpr (std::is_same_v<Member, bool>) return Type::boolean;
  if constexpr (std::is_same_v<Member, double>) return Type::real;
  static_assert(std::is_same_v<Member, bool> || std::is_same_v<Member, double> || std::is_same_v<Member, int64_t>);
  return Type::integer;
}

template <auto member>
expression::Value value_of_member(const DeviceNumbers& numbers) {
  using Member = std::remove_cvref_t<decltype(numbers.*member)>;
  if constexpr (std::is_same_v<Member, bool>) return numbers.*member;
  else if constexpr (std::is_same_v<Member, double>) return Real(numbers.*member);
  else return Integer(numbers.*member);
}

// The name and the type are the member's own, so neither can be wrong here; that none is missing, the size says.
#define QGEN_DEVICE_NAME(member) \
  DeviceName { #member, type_of_member(&DeviceNumbers::member), value_of_member < &DeviceNumbers::member> }
constexpr std::array kDeviceNames = {
    QGEN_DEVICE_NAME(subgroup_size),
    QGEN_DEVICE_NAME(max_workgroup_invocations),
    QGEN_DEVICE_NAME(max_workgroup_size_x),
    QGEN_DEVICE_NAME(shared_memory_bytes),
    QGEN_DEVICE_NAME(max_storage_buffer_bytes),
    QGEN_DEVICE_NAME(max_image_extent),
    QGEN_DEVICE_NAME(compute_units),
    QGEN_DEVICE_NAME(is_cpu),
    QGEN_DEVICE_NAME(is_integrated),
    QGEN_DEVICE_NAME(bytes_per_us),
    QGEN_DEVICE_NAME(f32_ops_per_us),
    QGEN_DEVICE_NAME(int8_ops_per_us),
    QGEN_DEVICE_NAME(launch_us),
    QGEN_DEVICE_NAME(barrier_us),
    QGEN_DEVICE_NAME(f16_ops_per_us),
    QGEN_DEVICE_NAME(int8_matrix_ops_per_us),
    QGEN_DEVICE_NAME(f16_matrix_ops_per_us),
    QGEN_DEVICE_NAME(cache_bytes),
    QGEN_DEVICE_NAME(cache_bytes_per_us),
};
#undef QGEN_DEVICE_NAME
static_assert(sizeof(DeviceNumbers) == 18 * sizeof(int64_t), "a member of DeviceNumbers has no row in kDeviceNames");

}  // namespace

std::span<const DeviceName> device_names() { return kDeviceNames; }

}  // namespace qgen::spec
