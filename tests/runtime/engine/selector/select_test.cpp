// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Choices of select(), with complete explanations, because users read these.
#include "runtime/engine/selector/select.h"

#include <gmock/gmock.h>

#include <functional>

#include "runtime/engine/selector/choice_cost.h"
#include "tests/runtime/engine/library/sample_tables.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

// A device that all sample kernels fit, apart from those on cooperative matrices.
DeviceProfile sample_device() {
  DeviceProfile device;
  device.name = "Example GPU 1";
  device.features = bit(Feature::storage_buffer_16bit) | bit(Feature::shader_float16) |
                    bit(Feature::storage_buffer_8bit) | bit(Feature::subgroup_arithmetic);
  device.max_workgroup_size = {1024, 1024, 64};
  device.numbers.max_workgroup_invocations = 1024;
  device.numbers.shared_memory_bytes = 49152;
  device.min_subgroup_size = device.max_subgroup_size = 32;
  return device;
}

OperandDesc buffer(DType dtype) { return {.dtype = dtype}; }
OperandDesc texture(DType dtype, Layout layout) { return {dtype, Storage::texture3d, layout}; }
OperandDesc absent() { return {.is_present = false}; }

// The tables are written by hand, so there is nothing to name operands by.
template <typename Fields>
Problem sample_problem(const OperatorInfo& op, const Fields& fields, std::vector<OperandDesc> operands) {
  return make_problem(op, std::as_bytes(std::span(&fields, 1)), std::move(operands));
}

Problem scale_rows(uint32_t rows, uint32_t width, OperandDesc input = buffer(DType::f32),
                   OperandDesc output = buffer(DType::f32), OperandDesc factor = buffer(DType::f32)) {
  return sample_problem(test::scale_rows::kOperator, test::scale_rows::Problem{rows, width, 0.5f},
                        {input, factor, output});
}
Problem sum(uint32_t count) {
  return sample_problem(test::sum::kOperator, test::sum::Problem{count}, {buffer(DType::f32), buffer(DType::f32)});
}
Problem multiply(uint32_t m, uint32_t n, uint32_t k) {
  return sample_problem(test::multiply::kOperator, test::multiply::Problem{m, n, k},
                        {buffer(DType::i8), buffer(DType::i8), buffer(DType::i32)});
}

struct SelectCase {
  std::string_view name;
  Problem problem;
  std::function<void(DeviceProfile&)> change;  // of sample_device()
  SelectOptions options;
  std::string_view explanation;
};

void as_it_is(DeviceProfile&) {}

const SelectCase kCases[] = {
    {"the cheapest specialization of each variant",
     scale_rows(4, 1024),
     as_it_is,
     {},
     R"(
scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1024,
    alpha = 0.5) on "Example GPU 1"
   1  8.277 us estimated  scale_rows.f32.buffer.vec4/workgroup128
   2  18.11 us estimated  scale_rows.f32.buffer.vec1/workgroup128
not these:
  (3 more accept other dtypes or layouts)
)"},
    {"a side that does not divide", scale_rows(4, 1023), as_it_is, {}, R"(
scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1023,
    alpha = 0.5) on "Example GPU 1"
   1  18.09 us estimated  scale_rows.f32.buffer.vec1/workgroup128
