// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Rows of linear layers, of packing their weights, and of embeddings.
#include <fmt/format.h>

#include "bench/family.h"

namespace qgen::bench {
namespace {

// m, k, n of language models, for one token and for many, and two that end within tiles. Weights of four bits have a
// scale for each 128 along k.
constexpr Size kSizes[] = {{1, 512, 512},       {1, 1024, 1024},    {1, 1024, 2048},    {1, 1024, 3072},
                           {1, 3072, 1024},     {1, 2048, 512},     {31, 128, 12},      {33, 128, 20},
                           {1, 2048, 2048},     {1, 2048, 8192},    {1, 8192, 2048},    {1, 512, 9059},
                           {1, 4096, 14336},    {1, 14336, 4096},   {4, 4096, 4096},    {32, 1024, 2048},
                           {128, 1024, 2048},   {256, 1024, 2048},  {32, 4096, 4096},   {128, 4096, 4096},
                           {256, 4096, 4096},   {128, 2048, 2048},  {256, 2048, 2048},  {512, 2048, 2048},
                           {1024, 2048, 2048},  {1024, 4096, 1024}, {1024, 4096, 4096}, {1024, 4096, 14336},
                           {1024, 14336, 4096}, {512, 4096, 14336}, {512, 14336, 4096}, {4096, 4096, 4096}};

Row linear(std::string op, const Size& size, std::string_view real, std::string_view values, const std::string& scales,
           Texts attributes = {}) {
  const TimedRequest chosen{{.shapes = {fmt::format("input={}x{}:{}", size.m, size.k, real),
                                        fmt::format("weight={}x{}:i8={}", size.n, size.k, values),
                                        fmt::format("weight_scales={}:f32=0.01", scales)},
                             .attributes = std::move(attributes)}};
  return {std::move(op), fmt::format("{}.{}", text(size), real), chosen, TimedRequest{chosen.request, ".plain("},
          operations(size)};
}

// On activations in plain buffers, and in the layouts that kernels for few and for many rows prefer.
void add_q8ta_linear(std::vector<Row>& rows, const Size& size) {
  const Texts shapes = {fmt::format("input={}x{}:i8", size.m, size.k), fmt::format("weight={}x{}:i8", size.n, size.k),
                        fmt::format("weight_scales={}:f32=0.01", size.n)};
  for (const std::string_view layout : {"strided", size.m < 4 ? "packed_4w" : "packed_4h4w"}) {
    Row row = in_layouts("q8ta_linear", text(size), shapes, joined(kInput, kOutput),
                         {fmt::format("input={}", layout), fmt::format("output={}", layout)}, ".plain(");
    row.operations = operations(size);
    rows.push_back(std::move(row));
  }
  Row real = in_layouts("q8ta_linear_dequantize", text(size), shapes, kInput, {"input=strided"}, ".plain(");
  real.operations = operations(size);
  rows.push_back(std::move(real));
}

void add_linear(std::vector<Row>& rows) {
  constexpr int kGroup = 128;
  for (const Size& size : kSizes) {
    add_q8ta_linear(rows, size);
    const std::string one_a_row = fmt::format("{}", size.n),
                      one_a_group = fmt::format("{}x{}", size.n, size.k / kGroup);
    for (const std::string_view real : {"f32", "f16"}) {
      rows.push_back(linear("linear_q8csw", size, real, "-128..127", one_a_row));
      rows.push_back(linear("linear_q8ta_q8csw", size, real, "-128..127", one_a_row, {"input_scale=0.01"}));
      rows.push_back(linear("linear_dq8ca_q8csw", size, real, "-128..127", one_a_row));
      rows.push_back(linear("linear_q4gsw", size, real, "-8..7", one_a_group));
      rows.push_back(linear("linear_dq8ca_q4gsw", size, real, "-8..7", one_a_group));
    }
  }
}

// Between two layers of a language model: one token, and many. m, k, n.
void add_normalized(std::vector<Row>& rows, const std::string& op, std::initializer_list<Size> sizes) {
  for (const Size& size : sizes) {
    const TimedRequest chosen{
        {.shapes = {fmt::format("hidden={}x{}:f16", size.m, size.k), fmt::format("skip={}x{}:f16", size.m, size.k),
                    fmt::format("norm_weight={}:f16", size.k), fmt::format("weight={}x{}:i8=-8..7", size.n, size.k),
                    fmt::format("weight_scales={}x{}:f32=0.01", size.n, size.k / 128)}}};
    rows.push_back({op, text(size), chosen, TimedRequest{chosen.request, ".plain("}, operations(size)});
  }
}

// The same of training around a weight that stays: many rows, and for comparison one.
constexpr Size kBackwardSizes[] = {{1, 4096, 4096},     {32, 4096, 4096},    {256, 4096, 4096}, {1024, 4096, 4096},
                                   {1024, 4096, 14336}, {1024, 14336, 4096}, {4096, 4096, 4096}};

void add_backward(std::vector<Row>& rows) {
  constexpr int kGroup = 128;
  for (const Size& size : kBackwardSizes) {
    for (const std::string_view real : {"f32", "f16"}) {
      const TimedRequest chosen{{.shapes = {fmt::format("d_output={}x{}:{}", size.m, size.n, real),
                                            fmt::format("weight={}x{}:i8=-8..7", size.n, size.k),
                                            fmt::format("weight_scales={}x{}:f32=0.01", size.n, size.k / kGroup)}}};
      rows.push_back({"linear_q4gsw_backward", fmt::format("{}.{}", text(size), real), chosen,
                      TimedRequest{chosen.request, ".plain("}, operations(size)});
    }
  }
}

void add_packing(std::vector<Row>& rows) {
  for (const std::string_view form : {"weight_q8_4k4n", "weight_q8_rows", "weight_q4_rows"}) {
    const std::string values = form.starts_with("weight_q4") ? "-8..7" : "-128..127";
    rows.push_back(
        {"pack_weight",
         fmt::format("14336x4096.{}", form),
         {{.shapes = {fmt::format("source=14336x4096:i8={}", values)}, .attributes = {fmt::format("form={}", form)}}},
         {}});
  }
}

void add_quantizing(std::vector<Row>& rows) {
  for (const std::string_view real : {"f32", "f16"}) {
    const TimedRequest chosen{{.shapes = {fmt::format("input=14336x4096:{}", real), "weight_scales=14336x32:f32=0.1"}}};
    rows.push_back(
        {"quantize_q4gsw", fmt::format("14336x4096.{}", real), chosen, TimedRequest{chosen.request, ".vec1"}});
  }
}

void add_embedding(std::vector<Row>& rows) {
  constexpr double kRows = 2047, kColumns = 2048, kScales = 64;
  for (const auto& [real, bytes] : {std::pair{"float32", 4}, {"float16", 2}}) {
    const TimedRequest chosen{
        {.shapes = {"indices=1x2047:i32=0..128255", "weight=128256x2048:i8=-8..7", "weight_scales=128256x64:f32=0.01"},
         .attributes = {fmt::format("output_dtype={}", real)}}};
    rows.push_back({.op = "embedding_q4gsw",
                    .size = fmt::format("128256x2048.2047_rows.{}", real),
                    .chosen = chosen,
                    .plain = TimedRequest{chosen.request, ".vec1"},
                    .bytes = kRows * (4 + kColumns * (0.5 + bytes) + kScales * 4)});
  }
}

// m x k x n: a token, few rows, many. Rivals of many rows take as long as all other rows together: 512 are enough.
const std::vector<std::string_view> kLayers = {"1x4096x14336.f16", "4x4096x4096.f16", "512x4096x14336.f16"};

}  // namespace

Family linear_family() {
  Family family;
  add_linear(family.rows);
  add_normalized(family.rows, "rms_norm_linear_q4gsw", {{1, 4096, 6144}, {1, 4096, 28672}, {512, 4096, 6144}});
  add_normalized(family.rows, "rms_norm_gated_q4gsw", {{1, 4096, 28672}, {512, 4096, 28672}});
  add_backward(family.rows);
  add_packing(family.rows);
  add_quantizing(family.rows);
  add_embedding(family.rows);
  family.short_sizes = {
      {"q8ta_linear",
       {"1x4096x14336.strided.strided", "4x4096x4096.strided.strided", "512x4096x14336.packed_4h4w.packed_4h4w",
        "4096x4096x4096.strided.strided"}},
      {"q8ta_linear_dequantize", {"1x4096x14336.strided", "512x4096x14336.strided"}},
      {"linear_q8ta_q8csw", kLayers},
      {"linear_q8csw", kLayers},
      {"linear_q4gsw", kLayers},
      {"linear_dq8ca_q8csw", kLayers},
      {"linear_dq8ca_q4gsw", kLayers},
      {"rms_norm_linear_q4gsw", {"1x4096x28672"}},
      {"rms_norm_gated_q4gsw", {"1x4096x28672"}},
      {"linear_q4gsw_backward", {"1x4096x4096.f16", "256x4096x4096.f16"}},
      {"pack_weight", {"14336x4096.weight_q8_rows", "14336x4096.weight_q4_rows"}},
      {"quantize_q4gsw", {"14336x4096.f16"}},
      {"embedding_q4gsw", {"128256x2048.2047_rows.float16"}},
  };
  return family;
}

}  // namespace qgen::bench
