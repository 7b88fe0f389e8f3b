// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// SPIR-V -> interface: the bindings of a module, and the device features that it needs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/diagnostic.h"
#include "runtime/engine/library/kernel_info.h"

namespace qgen::reflect {

struct Member {
  std::string name;
  uint32_t offset = 0;
  uint32_t size_bytes = 0;  // the whole member, arrays included
  uint32_t count = 1;
  enum class Kind : uint8_t { u32, i32, f32, other } kind = Kind::u32;
  friend bool operator==(const Member&, const Member&) = default;
};

struct Binding {
  uint32_t set = 0;
  uint32_t binding = 0;
  BindingKind kind = BindingKind::storage_buffer;
  Access access = Access::read;
  std::string name;             // of the block or image
  std::vector<Member> members;  // of a buffer block whose members are all of fixed size; a problem buffer's fields
  bool is_aliased = false;      // its bytes may be another binding's too
  friend bool operator==(const Binding&, const Binding&) = default;
};

struct SpecializationConstant {
  std::string name;
  uint32_t constant_id = 0;
  uint32_t default_value = 0;
  friend bool operator==(const SpecializationConstant&, const SpecializationConstant&) = default;
};

// The properties of a module for given specialization values.
struct Resources {
  std::array<uint32_t, 3> workgroup{1, 1, 1};
  uint32_t shared_bytes = 0;
  // Sorted, unique. A row with three sides is a multiplication. A row with a side of 0 is a matrix that the module only
  // loads, stores or converts, with its dtype in all four places. n == 0: an A of m x k; m == 0: a B of k x n; k == 0:
  // an accumulator of m x n. A device has it if any of its shapes has such a matrix in that role.
  std::vector<CooperativeMatrixShape> cooperative_matrices;
};

struct Interface {
  std::vector<Binding> bindings;  // by set, then binding
  std::vector<Member> push_constants;
  uint32_t push_constants_bytes = 0;
  std::vector<SpecializationConstant> specialization;  // by constant_id
  FeatureMask needs = 0;
  Resources defaults;
};

// Errors (without a location, since the caller knows the variant): damaged words, a module without exactly one compute
// entry point, a capability without a qgen feature, an unknown descriptor type. Names are there if the module was not
// stripped.
Result<Interface> reflect(std::span<const uint32_t> spirv);

// The same when constant `ids[i]` has `values[i]`, by evaluating the module's OpSpecConstantOp. Errors: an operation in
// an array length, a workgroup size or the shape of a matrix that is not integer arithmetic.
Result<Resources> resources_with(std::span<const uint32_t> spirv, std::span<const uint32_t> ids,
                                 std::span<const uint32_t> values);
// The same of each row, in which constant i has the i-th value.
Result<std::vector<Resources>> resources_of_rows(std::span<const uint32_t> spirv,
                                                 std::span<const std::vector<uint32_t>> rows);

std::string to_text(const CooperativeMatrixShape& shape);
std::string to_text(const Interface& interface);

// The module's source in another language, by SPIRV-Cross, or why there is none.
enum class Language : uint8_t { msl, hlsl };
struct NoTranslation {
  std::string reason;
};
Outcome<std::string, NoTranslation> translate(std::span<const uint32_t> spirv, Language language);

}  // namespace qgen::reflect