not these:
  scale_rows.f32.buffer.vec4: width 1023 is not a multiple of vec 4
  (3 more accept other dtypes or layouts)
)"},
    {"all specializations",
     scale_rows(1, 100, buffer(DType::f16), buffer(DType::f16)),
     as_it_is,
     {.all_specializations = true},
     R"(
scale_rows of input f16 buffer, factor f32 buffer -> output f16 buffer (rows = 1, width = 100,
    alpha = 0.5) on "Example GPU 1"
   1  5.06 us estimated  scale_rows.f16.buffer.vec4/workgroup64
   2  5.24 us estimated  scale_rows.f16.buffer.vec1/workgroup64
not these:
  scale_rows.f16.buffer.vec1/workgroup128 and 1 more: applies_when `dtype == f32 or rows * width
      >= workgroup` does not hold: dtype = f16, workgroup = 128, rows = 1, width = 100
  scale_rows.f16.buffer.vec1/workgroup256 and 1 more: applies_when `dtype == f32 or rows * width
      >= workgroup` does not hold: dtype = f16, workgroup = 256, rows = 1, width = 100
  (3 more accept other dtypes or layouts)
)"},
    {"an optional operand that is left out",
     scale_rows(4, 4, buffer(DType::f32), buffer(DType::f32), absent()),
     as_it_is,
     {},
     R"(
scale_rows of input f32 buffer -> output f32 buffer (rows = 4, width = 4, alpha = 0.5)
    on "Example GPU 1"
   1  5.013 us estimated  scale_rows.f32.buffer.vec4/workgroup128
   2  5.051 us estimated  scale_rows.f32.buffer.vec1/workgroup128
not these:
  (3 more accept other dtypes or layouts)
)"},
    {"an operand that must be there", scale_rows(4, 4, absent()), as_it_is, {}, R"(
no kernel fits scale_rows of factor f32 buffer -> output f32 buffer (rows = 4, width = 4, alpha
    = 0.5) on "Example GPU 1"
  scale_rows.f16.buffer.vec1 and 4 more: needs input, which is left out
)"},
    {"textures",
     scale_rows(4, 4, texture(DType::f32, Layout::width_packed), texture(DType::f32, Layout::channels_packed)),
     as_it_is,
     {},
     R"(
scale_rows of input f32 texture3d width_packed, factor f32 buffer -> output f32 texture3d
    channels_packed (rows = 4, width = 4, alpha = 0.5) on "Example GPU 1"
   1  5.013 us estimated  scale_rows.f32.texture3d.vec4/workgroup128
not these:
  (4 more accept other dtypes or layouts)
)"},
    {"a layout that no kernel takes",
     scale_rows(4, 4, texture(DType::f32, Layout::height_packed), texture(DType::f32, Layout::width_packed)),
     as_it_is,
     {},
     R"(
no kernel fits scale_rows of input f32 texture3d height_packed, factor f32 buffer -> output f32
    texture3d width_packed (rows = 4, width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 texture3d
      height_packed
  scale_rows.f32.buffer.vec1 and 1 more: takes input as f32 buffer, given f32 texture3d
      height_packed
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 texture3d height_packed
  hint: scale_rows.f32.texture3d.vec4 fits with input as f32 texture3d width_packed
)"},
    {"a dtype that no kernel takes", scale_rows(4, 4, buffer(DType::bf16), buffer(DType::bf16)), as_it_is, {}, R"(
no kernel fits scale_rows of input bf16 buffer, factor f32 buffer -> output bf16 buffer (rows =
    4, width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given bf16 buffer
  scale_rows.f32.buffer.vec1 and 1 more: takes input as f32 buffer, given bf16 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given bf16 buffer
  hint: scale_rows.f32.buffer.vec4 fits with input as f32 buffer, output as f32 buffer
)"},
    {"storages that do not go together",
     scale_rows(4, 4, buffer(DType::f32), texture(DType::f32, Layout::width_packed)),
     as_it_is,
     {},
     R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 texture3d
    width_packed (rows = 4, width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 buffer
  scale_rows.f32.buffer.vec1 and 1 more: takes output as f32 buffer, given f32 texture3d
      width_packed
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 buffer
  hint: scale_rows.f32.buffer.vec4 fits with output as f32 buffer
)"},
    {"nothing fits, and another dtype would not help",
     scale_rows(4, 4, buffer(DType::i8), buffer(DType::i8)),
     [](DeviceProfile& d) { d.numbers.max_workgroup_invocations = 32; },
     {},
     R"(
no kernel fits scale_rows of input i8 buffer, factor f32 buffer -> output i8 buffer (rows = 4,
    width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given i8 buffer
  scale_rows.f32.buffer.vec1 and 1 more: takes input as f32 buffer, given i8 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given i8 buffer
  hint: no kernel accepts input as i8 buffer; possible are f16 buffer, f32 buffer, f32 texture3d
      width_packed or channels_packed
)"},
    {"missing features",
     scale_rows(4, 4, buffer(DType::f16), buffer(DType::f16)),
     [](DeviceProfile& d) { d.features = 0; },
     {},
     R"(
no kernel fits scale_rows of input f16 buffer, factor f32 buffer -> output f16 buffer (rows = 4,
    width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f16.buffer.vec1 and 1 more: needs shader_float16 and storage_buffer_16bit, which
      the device lacks
  scale_rows.f32.buffer.vec1 and 1 more: takes input as f32 buffer, given f16 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f16 buffer
  hint: scale_rows.f32.buffer.vec4 fits with input as f32 buffer, output as f32 buffer
)"},
    {"some specializations past the limits",
     scale_rows(4, 4),
     [](DeviceProfile& d) { d.numbers.max_workgroup_invocations = 128; },
     {.all_specializations = true},
     R"(
scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 4,
    alpha = 0.5) on "Example GPU 1"
   1  5.013 us estimated  scale_rows.f32.buffer.vec4/workgroup128
   2  5.019 us estimated  scale_rows.f32.buffer.vec4/workgroup64
   3  5.051 us estimated  scale_rows.f32.buffer.vec1/workgroup128
   4  5.077 us estimated  scale_rows.f32.buffer.vec1/workgroup64
not these:
  scale_rows.f32.buffer.vec1/workgroup256 and 1 more: needs workgroups of 256 invocations, and
      the device allows 128
  (3 more accept other dtypes or layouts)
)"},
    {"no specialization within the limits",
     scale_rows(4, 4),
     [](DeviceProfile& d) {
       d.max_workgroup_size = {32, 32, 32};
     },
     {},
     R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec1 and 1 more: needs workgroups 64 wide in x, and the device allows 32
      (with workgroup64; no other of the 3 specializations fits)
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 buffer
)"},
    {"shared memory", scale_rows(4, 4), [](DeviceProfile& d) { d.numbers.shared_memory_bytes = 1000; }, {}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec1 and 1 more: needs 1024 bytes of shared memory, and the device has
      1000 (with workgroup64; no other of the 3 specializations fits)
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 buffer
)"},
    {"a condition on the device", scale_rows(4, 4), [](DeviceProfile& d) { d.numbers.subgroup_size = 512; }, {}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec1 and 1 more: require_device `workgroup >= device.subgroup_size` does
      not hold: workgroup = 64, device.subgroup_size = 512 (with workgroup64; no other of the 3
      specializations fits)
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 buffer
)"},
    {"different reasons by specialization",
     scale_rows(1, 16, buffer(DType::f16), buffer(DType::f16)),
     [](DeviceProfile& d) { d.numbers.max_workgroup_invocations = 64; },
     {},
     R"(
no kernel fits scale_rows of input f16 buffer, factor f32 buffer -> output f16 buffer (rows = 1,
    width = 16, alpha = 0.5) on "Example GPU 1"
  scale_rows.f16.buffer.vec1 and 1 more: applies_when `dtype == f32 or rows * width >=
      workgroup` does not hold: dtype = f16, workgroup = 64, rows = 1, width = 16 (with workgroup64;
      no other of the 3 specializations fits)
  scale_rows.f32.buffer.vec1 and 1 more: takes input as f32 buffer, given f16 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f16 buffer
  hint: scale_rows.f32.buffer.vec4 fits with input as f32 buffer, output as f32 buffer
)"},
    {"push constants", scale_rows(4, 4), [](DeviceProfile& d) { d.max_push_constants_bytes = 8; }, {}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec1 and 1 more: needs 12 bytes of push constants, and the device has 8
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 buffer
)"},
    {"storage buffers", scale_rows(4, 4), [](DeviceProfile& d) { d.max_storage_buffers_per_stage = 2; }, {}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec1 and 1 more: binds 3 storage buffers, and the device allows 2
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 buffer
  hint: scale_rows.f32.texture3d.vec4 fits with input as f32 texture3d width_packed, output as
      f32 texture3d width_packed
)"},
    {"storage images",
     scale_rows(4, 4, texture(DType::f32, Layout::width_packed), texture(DType::f32, Layout::width_packed)),
     [](DeviceProfile& d) { d.max_storage_images_per_stage = 1; },
     {},
     R"(
no kernel fits scale_rows of input f32 texture3d width_packed, factor f32 buffer -> output f32
    texture3d width_packed (rows = 4, width = 4, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.texture3d.vec4: binds 2 storage images, and the device allows 1
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 texture3d
      width_packed
  scale_rows.f32.buffer.vec1 and 1 more: takes input as f32 buffer, given f32 texture3d
      width_packed
  hint: scale_rows.f32.buffer.vec4 fits with input as f32 buffer, output as f32 buffer
)"},
    {"a kernel that the driver gets wrong",
     scale_rows(4, 4),
     [](DeviceProfile& d) {
       d.distrusted_kernels = {"scale_rows.f32.buffer.v", "scale_rows.f32.buffer.vec4"};
     },
     {},
     R"(
scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 4,
    alpha = 0.5) on "Example GPU 1"
   1  5.051 us estimated  scale_rows.f32.buffer.vec1/workgroup128
not these:
  scale_rows.f32.buffer.vec4: is one of 'scale_rows.f32.buffer.vec4', which this driver is known
      to compute wrongly
  (3 more accept other dtypes or layouts)
)"},
    {"no work", scale_rows(0, 1024), as_it_is, {}, R"(
scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 0, width = 1024,
    alpha = 0.5) on "Example GPU 1"
   1  5 us estimated  scale_rows.f32.buffer.vec1/workgroup64
   2  5 us estimated  scale_rows.f32.buffer.vec4/workgroup64
not these:
  (3 more accept other dtypes or layouts)
)"},
    {"more groups than there are numbers", scale_rows(4294967295, 4294967295), as_it_is, {}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows =
    4294967295, width = 4294967295, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec1: needs 144115188075855872 workgroups, and the device can number
      4294967295 (with workgroup64; no other of the 3 specializations fits)
  scale_rows.f32.buffer.vec4: width 4294967295 is not a multiple of vec 4
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 buffer
)"},
    // Recipes.
    {"too short for the recipe", sum(1000), as_it_is, {}, R"(
sum of input f32 buffer -> output f32 buffer (count = 1000) on "Example GPU 1"
   1  25 us estimated  sum.vec1
not these:
  sum.two_pass: applies_when `count >= 1024` does not hold: count = 1000
)"},
    {"long enough, and cheaper", sum(100000), as_it_is, {}, R"(
sum of input f32 buffer -> output f32 buffer (count = 100000) on "Example GPU 1"
   1  22.82 us estimated  sum.two_pass(sum_partial.vec4, sum.vec1)
   2  2005 us estimated   sum.vec1
)"},
    {"every kernel of each step", sum(100000), as_it_is, {.all_step_kernels = true}, R"(
sum of input f32 buffer -> output f32 buffer (count = 100000) on "Example GPU 1"
   1  22.82 us estimated  sum.two_pass(sum_partial.vec4, sum.vec1)
   2  52.82 us estimated  sum.two_pass(sum_partial.vec1, sum.vec1)
   3  2005 us estimated   sum.vec1
)"},
    {"a step without kernels", sum(100000), [](DeviceProfile& d) { d.features = 0; }, {}, R"(
no kernel fits sum of input f32 buffer -> output f32 buffer (count = 100000) on "Example GPU 1"
  sum.two_pass: step 1 has no kernel of 'sum_partial': sum_partial.vec1: needs
      subgroup_arithmetic, which the device lacks
  sum.vec1: needs subgroup_arithmetic, which the device lacks
)"},
    // Cooperative matrices.
    {"no cooperative matrices", multiply(64, 64, 64), as_it_is, {}, R"(
no kernel fits multiply of a i8 buffer, b i8 buffer -> output i32 buffer (m = 64, n = 64, k =
    64) on "Example GPU 1"
  multiply.subgroup and 1 more: needs cooperative_matrix, which the device lacks
)"},
    {"cooperative matrices of other shapes",
     multiply(64, 64, 64),
     [](DeviceProfile& d) {
       d.features |= bit(Feature::cooperative_matrix);
       d.cooperative_matrices = {{16, 16, 16, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                 {16, 16, 32, DType::u8, DType::u8, DType::u32, DType::u32, false}};
       d.flexible_cooperative_matrices = {{16, 16, 64, DType::i8, DType::i8, DType::i32, DType::i32, true}};
     },
     {},
     R"(
no kernel fits multiply of a i8 buffer, b i8 buffer -> output i32 buffer (m = 64, n = 64, k =
    64) on "Example GPU 1"
  multiply.subgroup: needs cooperative matrices 16 x 16 x 32 of i8 and i8 to i32 per subgroup,
      which the device lacks
  multiply.workgroup: needs cooperative matrices 64 x 64 x 32 of i8 and i8 to i32 per workgroup,
      which the device lacks
)"},
    {"fixed and flexible shapes",
     multiply(64, 64, 64),
     [](DeviceProfile& d) {
       d.features |= bit(Feature::cooperative_matrix);
       d.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                 {16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false}};
       d.flexible_cooperative_matrices = {{32, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, true}};
     },
     {},
     R"(
multiply of a i8 buffer, b i8 buffer -> output i32 buffer (m = 64, n = 64, k = 64)
    on "Example GPU 1"
   1  10 us estimated  multiply.workgroup
   2  20 us estimated  multiply.subgroup
)"},
    {"sums that no product gives",
     multiply(64, 64, 64),
     [](DeviceProfile& d) {
       d.features |= bit(Feature::cooperative_matrix);
       d.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false}};
       d.flexible_cooperative_matrices = {{32, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, true}};
     },
     {},
     R"(
multiply of a i8 buffer, b i8 buffer -> output i32 buffer (m = 64, n = 64, k = 64)
    on "Example GPU 1"
   1  10 us estimated  multiply.workgroup
not these:
  multiply.subgroup: needs cooperative matrices 16 x 16 of f32 as sums per subgroup, which the
      device lacks
)"},
    {"a subgroup size that the device lacks",
     multiply(64, 64, 64),
     [](DeviceProfile& d) {
       d.features |= bit(Feature::cooperative_matrix);
       d.numbers.subgroup_size = 64;
       d.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                 {16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false}};
     },
     {},
     R"(
no kernel fits multiply of a i8 buffer, b i8 buffer -> output i32 buffer (m = 64, n = 64, k =
    64) on "Example GPU 1"
  multiply.subgroup: needs subgroups of 32, and the device has 64
  multiply.workgroup: needs cooperative matrices 64 x 64 x 32 of i8 and i8 to i32 per workgroup,
      which the device lacks
)"},
    {"subgroup sizes in a range",
     multiply(64, 64, 64),
     [](DeviceProfile& d) {
       d.features |= bit(Feature::cooperative_matrix);
       d.numbers.subgroup_size = 16;
       d.has_subgroup_size_control = true;
       d.min_subgroup_size = 8, d.max_subgroup_size = 16;
       d.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                 {16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false}};
     },
     {},
     R"(
