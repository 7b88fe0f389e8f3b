// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The kernels that --prune keeps can run every problem that all shipped kernels can. Measured and random problems of
// every operator are tried, on every device of devices/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "registry.h"
#include "runtime/engine/library/signature_info.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/tuning/tuning_file.h"
#include "tests/support/shipped_devices.h"
#include "tests/support/source_folder.h"
#include "tests/support/tensors.h"
#include "vocabulary/layouts.h"

// From its own registry.h: the shipped kernels have one of that name too.
namespace pruned {
const qgen::LibraryInfo& library();
}

namespace qgen {
namespace {

std::vector<DeviceProfile> devices() {
  std::vector<DeviceProfile> devices = tests::shipped_devices();
  // A device with Vulkan's required features, and int8 in memory.
  DeviceProfile least;
  least.name = "least";
  least.max_storage_buffers_per_stage = 16;
  least.features = bit(Feature::storage_buffer_8bit) | bit(Feature::storage_buffer_16bit) | bit(Feature::shader_int8);
  devices.push_back(least);
  return devices;
}

class Pruned : public ::testing::Test {
 protected:
  Pruned() : whole_(*KernelLibrary::open(generated::library())), rest_(*KernelLibrary::open(pruned::library())) {}

  bool has_choice(const Problem& problem, const DeviceProfile& device, const KernelLibrary& library) {
    Problem asked = problem;
    asked.op = library.find(problem.op->name);
    const SelectOptions options{.best_only = true, .best_or_nothing = true};
    return !select(asked, device, library, options).ranked.empty();
  }
  // Whether there was a choice.
  bool expect_choice(const Problem& problem, const DeviceProfile& device) {
    if (!has_choice(problem, device, whole_)) return false;
    EXPECT_TRUE(has_choice(problem, device, rest_)) << key_of(problem) << "\non " << device.name;
    return true;
  }

  KernelLibrary whole_, rest_;
};

TEST_F(Pruned, IsSmaller) {
  size_t kernels = 0, rest = 0;
  for (const OperatorInfo* op : whole_.operators()) kernels += op->kernels.size();
  for (const OperatorInfo* op : rest_.operators()) rest += op->kernels.size();
  EXPECT_LT(rest, kernels);
  EXPECT_EQ(rest_.operators().size(), whole_.operators().size());
}

TEST_F(Pruned, RunsWhatWasMeasured) {
  const tuning::TuningFile table = *tuning::load_tuning_file(tests::source_folder() + "/tuning/nvidia-h200.yaml");
  std::set<std::string> keys;
  for (const tuning::TunedRow& row : table.rows) keys.insert(row.problem);
  for (const DeviceProfile& device : devices()) {
    for (const std::string& key : keys) {
      const auto problem = problem_of(key, whole_);
      ASSERT_TRUE(problem) << key;
      expect_choice(*problem, device);
    }
  }
}

// ---- made-up problems -----------------------------------------------------------------------------------------------

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  Problem problem_of(const SignatureInfo& signature) {
    Problem problem{signature.op, std::vector<std::byte>(signature.op->problem_bytes), {}};
    if (below(3) == 0) large_field_ = &signature.op->fields[below(signature.op->fields.size())];
    for (const FieldInfo& field : signature.op->fields) fill(field, problem.fields);
    for (size_t i = 0; i < signature.op->operands.size(); ++i) problem.operands.push_back({});
    for (const TensorInfo& tensor : signature.tensors) problem.operands[tensor.operand] = operand_of(tensor);
    // By default, an output has the dtype of the input, and a residual the output's representation.
    const bool says_dtype = std::ranges::any_of(
        signature.attributes, [](const AttributeInfo& info) { return info.kind == AttributeInfo::Kind::dtype; });
    const DType of_input = problem.operands[signature.tensors.front().operand].dtype;
    const auto output = std::ranges::find(signature.tensors, TensorInfo::Role::output, &TensorInfo::role);
    for (const TensorInfo& tensor : signature.tensors) {
      OperandDesc& desc = problem.operands[tensor.operand];
      const bool follows = tensor.role == TensorInfo::Role::output && (tensor.dtypes & bit(of_input)) != 0;
      if (follows && !says_dtype) desc.dtype = of_input;
      if (tensor.name == "residual") desc.layout = problem.operands[output->operand].layout;
    }
    return problem;
  }

 private:
  size_t below(size_t count) { return static_cast<size_t>(random_.integer(0, static_cast<int64_t>(count) - 1)); }

  // Most are small, some are round. One number of a problem may exceed a CPU's loops; then the others are so small that
  // no three of them exceed a buffer.
  uint32_t size(bool is_large) {
    static constexpr uint32_t kSizes[] = {0,  1,  1,  1,  2,   3,   4,   5,   8,    12,  16,
                                          17, 31, 32, 64, 100, 128, 256, 512, 1000, 1024};
    if (is_large) return below(2) == 0 ? 1'200'000 : 131'072;
    return std::min(kSizes[below(std::size(kSizes))], large_field_ ? 32U : 1024U);
  }

  void fill(const FieldInfo& field, std::vector<std::byte>& bytes) {
    for (size_t i = 0; i < field.count; ++i) {
      const uint32_t value =
          field.words.empty() ? size(&field == large_field_) : static_cast<uint32_t>(below(field.words.size()));
      const float real = static_cast<float>(value);
      const void* from = field.kind == FieldInfo::Kind::f32 ? static_cast<const void*>(&real) : &value;
      std::memcpy(bytes.data() + field.offset + 4 * i, from, 4);
    }
  }

  template <typename Enum>
  Enum one_of(uint32_t mask, Enum otherwise) {
    std::vector<Enum> values;
    for (uint32_t i = 0; i < 32; ++i) {
      if ((mask >> i & 1) != 0) values.push_back(static_cast<Enum>(i));
    }
    return values.empty() ? otherwise : values[below(values.size())];
  }

  OperandDesc operand_of(const TensorInfo& tensor) {
    OperandDesc desc;
    desc.is_present = !tensor.is_optional || below(2) == 0;
    desc.dtype = one_of(tensor.dtypes, DType::f32);
    desc.storage = one_of(tensor.storages, Storage::buffer);
    uint32_t layouts = 0;
    for (const LayoutInfo& row : kLayouts) {
      if (row.storage == desc.storage && has_layout(tensor.layouts, desc.storage, row.layout))
        layouts |= bit(row.layout);
    }
    desc.layout = one_of(layouts, Layout::strided);
    if (tensor.role == TensorInfo::Role::weight) desc.other_layouts = tensor.layouts;
    return desc;
  }

  testing::Random random_;
  const FieldInfo* large_field_ = nullptr;
};

TEST_F(Pruned, RunsMadeUpProblemsOfEveryOperator) {
  constexpr size_t kProblems = 3000;
  const std::vector<DeviceProfile> all = devices();
  uint32_t seed = 1;
  for (const SignatureInfo* signature : generated::library().signatures) {
    size_t choices = 0;
    for (size_t i = 0; i < kProblems; ++i) {
      const Problem problem = Maker(seed++).problem_of(*signature);
      choices += expect_choice(problem, all[i % all.size()]);
      ASSERT_FALSE(HasFailure()) << signature->name;
    }
    EXPECT_GT(choices, 5u) << signature->name;
  }
}

}  // namespace
}  // namespace qgen
