// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A template of cooperative matrices through all rooms, from YAML to the device. Its axis of shapes is under
// `parameters` (matrix_product) and under `specialization` (late_matrix_product). The shape becomes a need of the
// kernels, and a device without the shape gets a refusal. Kernels run where the device has their shape.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "late_matrix_product.h"
#include "matrix_product.h"
#include "registry.h"
#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/selector/fit.h"
#include "runtime/engine/selector/select.h"
#include "tests/support/device_test.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using testing::DeviceTest;
namespace product = matrix_tests::matrix_product;
namespace late = matrix_tests::late_matrix_product;

const KernelLibrary& library() {
  static const auto opened = KernelLibrary::open(matrix_tests::library());
  return *opened;
}

// The two operators have problems of the same fields.
Problem problem(const product::Problem& sizes, const OperatorInfo& op = product::op) {
  const OperandDesc factor{DType::i8}, sum{DType::i32};
  if (&op == &product::op) return make_problem(sizes, {.a = factor, .b = factor, .c = sum});
  return make_problem(late::Problem{.m = sizes.m, .n = sizes.n, .k = sizes.k}, {.a = factor, .b = factor, .c = sum});
}

constexpr CooperativeMatrixShape shape_of(uint16_t m, uint16_t n, uint16_t k) {
  return {m, n, k, DType::i8, DType::i8, DType::i32, DType::i32, false};
}

// Everything but a shape.
DeviceProfile profile_without_shapes() {
  DeviceProfile profile;
  profile.name = "Example GPU 1";
  profile.features = ~FeatureMask{0};
  return profile;
}

// ---- tables ---------------------------------------------------------------------------------------------------------

TEST(Matrices, RecordsAreOneChoiceInIds) {
  std::vector<std::string> ids;
  for (const KernelInfo& kernel : product::op.kernels) ids.push_back(selector::kernel_id(product::op, kernel, 3));
  EXPECT_THAT(ids, ::testing::ElementsAre("matrix_product.m16n16k32.unroll1/rows2columns2.workgroup32",
                                          "matrix_product.m16n16k32.unroll2/rows2columns2.workgroup32",
                                          "matrix_product.m8n8k8.unroll1/rows2columns2.workgroup32",
                                          "matrix_product.m8n8k8.unroll2/rows2columns2.workgroup32"));
}

TEST(Matrices, ModulesNeedTheShapeOfTheirVariant) {
  for (const KernelInfo& kernel : product::op.kernels) {
    const product::Parameters& parameters = product::parameters(kernel);
    const auto shapes = product::op.interface_of(kernel).cooperative_matrices_of(0);
    const auto wanted = shape_of(static_cast<uint16_t>(parameters.shape_m), static_cast<uint16_t>(parameters.shape_n),
                                 static_cast<uint16_t>(parameters.shape_k));
    ASSERT_EQ(shapes.size(), 1U) << kernel.id;
    EXPECT_EQ(shapes[0], wanted) << kernel.id;
  }
}

TEST(Matrices, ShapesFollowTheConstants) {
  const auto& interface = late::op.interface_of(late::kernel(late::Variant::unroll2));
  for (size_t row = 0; row < late::op.specialization_count(); ++row) {
    const uint32_t* values = late::op.specialization(row);
    const auto wanted =
        shape_of(static_cast<uint16_t>(values[0]), static_cast<uint16_t>(values[1]), static_cast<uint16_t>(values[2]));
    ASSERT_EQ(interface.cooperative_matrices_of(row).size(), 1U);
    EXPECT_EQ(interface.cooperative_matrices_of(row)[0], wanted) << selector::specialization_id(late::op, row);
  }
}

TEST(Matrices, SharedMemoryFollowsTheConstants) {
  const KernelInfo& kernel = product::kernel(product::Variant::m16n16k32_unroll2);
  const auto& interface = product::op.interface_of(kernel);
  for (size_t row = 0; row < product::op.specialization_count(); ++row) {
    const uint32_t* values = product::op.specialization(row);
    EXPECT_EQ(interface.shared_bytes_of(row), 16 * 32 * 2 * (values[0] + values[1]))
        << selector::specialization_id(product::op, row);
    EXPECT_EQ(interface.workgroup_of(row)[0], values[2]);
  }
}

// ---- choosing -------------------------------------------------------------------------------------------------------

TEST(Matrices, ADeviceWithoutTheShapeIsToldSo) {
  DeviceProfile profile = profile_without_shapes();
  profile.cooperative_matrices = {shape_of(16, 16, 16), shape_of(16, 8, 32)};
  const Selection selection = select(problem({64, 64, 64}), profile, library());
  EXPECT_TRUE(selection.ranked.empty());
  EXPECT_TEXT(explain(selection),
              "no kernel fits matrix_product of a i8 buffer, b i8 buffer -> c i32 buffer (m = 64, n = 64, "
              "k =\n"
              "    64) on \"Example GPU 1\"\n"
              "  matrix_product.m16n16k32.unroll1 and 1 more: needs cooperative matrices 16 x 16 x 32 of "
              "i8 and\n"
              "      i8 to i32 per subgroup, which the device lacks\n"
              "  matrix_product.m8n8k8.unroll1 and 1 more: needs cooperative matrices 8 x 8 x 8 of i8 and "
              "i8 to\n"
              "      i32 per subgroup, which the device lacks\n");
}