no kernel fits multiply of a i8 buffer, b i8 buffer -> output i32 buffer (m = 64, n = 64, k =
    64) on "Example GPU 1"
  multiply.subgroup: needs subgroups of 32, and the device has 8 to 16
  multiply.workgroup: needs cooperative matrices 64 x 64 x 32 of i8 and i8 to i32 per workgroup,
      which the device lacks
)"},
    {"a subgroup size that can be asked for",
     multiply(64, 64, 64),
     [](DeviceProfile& d) {
       d.features |= bit(Feature::cooperative_matrix);
       d.numbers.subgroup_size = 64;
       d.has_subgroup_size_control = true;
       d.min_subgroup_size = 32, d.max_subgroup_size = 64;
       d.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                 {16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false}};
     },
     {},
     R"(
multiply of a i8 buffer, b i8 buffer -> output i32 buffer (m = 64, n = 64, k = 64)
    on "Example GPU 1"
   1  20 us estimated  multiply.subgroup
not these:
  multiply.workgroup: needs cooperative matrices 64 x 64 x 32 of i8 and i8 to i32 per workgroup,
      which the device lacks
)"},
    {"more rows than the grid has",
     multiply(4194304, 64, 64),
     [](DeviceProfile& d) {
       d.features |= bit(Feature::cooperative_matrix);
       d.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                 {16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, false}};
     },
     {},
     R"(
