// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/device_names.h"

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

constexpr DeviceName kDeviceNames[] = {
#define QGEN_DEVICE_NUMBER(type, name, start) \
  DeviceName{#name, type_of_member(&DeviceNumbers::name), value_of_member<&DeviceNumbers::name>},
#include "vocabulary/device_number_rows.inc"
};

}  // namespace

std::span<const DeviceName> device_names() { return kDeviceNames; }

}  // namespace qgen::spec
