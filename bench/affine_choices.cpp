// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "bench/affine_choices.h"

#include <fmt/format.h>

#include "operators.h"
#include "runtime/engine/selector/select.h"
#include "runtime/engine/tensor/quant_params.h"
#include "tests/runtime/engine/operators/h200.h"

namespace qgen {
namespace {

using namespace generated::operators;

struct ChoiceCase {
  const char* name;
  Shape shape, block;
  std::string_view conversion;  // for quantize_affine and dequantize_affine: the part after dtypes and storages
  std::string_view choice;      // for choose_qparams_affine: the part after its name
};

// clang-format off
const ChoiceCase kChoices[] = {
    {"per tensor", {8192, 8192}, {8192, 8192}, "vec4/workgroup256.items4",
     "two_pass(choose_qparams_partial.f32.buffer.subgroup.vec4/workgroup256, choose_qparams_finish/workgroup64)"},
    {"per row", {8192, 8192}, {1, 8192}, "vec4/workgroup256.items4", "f32.buffer.subgroup.vec4/workgroup64.team64"},
    {"per group of 128", {8192, 8192}, {1, 128}, "vec4/workgroup256.items4",
     "f32.buffer.shared.vec4/workgroup64.team8"},
    {"per column", {8192, 8192}, {8192, 1}, "vec4/workgroup256.items4", "f32.buffer.shared.vec1/workgroup64.team8"},
    // Groups too short to share, and columns that words straddle: nothing is looked up for more than a word.
    {"per group of 16", {8192, 8192}, {1, 16}, "vec4/workgroup256.items1", "f32.buffer.shared.vec4/workgroup64.team1"},
    {"per column of 8191", {8192, 8191}, {8192, 1}, "vec4/workgroup256.items1",
     "f32.buffer.shared.vec1/workgroup64.team8"},
    // Few words go to many workgroups.
    {"one row", {1, 4096}, {1, 4096}, "vec4/workgroup64.items1", "f32.buffer.subgroup.vec4/workgroup256.team256"},
};
// clang-format on

std::string chosen(const Expected<Call>& call, const KernelLibrary& library) {
  if (!call) return to_text(call.error());
  const Selection selection = select(call->problem, testing::h200(), library, {.best_only = true});
  return selection.ranked.empty() ? explain(selection) : selection.ranked.front().id;
}

void add(ChoiceCount& count, const char* name, const std::string& got, const std::string& written) {
  ++count.all;
  count.as_written += got == written ? 1 : 0;
  if (got != written) count.differences += fmt::format("{}: {}, where {} was chosen\n", name, got, written);
}

}  // namespace

ChoiceCount count_affine_choices(const KernelLibrary& library) {
  ChoiceCount count;
  for (const ChoiceCase& row : kChoices) {
    const TensorDesc real{DType::f32, row.shape}, integer{DType::i8, row.shape};
    const TensorDesc scale{DType::f32, *params_shape(row.shape, row.block)}, zero_point{DType::i32, scale.shape};
    const auto quantize =
        quantize_affine_call({.input = real, .scale = scale, .zero_point = zero_point}, {.block_size = row.block});
    const auto dequantize =
        dequantize_affine_call({.input = integer, .scale = scale, .zero_point = zero_point}, {.block_size = row.block});
    const auto choose = choose_qparams_affine_call({.input = real}, {.block_size = row.block});
    add(count, row.name, chosen(quantize, library),
        fmt::format("quantize_affine.f32.i8.buffer.buffer.{}", row.conversion));
    add(count, row.name, chosen(dequantize, library),
        fmt::format("dequantize_affine.i8.f32.buffer.buffer.{}", row.conversion));
    add(count, row.name, chosen(choose, library), fmt::format("choose_qparams_affine.{}", row.choice));
  }
  return count;
}

}  // namespace qgen