no kernel fits multiply of a i8 buffer, b i8 buffer -> output i32 buffer (m = 4194304, n = 64, k
    = 64) on "Example GPU 1"
  multiply.subgroup: needs 1 x 65536 x 1 workgroups, and the device allows 65535 x 65535 x 65535
  multiply.workgroup: needs cooperative matrices 64 x 64 x 32 of i8 and i8 to i32 per workgroup,
      which the device lacks
)"},
    // Forcing.
    {"a forced variant", scale_rows(4, 1024), as_it_is, {.force = "scale_rows.f32.buffer.vec1"}, R"(
scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1024,
    alpha = 0.5) on "Example GPU 1"
   1  18.11 us estimated  scale_rows.f32.buffer.vec1/workgroup128
)"},
    {"a forced kernel", scale_rows(4, 1024), as_it_is, {.force = "scale_rows.f32.buffer.vec1/workgroup256"}, R"(
scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1024,
    alpha = 0.5) on "Example GPU 1"
   1  24.66 us estimated  scale_rows.f32.buffer.vec1/workgroup256
)"},
    {"a forced variant with all specializations",
     scale_rows(4, 1024),
     as_it_is,
     {.force = "scale_rows.f32.buffer.vec4", .all_specializations = true},
     R"(
scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1024,
    alpha = 0.5) on "Example GPU 1"
   1  8.277 us estimated  scale_rows.f32.buffer.vec4/workgroup128
   2  9.915 us estimated  scale_rows.f32.buffer.vec4/workgroup64
   3  9.915 us estimated  scale_rows.f32.buffer.vec4/workgroup256
)"},
    {"a forced variant that does not fit", scale_rows(4, 1023), as_it_is, {.force = "scale_rows.f32.buffer.vec4"}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 1023, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec4: width 1023 is not a multiple of vec 4
)"},
    {"a forced kernel that does not fit",
     scale_rows(4, 1024),
     [](DeviceProfile& d) { d.max_workgroup_size[0] = 128; },
     {.force = "scale_rows.f32.buffer.vec4/workgroup256"},
     R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 1024, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec4/workgroup256: needs workgroups 256 wide in x, and the device allows
      128
)"},
    {"a forced kernel of another dtype", scale_rows(4, 1024), as_it_is, {.force = "scale_rows.f16.buffer.vec4"}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 1024, alpha = 0.5) on "Example GPU 1"
  scale_rows.f16.buffer.vec4: takes input as f16 buffer, given f32 buffer
  hint: scale_rows.f16.buffer.vec4 fits with input as f16 buffer, output as f16 buffer
)"},
    {"a forced id that is misspelled",
     scale_rows(4, 1024),
     as_it_is,
     {.force = "scale_rows.f32.bufer.vec4/workgroup64"},
     R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 1024, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.bufer.vec4/workgroup64: is no kernel or recipe of 'scale_rows'
  hint: did you mean 'scale_rows.f32.buffer.vec4'?
)"},
    {"a forced id that is nothing", scale_rows(4, 1024), as_it_is, {.force = "fastest"}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 1024, alpha = 0.5) on "Example GPU 1"
  fastest: is no kernel or recipe of 'scale_rows'
  hint: possible are scale_rows.f16.buffer.vec1, scale_rows.f16.buffer.vec4,
      scale_rows.f32.buffer.vec1, scale_rows.f32.buffer.vec4 and 1 more
)"},
    {"a forced specialization that is not there",
     scale_rows(4, 1024),
     as_it_is,
     {.force = "scale_rows.f32.buffer.vec4/workgroup512"},
     R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 1024, alpha = 0.5) on "Example GPU 1"
  scale_rows.f32.buffer.vec4/workgroup512: has no specialization 'workgroup512'
  hint: it has workgroup64, workgroup128, workgroup256
)"},
    {"a forced kernel of another operator", scale_rows(4, 1024), as_it_is, {.force = "sum.vec1"}, R"(
no kernel fits scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4,
    width = 1024, alpha = 0.5) on "Example GPU 1"
  sum.vec1: belongs to 'sum', not to 'scale_rows'
)"},
    {"a forced recipe", sum(2048), as_it_is, {.force = "sum.two_pass"}, R"(
sum of input f32 buffer -> output f32 buffer (count = 2048) on "Example GPU 1"
   1  5.365 us estimated  sum.two_pass(sum_partial.vec4, sum.vec1)
)"},
    {"a forced recipe with its kernels", sum(2048), as_it_is, {.force = "sum.two_pass(sum_partial.vec1, sum.vec1)"}, R"(
sum of input f32 buffer -> output f32 buffer (count = 2048) on "Example GPU 1"
   1  5.979 us estimated  sum.two_pass(sum_partial.vec1, sum.vec1)
)"},
    {"a forced recipe that does not apply", sum(100), as_it_is, {.force = "sum.two_pass"}, R"(
no kernel fits sum of input f32 buffer -> output f32 buffer (count = 100) on "Example GPU 1"
  sum.two_pass: applies_when `count >= 1024` does not hold: count = 100
)"},
    {"a forced recipe with a kernel that is not there",
     sum(2048),
     as_it_is,
     {.force = "sum.two_pass(sum_partial.vec2, sum.vec1)"},
     R"(
no kernel fits sum of input f32 buffer -> output f32 buffer (count = 2048) on "Example GPU 1"
  sum.two_pass: step 1 has no kernel 'sum_partial.vec2'
)"},
    {"a forced recipe with a kernel that the step does not take",
     sum(2048),
     as_it_is,
     {.force = "sum.two_pass(sum.vec1, sum.vec1)"},
     R"(
no kernel fits sum of input f32 buffer -> output f32 buffer (count = 2048) on "Example GPU 1"
  sum.two_pass: step 1 has no kernel 'sum.vec1'
)"},
    {"a forced recipe with too few kernels", sum(2048), as_it_is, {.force = "sum.two_pass(sum_partial.vec1)"}, R"(
no kernel fits sum of input f32 buffer -> output f32 buffer (count = 2048) on "Example GPU 1"
  sum.two_pass(sum_partial.vec1): has 2 steps, and kernels are given for 1
)"},
    {"a forced kernel where a recipe exists", sum(100000), as_it_is, {.force = "sum.vec1"}, R"(
sum of input f32 buffer -> output f32 buffer (count = 100000) on "Example GPU 1"
   1  2005 us estimated  sum.vec1
)"},
    // Requests that are malformed.
    {"operands that are missing",
     sample_problem(test::sum::kOperator, test::sum::Problem{4}, {buffer(DType::f32)}),
     as_it_is,
     {},
     R"(
no kernel fits sum on "Example GPU 1"
  sum: takes 2 operands, given 1
)"},
    {"fields of another operator",
     sample_problem(test::sum::kOperator, test::multiply::Problem{}, {absent(), absent()}),
     as_it_is,
     {},
     R"(
no kernel fits sum on "Example GPU 1"
  sum: takes a problem of 4 bytes, given 12
)"},
};

