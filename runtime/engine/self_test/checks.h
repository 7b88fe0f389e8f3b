// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The checks, apart from the device: what a kernel of specs/check is given, and whether its results are right. A test
// replaces the device by a function that computes wrongly.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/self_test/self_test.h"
#include "runtime/engine/tensor/tensor.h"

namespace qgen::self_test {

// What a kernel is given. Elements of 8 and 16 bits are one a word here.
struct Task {
  std::string kernel;  // "check_feature.int8_u32", a variant
  DType dtype = DType::u32;
  uint32_t items = 0;
  std::vector<uint32_t> input;
  size_t outputs = 0;  // elements
  // Of check_matrix: the shape.
  std::optional<CooperativeMatrixShape> shape = std::nullopt;
};

// Computes a task. The error is of kind unsupported if the device lacks what the kernel needs.
using Compute = std::function<Expected<std::vector<uint32_t>>(const Task&)>;

// All checks of check_feature, and of check_matrix for each shape of the profile that its specialization lists.
std::vector<Finding> check_all(const DeviceProfile& profile, const Compute& compute);

// What a device of this profile has to compute, for tests. Subgroups have `profile.numbers.subgroup_size` invocations.
std::vector<uint32_t> ideal(const DeviceProfile& profile, const Task& task);

// matrix_check.cpp
std::vector<Finding> check_matrices(const DeviceProfile& profile, const Compute& compute);
std::vector<uint32_t> ideal_matrices(const Task& task);

// The finding of a task that was computed, or not; `wrong` of the results, empty: they are right.
struct Judgement {
  std::string wrong;
  std::string remark = {};
};
Finding finding_of(std::string name, const Expected<std::vector<uint32_t>>& computed,
                   const std::function<Judgement(std::span<const uint32_t>)>& judge);

}  // namespace qgen::self_test