TEST(Matrices, ADeviceWithOneOfTheShapesTakesThatRow) {
  DeviceProfile profile = profile_without_shapes();
  profile.cooperative_matrices = {shape_of(8, 8, 8)};
  const Selection selection =
      select(problem({32, 64, 64}, late::op), profile, library(), {.all_specializations = true});
  std::vector<std::string> ids;
  for (const Choice& choice : selection.ranked) ids.push_back(choice.id);
  EXPECT_THAT(ids, ::testing::ElementsAre("late_matrix_product.unroll1/m8n8k8.rows1columns2.workgroup32",
                                          "late_matrix_product.unroll2/m8n8k8.rows1columns2.workgroup32"));
  ASSERT_EQ(selection.rejected.size(), 6U);
  EXPECT_EQ(selection.rejected[0].id, "late_matrix_product.unroll1/m16n16k32.rows1columns2.workgroup8");
  EXPECT_TEXT(selection.rejected[0].reason,
              "needs cooperative matrices 16 x 16 x 32 of i8 and i8 to i32 per subgroup, which the device lacks");
}

TEST(Matrices, ADeviceWithTheShapeRunsIt) {
  DeviceProfile profile = profile_without_shapes();
  profile.cooperative_matrices = {shape_of(16, 16, 32)};
  const Selection selection = select(problem({64, 64, 64}), profile, library(), {.all_specializations = true});
  std::vector<std::string> ids;
  for (const Choice& choice : selection.ranked) ids.push_back(choice.id);
  EXPECT_THAT(ids, ::testing::UnorderedElementsAre("matrix_product.m16n16k32.unroll1/rows1columns1.workgroup32",
                                                   "matrix_product.m16n16k32.unroll1/rows2columns2.workgroup32",
                                                   "matrix_product.m16n16k32.unroll2/rows1columns1.workgroup32",
                                                   "matrix_product.m16n16k32.unroll2/rows2columns2.workgroup32"));
}

// ---- running --------------------------------------------------------------------------------------------------------

// Values from -128 to 127 in a fixed order.
HostTensor scrambled(const Shape& shape, uint32_t seed) {
  HostTensor tensor = zeros(DType::i8, shape);
  for (int8_t& value : tensor.as<int8_t>()) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<int8_t>(seed >> 24);
  }
  return tensor;
}

HostTensor host_product(const HostTensor& a, const HostTensor& b) {
  HostTensor c = zeros(DType::i32, {a.shape[0], b.shape[1]});
  const auto columns = static_cast<size_t>(b.shape[1]), depth = static_cast<size_t>(a.shape[1]);
  for (size_t i = 0; i < c.as<int32_t>().size(); ++i) {
    for (size_t l = 0; l < depth; ++l) {
      c.as<int32_t>()[i] += a.as<int8_t>()[i / columns * depth + l] * b.as<int8_t>()[l * columns + i % columns];
    }
  }
  return c;
}

class MatricesOnDevice : public DeviceTest, public ::testing::WithParamInterface<const OperatorInfo*> {
 protected:
  // A device may also take multiples of a shape that it lists; llvmpipe compiles those for a minute.
  static bool is_listed(const Choice& choice) {
    const Launch& launch = choice.launches.front();
    const auto shapes = launch.op->interface_of(*launch.kernel).cooperative_matrices_of(launch.specialization);
    return std::ranges::count(device().profile().cooperative_matrices, shapes.front()) != 0;
  }
};

TEST_P(MatricesOnDevice, EveryKernelThatFitsGivesTheProduct) {
  const product::Problem sizes{32, 48, 64};
  Selection selection =
      select(problem(sizes, *GetParam()), device().profile(), library(), {.all_specializations = true});
  std::erase_if(selection.ranked, [](const Choice& choice) { return !is_listed(choice); });
  if (selection.ranked.empty()) GTEST_SKIP() << explain(selection);

  const HostTensor a = scrambled({sizes.m, sizes.k}, 1), b = scrambled({sizes.k, sizes.n}, 2);
  const HostTensor expected = host_product(a, b);
  auto executor = Executor::create(device(), library(), {.guard_bytes = 64});
  ASSERT_TRUE(executor) << to_text(executor.error());
  const auto a_there = executor->upload(a, Storage::buffer), b_there = executor->upload(b, Storage::buffer);
  const auto c_there = executor->allocate(DType::i32, expected.shape, Storage::buffer);
  ASSERT_TRUE(a_there && b_there && c_there);
  for (const Choice& choice : selection.ranked) {
    SCOPED_TRACE(choice.id);
    ASSERT_TRUE(executor->fill(*c_there, 0xa5));
    const Work work{&choice, {&*a_there, &*b_there, &*c_there}};
    auto recording = executor->record({&work, 1});
    ASSERT_TRUE(recording) << to_text(recording.error());
    ASSERT_TRUE(executor->run(*recording));
    const auto c = executor->download(*c_there);
    ASSERT_TRUE(c);
    EXPECT_EQ(c->data, expected.data);
    EXPECT_TRUE(*executor->guards_are_intact(*c_there));
  }
}

INSTANTIATE_TEST_SUITE_P(Both, MatricesOnDevice, ::testing::Values(&product::op, &late::op),
                         [](const auto& row) { return std::string(row.param->name); });

}  // namespace
}  // namespace qgen