TEST(Select, ExplainsItself) {
  const auto library = KernelLibrary::open(test::sample_library());
  ASSERT_TRUE(library);
  for (const SelectCase& c : kCases) {
    DeviceProfile device = sample_device();
    c.change(device);
    const Selection selection = select(c.problem, device, *library, c.options);
    EXPECT_EQ(explain(selection), c.explanation.substr(1)) << c.name;  // 1: the golden text starts on a separate line
  }
}

TEST(Select, BestOnlyIsTheBest) {
  const auto library = KernelLibrary::open(test::sample_library());
  ASSERT_TRUE(library);
  for (const SelectCase& c : kCases) {
    DeviceProfile device = sample_device();
    c.change(device);
    SelectOptions best_only = c.options;
    best_only.best_only = true;
    const Selection all = select(c.problem, device, *library, c.options);
    const Selection best = select(c.problem, device, *library, best_only);
    if (all.ranked.empty()) {
      EXPECT_EQ(explain(best), explain(all)) << c.name;
    } else {
      ASSERT_EQ(best.ranked.size(), 1u) << c.name;
      EXPECT_EQ(best.ranked[0].id, all.ranked[0].id) << c.name;
      EXPECT_TRUE(best.rejected.empty()) << c.name;
    }
  }
}

struct NoKernelCase {
  Problem problem;
  const char* force;
  Error::Kind kind;
  std::string_view text;
};
// The cause stands first. Of one kernel it is all; where all kernels refused, the explanation is the error.
TEST(NoKernel, SaysTheCauseFirst) {
  const NoKernelCase cases[] = {
      {scale_rows(4, 4), "scale_rows.f32.buffer.vec5", Error::Kind::not_found,
       "'scale_rows.f32.buffer.vec5' is no kernel or recipe of 'scale_rows'\n"
       "  hint: did you mean 'scale_rows.f32.buffer.vec1'?"},
      {scale_rows(4, 4), "buffer.vec1", Error::Kind::not_found,
       "'buffer.vec1' is no kernel or recipe of 'scale_rows'\n"
       "  hint: possible are scale_rows.f16.buffer.vec1, scale_rows.f32.buffer.vec1"},
      {scale_rows(4, 4), "nope", Error::Kind::not_found,
       "'nope' is no kernel or recipe of 'scale_rows'\n"
       "  hint: possible are scale_rows.f16.buffer.vec1, scale_rows.f16.buffer.vec4, scale_rows.f32.buffer.vec1, "
       "scale_rows.f32.buffer.vec4 and 1 more"},
      {scale_rows(4, 1024), "scale_rows.f16.buffer.vec1", Error::Kind::unsupported,
       "'scale_rows.f16.buffer.vec1' does not fit: takes input as f16 buffer, given f32 buffer\n"
       "  hint: scale_rows.f16.buffer.vec1 fits with input as f16 buffer, output as f16 buffer"},
      {sum(2048), "sum.two_pass(sum_partial.vec1)", Error::Kind::not_found,
       "'sum.two_pass(sum_partial.vec1)' has 2 steps, and kernels are given for 1"},
  };
  const auto library = KernelLibrary::open(test::sample_library());
  ASSERT_TRUE(library);
  for (const NoKernelCase& row : cases) {
    const Error error = no_kernel(select(row.problem, sample_device(), *library, {.force = row.force}));
    EXPECT_EQ(to_text(error), row.text);
    EXPECT_EQ(error.kind, row.kind) << row.force;
  }
  DeviceProfile small = sample_device();
  small.max_push_constants_bytes = 8;
  const Selection none = select(scale_rows(4, 4), small, *library);
  EXPECT_EQ(to_text(no_kernel(none)) + "\n", explain(none));
}

// ---- what a choice holds --------------------------------------------------------------------------------------------

Selection selected(const Problem& problem, const SelectOptions& options = {}) {
  const auto library = KernelLibrary::open(test::sample_library());
  return select(problem, sample_device(), *library, options);
}

// "o0" for operand 0 of the whole, "s0" for scratch 0, "-" for none; in the family's order.
std::string sources_text(const Launch& launch) {
  std::string text;
  for (const OperandSource& source : launch.operands) {
    if (!text.empty()) text += ' ';
    if (source.index == kAbsent) {
      text += '-';
    } else {
      text += source.is_scratch ? 's' : 'o';
      text += std::to_string(source.index);
    }
  }
  return text;
}

TEST(Choice, OfAKernelHoldsOneLaunch) {
  const Selection selection = selected(scale_rows(3, 1000));
  const Choice& choice = selection.ranked.front();
  EXPECT_EQ(choice.id, "scale_rows.f32.buffer.vec4/workgroup128");
  EXPECT_EQ(choice.recipe, nullptr);
  EXPECT_TRUE(choice.scratch_elements.empty());
  ASSERT_EQ(choice.launches.size(), 1u);
  const Launch& launch = choice.launches[0];
  EXPECT_EQ(launch.op, &test::scale_rows::kOperator);
  EXPECT_EQ(launch.kernel->id, "scale_rows.f32.buffer.vec4");
  EXPECT_EQ(launch.specialization, 1u);
  EXPECT_EQ(launch.groups, (std::array<uint64_t, 3>{6, 1, 1}));  // 750 vectors in workgroups of 128
  EXPECT_EQ(launch.problem, scale_rows(3, 1000).fields);
  EXPECT_EQ(sources_text(launch), "o0 o1 o2");
}

TEST(Choice, LeavesOutWhatIsAbsent) {
  const Selection selection = selected(scale_rows(3, 1000, buffer(DType::f32), buffer(DType::f32), absent()));
  EXPECT_EQ(sources_text(selection.ranked.front().launches[0]), "o0 - o2");
}

TEST(Choice, OfNoWorkHasNoGroups) {
  const Selection selection = selected(scale_rows(0, 1000));
  ASSERT_FALSE(selection.ranked.empty());
  EXPECT_EQ(selection.ranked.front().launches[0].groups, (std::array<uint64_t, 3>{0, 1, 1}));
}

TEST(Choice, OfARecipeHoldsItsSteps) {
  const Selection selection = selected(sum(100003));
  const Choice& choice = selection.ranked.front();
  EXPECT_EQ(choice.id, "sum.two_pass(sum_partial.vec1, sum.vec1)");  // vec4 does not divide
  EXPECT_EQ(choice.recipe, &test::sum::kRecipes[0]);
  EXPECT_EQ(choice.scratch_elements, std::vector<uint64_t>{391});
  ASSERT_EQ(choice.launches.size(), 2u);
  EXPECT_EQ(choice.launches[0].op, &test::sum::kPartial);
  EXPECT_EQ(choice.launches[0].groups[0], 391u);
  EXPECT_EQ(sources_text(choice.launches[0]), "o0 s0");
  EXPECT_EQ(choice.launches[1].op, &test::sum::kOperator);
  EXPECT_EQ(sources_text(choice.launches[1]), "s0 o1");
  EXPECT_EQ(test::as<test::sum::Problem>(choice.launches[1].problem.data()).count, 391u);
}

TEST(Choice, CanBeForcedByItsId) {
  for (const Problem& problem :
       {scale_rows(4, 1024), scale_rows(1, 100, buffer(DType::f16), buffer(DType::f16)), sum(100000)}) {
    const Selection all = selected(problem, {.all_specializations = true, .all_step_kernels = true});
    for (const Choice& choice : all.ranked) {
      const Selection forced = selected(problem, {.force = choice.id});
      ASSERT_EQ(forced.ranked.size(), 1u) << choice.id;
      EXPECT_EQ(forced.ranked[0].id, choice.id);
      EXPECT_EQ(forced.ranked[0].cost_us, choice.cost_us);
    }
  }
}

TEST(ChoiceCost, IsThatOfTheForcedChoice) {
  for (const Problem& problem : {scale_rows(4, 1024), sum(100000)}) {
    for (const Choice& choice : selected(problem, {.all_specializations = true, .all_step_kernels = true}).ranked) {
      const auto parts = selector::parts_of(*problem.op, choice.id);
      ASSERT_TRUE(parts) << choice.id;
      EXPECT_EQ(selector::cost_of_choice(*parts, problem, sample_device()), choice.cost_us) << choice.id;
    }
  }
}

TEST(ChoiceCost, IsNoneWhereNothingFits) {
  const auto cost = [](const Problem& problem, std::string_view id) -> std::optional<double> {
    const auto parts = selector::parts_of(*problem.op, id);
    return parts ? selector::cost_of_choice(*parts, problem, sample_device()) : -1.0;
  };
  EXPECT_EQ(cost(scale_rows(4, 1023), "scale_rows.f32.buffer.vec4/workgroup256"), std::nullopt);
  EXPECT_EQ(cost(scale_rows(4, 1024), "scale_rows.f16.buffer.vec4/workgroup256"), std::nullopt);
  EXPECT_EQ(cost(sum(100), "sum.two_pass(sum_partial.vec1, sum.vec1)"), std::nullopt);
  EXPECT_EQ(cost(scale_rows(4, 1024), "fastest"), -1);
  EXPECT_EQ(cost(scale_rows(4, 1024), "scale_rows.f32.buffer.vec4"), -1);
  EXPECT_EQ(cost(scale_rows(4, 1024), "scale_rows.f32.buffer.vec4/workgroup512"), -1);
  EXPECT_EQ(cost(sum(2048), "sum.two_pass(sum_partial.vec2, sum.vec1)"), -1);
  EXPECT_EQ(cost(sum(2048), "sum.two_pass(sum.vec1, sum.vec1)"), -1);
  EXPECT_EQ(cost(sum(2048), "sum.two_pass(sum_partial.vec1)"), -1);
}

TEST(Explanation, IsCutAtItsLines) {
  const Selection selection = selected(scale_rows(4, 1024), {.all_specializations = true});
  EXPECT_TEXT(explain(selection, {.max_lines = 1}),
              R"(scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1024,
    alpha = 0.5) on "Example GPU 1"
   1  8.277 us estimated  scale_rows.f32.buffer.vec4/workgroup128
  (5 more fit)
not these:
  (3 more accept other dtypes or layouts)
)");
}

// The kernel that passed the most checks is the intended one; kernels for other operands come last.
TEST(Explanation, TellsAllOnRequest) {
  EXPECT_TEXT(explain(selected(scale_rows(4, 1023)), {.max_lines = 1, .has_all = true}),
              R"(scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1023,
    alpha = 0.5) on "Example GPU 1"
   1  18.09 us estimated  scale_rows.f32.buffer.vec1/workgroup128
not these:
  scale_rows.f32.buffer.vec4: width 1023 is not a multiple of vec 4
  scale_rows.f16.buffer.vec1 and 1 more: takes input as f16 buffer, given f32 buffer
  scale_rows.f32.texture3d.vec4: takes input as f32 texture3d width_packed or channels_packed,
      given f32 buffer
the problem's fields: rows = 4, width = 1023, alpha = 0.5
)");
}

// Of operands with shapes, the question is theirs alone.
TEST(Explanation, SaysShapesRatherThanFields) {
  const auto shaped = [](DType dtype, std::vector<int64_t> shape) {
    return OperandDesc{.dtype = dtype, .shape = std::move(shape)};
  };
  const Problem problem =
      scale_rows(4, 1024, shaped(DType::f32, {4, 1024}), shaped(DType::f32, {4, 1024}), shaped(DType::f32, {4}));
  const Selection selection = selected(problem);
  EXPECT_TEXT(selection.question,
              "scale_rows of input f32 [4, 1024], factor f32 [4] -> output f32 [4, 1024] on \"Example GPU 1\"");
  EXPECT_TEXT(selection.fields, "rows = 4, width = 1024, alpha = 0.5");
}

// A field that is a word is printed as its word; a number past the words, which no caller gives, as a number.
TEST(Select, SaysWordsOfTheProblem) {
  static constexpr std::string_view kWords[] = {"none", "one", "two"};
  static constexpr FieldInfo kFields[] = {
      {"rows", FieldInfo::Kind::u32, offsetof(test::scale_rows::Problem, rows), 1, kWords}};
  const auto library = KernelLibrary::open(test::sample_library());
  ASSERT_TRUE(library);
  OperatorInfo op = test::scale_rows::kOperator;
  op.fields = kFields;
  const auto question = [&](uint32_t rows) {
    const Problem problem = sample_problem(op, test::scale_rows::Problem{rows, 1024, 0.5f},
                                           {buffer(DType::f32), buffer(DType::f32), buffer(DType::f32)});
    return select(problem, sample_device(), *library, {}).question;
  };
  constexpr std::string_view kHead = "scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer ";
  EXPECT_EQ(question(2), std::string(kHead) + "(rows = two) on \"Example GPU 1\"");
  EXPECT_EQ(question(3), std::string(kHead) + "(rows = 3) on \"Example GPU 1\"");
}

// ---- rarely the best ---------------------------------------------------------------------------------------------

// scale_rows, whose workgroups of 128 were rarely the best on some architectures, and vec1 on no other than ada.
class RarelyBest : public testing::Test {
 protected:
  static uint64_t when(const SelectionScope& s) {
    const bool is_128 = s.specialization[0] == 128;
    const bool is_single = test::as<test::scale_rows::Parameters>(s.parameters).vec == 1;
    return (is_128 ? 1u : 0u) | (is_single ? 2u : 0u);
  }
  static constexpr std::string_view kOnBoth[] = {"hopper", "ada"};
  static constexpr std::string_view kOnAda[] = {"ada"};
  static constexpr RarelyBestInfo kRows[] = {
      {"workgroup == 128", kOnBoth, "at most 4 % faster, in 2 of 330 problems, 2026-11-25"},
      {"vec == 1", kOnAda, "never the best, 2026-11-25"}};

  RarelyBest() {
    op_.rarely_best = kRows;
    op_.rarely_best_when = when;
  }
  Selection on(std::string architecture, const SelectOptions& options = {}, uint32_t width = 1024) const {
    DeviceProfile device = sample_device();
    device.architecture = std::move(architecture);
    return select(sample_problem(op_, test::scale_rows::Problem{4, width, 0.5f},
                                 {buffer(DType::f32), buffer(DType::f32), buffer(DType::f32)}),
                  device, *library_, options);
  }
  std::string first_on(std::string architecture, const SelectOptions& options = {}, uint32_t width = 1024) const {
    const Selection selection = on(std::move(architecture), options, width);
    return selection.ranked.empty() ? "" : selection.ranked.front().id;
  }

  OperatorInfo op_ = test::scale_rows::kOperator;
  Expected<KernelLibrary> library_ = KernelLibrary::open(test::sample_library());
};

TEST_F(RarelyBest, IsNoChoiceOnThoseArchitecturesAlone) {
  EXPECT_EQ(first_on("hopper"), "scale_rows.f32.buffer.vec4/workgroup64");
  EXPECT_EQ(first_on("hopper", {.best_only = true}), "scale_rows.f32.buffer.vec4/workgroup64");
  EXPECT_EQ(first_on("turing"), "scale_rows.f32.buffer.vec4/workgroup128");
  EXPECT_EQ(first_on(""), "scale_rows.f32.buffer.vec4/workgroup128");
}

TEST_F(RarelyBest, IsTheReasonThatIsTold) {
  EXPECT_EQ(explain(on("ada", {.all_specializations = true})),
            R"(scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1024,
    alpha = 0.5) on "Example GPU 1"
   1  9.915 us estimated  scale_rows.f32.buffer.vec4/workgroup64
   2  9.915 us estimated  scale_rows.f32.buffer.vec4/workgroup256
not these:
  scale_rows.f32.buffer.vec1: was rarely the best on ada: never the best, 2026-11-25 (with
      workgroup64; no other of the 3 specializations fits)
  scale_rows.f32.buffer.vec4/workgroup128: was rarely the best on ada: at most 4 % faster, in 2
      of 330 problems, 2026-11-25
  (3 more accept other dtypes or layouts)
)");
}

// A device that has some of the features only is another one.
TEST_F(RarelyBest, IsNoChoiceOnDevicesWithTheFeaturesThatAreListed) {
  static constexpr std::string_view kStorage[] = {"storage_buffer_8bit", "storage_buffer_16bit"};
  static constexpr RarelyBestInfo kOfFeatures[] = {{"workgroup == 128", kStorage, "slow, 2026-11-25"},
                                                   {"vec == 1", {}, ""}};
  op_.rarely_best = kOfFeatures;
  DeviceProfile device = sample_device();
  const FeatureMask bytes = bit(Feature::storage_buffer_8bit), halves = bit(Feature::storage_buffer_16bit);
  const auto selected = [&](FeatureMask features) {
    device.features = (device.features & ~(bytes | halves)) | features;
    return select(sample_problem(op_, test::scale_rows::Problem{4, 1024, 0.5f},
                                 {buffer(DType::f32), buffer(DType::f32), buffer(DType::f32)}),
                  device, *library_, {.all_specializations = true});
  };
  EXPECT_EQ(selected(bytes).ranked.front().id, "scale_rows.f32.buffer.vec4/workgroup128");
  const Selection both = selected(bytes | halves);
  EXPECT_EQ(both.ranked.front().id, "scale_rows.f32.buffer.vec4/workgroup64");
  EXPECT_THAT(both.rejected,
              ::testing::Contains(::testing::Field(
                  &Rejection::reason, ::testing::HasSubstr("is rarely the best on devices with storage_buffer_8bit and "
                                                           "storage_buffer_16bit: slow"))));
}

TEST_F(RarelyBest, IsAChoiceOnRequest) {
  const Selection all = on("hopper", {.all_specializations = true, .with_rarely_best = true});
  ASSERT_EQ(all.ranked.size(), 6u);
  EXPECT_EQ(all.ranked[0].id, "scale_rows.f32.buffer.vec4/workgroup128");
}

TEST_F(RarelyBest, IsAChoiceWhereItIsForcedOrTimed) {
  const std::string id = "scale_rows.f32.buffer.vec4/workgroup128";
  EXPECT_EQ(first_on("hopper", {.force = id}), id);
  EXPECT_EQ(first_on("hopper", {.force = "scale_rows.f32.buffer.vec4"}), "scale_rows.f32.buffer.vec4/workgroup64");
  const KernelTimes times = {{id, {9}}};
  EXPECT_EQ(first_on("hopper", {.times = &times}), id);
}

// A slow measured time is no reason to run nothing.
TEST_F(RarelyBest, IsAChoiceWhereNothingElseFits) {
  EXPECT_EQ(first_on("ada", {}, 1023), "scale_rows.f32.buffer.vec1/workgroup128");
  EXPECT_EQ(first_on("ada", {.best_only = true, .best_or_nothing = true}, 1023),
            "scale_rows.f32.buffer.vec1/workgroup128");
}

// ---- known times ----------------------------------------------------------------------------------------------------

// A measured kernel is ahead of cheap estimates; the slower of two measured ones is after the faster.
TEST(KnownTimes, StandBeforeEstimates) {
  const Problem problem = scale_rows(4, 1024);
  const KernelTimes times = {{"scale_rows.f32.buffer.vec1/workgroup256", {30.25}},
                             {"scale_rows.f32.buffer.vec1/workgroup64", {31}},
                             {"scale_rows.f32.buffer.vec9/workgroup64", {1}}};
  EXPECT_TEXT(explain(selected(problem, {.times = &times})),
              R"(scale_rows of input f32 buffer, factor f32 buffer -> output f32 buffer (rows = 4, width = 1024,
    alpha = 0.5) on "Example GPU 1"
   1  30.25 us measured (24.66 estimated)  scale_rows.f32.buffer.vec1/workgroup256
   2  8.277 us estimated                   scale_rows.f32.buffer.vec4/workgroup128
not these:
  (3 more accept other dtypes or layouts)
)");
  const Selection all = selected(problem, {.all_specializations = true, .times = &times});
  EXPECT_EQ(all.ranked[0].id, "scale_rows.f32.buffer.vec1/workgroup256");
  EXPECT_EQ(all.ranked[1].id, "scale_rows.f32.buffer.vec1/workgroup64");
  EXPECT_EQ(all.ranked[1].time_us, 31);
  EXPECT_EQ(all.ranked[2].source, TimeSource::estimated);
  EXPECT_EQ(all.ranked[2].time_us, all.ranked[2].cost_us);
  EXPECT_EQ(selected(problem, {.best_only = true, .times = &times}).ranked[0].id,
            "scale_rows.f32.buffer.vec1/workgroup256");
}

// The more trusted source first, even with a slower time; near times are scaled by the ratio of costs.
TEST(KnownTimes, OfBetterSourcesStandFirst) {
  const Problem problem = scale_rows(4, 1024);
  const std::string vec1 = "scale_rows.f32.buffer.vec1/workgroup64", vec4 = "scale_rows.f32.buffer.vec4/workgroup128";
  const KernelTimes times = {
      {vec1, {.us = 100, .source = TimeSource::near, .cost_us = 10, .source_text = "near 2x512"}},
      {vec4, {.us = 1, .source = TimeSource::architecture, .source_text = "on Example GPU 2"}}};
  const Selection selection = selected(problem, {.all_specializations = true, .times = &times});
  EXPECT_EQ(selection.ranked[0].id, vec1);
  EXPECT_DOUBLE_EQ(selection.ranked[0].time_us, 10 * selection.ranked[0].cost_us);
  EXPECT_EQ(selection.ranked[0].source_text, "near 2x512");
  EXPECT_EQ(selection.ranked[1].id, vec4);
  EXPECT_EQ(selection.ranked[1].time_us, 1);
  EXPECT_EQ(selection.ranked[2].source, TimeSource::estimated);
}

// A recipe is found under its whole id, with steps that would not have been picked.
TEST(KnownTimes, AreOfWholeRecipes) {
  const Problem problem = sum(2048);
  const std::string picked = "sum.two_pass(sum_partial.vec4, sum.vec1)",
                    other = "sum.two_pass(sum_partial.vec1, sum.vec1)";
  ASSERT_EQ(selected(problem).ranked[0].id, picked);
  KernelTimes times = {{"sum.vec1", {9}}, {other, {7}}, {"sum.two_pass(sum.vec1)", {1}}};
  const Selection selection = selected(problem, {.times = &times});
  ASSERT_EQ(selection.ranked.size(), 2u);
  EXPECT_EQ(selection.ranked[0].id, other);
  EXPECT_EQ(selection.ranked[0].time_us, 7);
  EXPECT_EQ(selection.ranked[1].id, "sum.vec1");
  times.add(picked, KnownTime{8});
  EXPECT_EQ(selected(problem, {.times = &times}).ranked[0].id, other);
  EXPECT_EQ(selected(problem, {.all_step_kernels = true, .times = &times}).ranked[1].id, picked);
  EXPECT_EQ(selected(problem, {.force = "sum.two_pass", .best_only = true, .times = &times}).ranked[0].id, other);
}

// ---- quarantined choices --------------------------------------------------------------------------------------------

KernelTimes quarantined(std::initializer_list<std::string> ids) {
  KernelTimes times;
  for (const std::string& id : ids) times.quarantine(std::array{QuarantinedChoice{id, "wrong results (2026-11-23)"}});
  return times;
}

// Another specialization of the same variant takes its place; one with a measured time is refused as well.
TEST(Quarantine, LeavesOutOneSpecialization) {
  const Problem problem = scale_rows(4, 1024);
  const std::string best = selected(problem).ranked[0].id;
  ASSERT_EQ(best, "scale_rows.f32.buffer.vec4/workgroup128");
  KernelTimes times = quarantined({best});
  times.add(best, {1});
  const Selection selection = selected(problem, {.times = &times});
  EXPECT_EQ(selection.ranked[0].id, "scale_rows.f32.buffer.vec4/workgroup64");
  ASSERT_EQ(selection.ranked.size(), 2u);
  EXPECT_EQ(selection.ranked[1].id, selected(problem).ranked[1].id);
  const auto refused = std::ranges::find(selection.rejected, best, &Rejection::id);
  ASSERT_NE(refused, selection.rejected.end());
  EXPECT_EQ(refused->reason, "is quarantined on this device: wrong results (2026-11-23)");
  EXPECT_EQ(refused->refused_by, RefusedBy::device);
  const Selection quick = selected(problem, {.best_only = true, .times = &times});
  ASSERT_EQ(quick.ranked.size(), 1u);
  EXPECT_EQ(quick.ranked[0].id, "scale_rows.f32.buffer.vec4/workgroup64");
  EXPECT_TRUE(quick.rejected.empty());
}

TEST(Quarantine, LeavesOutOneRecipe) {
  const Problem problem = sum(2048);
  const KernelTimes times = quarantined({"sum.two_pass(sum_partial.vec4, sum.vec1)"});
  EXPECT_EQ(selected(problem, {.best_only = true, .times = &times}).ranked[0].id,
            "sum.two_pass(sum_partial.vec1, sum.vec1)");
  const KernelTimes both =
      quarantined({"sum.two_pass(sum_partial.vec4, sum.vec1)", "sum.two_pass(sum_partial.vec1, sum.vec1)"});
  EXPECT_EQ(selected(problem, {.best_only = true, .times = &both}).ranked[0].id, "sum.vec1");
}

TEST(Quarantine, DoesNotRefuseWhatIsForced) {
  const Problem problem = scale_rows(4, 1024);
  const std::string best = selected(problem).ranked[0].id;
  const KernelTimes times = quarantined({best});
  EXPECT_EQ(selected(problem, {.force = best, .times = &times}).ranked.at(0).id, best);
}

TEST(Quarantine, OfAllKernelsIsTold) {
  const Problem problem = sum(2048);
  std::vector<QuarantinedChoice> all;
  for (const Choice& choice :
       selected(problem, {.all_specializations = true, .with_rarely_best = true, .all_step_kernels = true}).ranked)
    all.push_back({choice.id, "it hangs (2026-11-23)"});
  KernelTimes times;
  times.quarantine(all);
  const Selection selection = selected(problem, {.best_only = true, .times = &times});
  EXPECT_TRUE(selection.ranked.empty());
  EXPECT_EQ(std::ranges::count(selection.rejected, RefusedBy::device, &Rejection::refused_by), std::ssize(all));
}

}  // namespace
}  // namespace qgen
