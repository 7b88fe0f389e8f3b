// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Cooperative matrices. Each tile has other elements, so a load from a wrong offset gives other products. Elements are
// small integers, so sums are exact in f32 too.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/engine/self_test/checks.h"
#include "vocabulary/dtypes.h"

namespace qgen::self_test {
namespace {

using Words = std::vector<uint32_t>;
using View = std::span<const uint32_t>;

// As templates/check/check_matrix.comp has it, in vectors of sixteen bytes.
constexpr uint32_t kTiles = 4;
constexpr uint32_t kSides = 16;
constexpr uint32_t kPitch = 5;
constexpr uint32_t kWordsOfVector = 4;
constexpr uint32_t kWordsOfTile = kSides * kPitch * kWordsOfVector;
constexpr uint32_t kWordsOfSums = kSides;

int32_t element_of_a(uint32_t tile, uint32_t row, uint32_t k) {
  return static_cast<int32_t>((row * 3 + k * 5 + tile * 7) % 13) - 6;
}
int32_t element_of_b(uint32_t tile, uint32_t column, uint32_t k) {
  return static_cast<int32_t>((column * 7 + k * 3 + tile * 5) % 11) - 5;
}
int32_t first_sum(uint32_t tile, uint32_t column) { return static_cast<int32_t>(column * 10 + tile * 1000) - 500; }

void put(Words& words, size_t begin, uint32_t element, DType dtype, int32_t value) {
  if (dtype == DType::i8) {
    words[begin + element / 4] |= (static_cast<uint32_t>(value) & 0xffU) << (8 * (element % 4));
  } else {
    const uint32_t half = f32_to_f16(static_cast<float>(value));
    words[begin + element / 2] |= half << (16 * (element % 2));
  }
}

uint32_t word_of(DType sums, int32_t value) {
  return sums == DType::i32 ? std::bit_cast<uint32_t>(value) : std::bit_cast<uint32_t>(static_cast<float>(value));
}

Words input_of(const CooperativeMatrixShape& shape) {
  Words words(2 * kTiles * kWordsOfTile + kTiles * kWordsOfSums);
  for (uint32_t tile = 0; tile < kTiles; ++tile) {
    for (uint32_t side = 0; side < kSides; ++side) {
      const size_t at = tile * kWordsOfTile + side * kPitch * kWordsOfVector;
      for (uint32_t k = 0; k < shape.k; ++k) {
        put(words, at, k, shape.a, element_of_a(tile, side, k));
        put(words, kTiles * kWordsOfTile + at, k, shape.a, element_of_b(tile, side, k));
      }
      words[2 * kTiles * kWordsOfTile + tile * kWordsOfSums + side] = word_of(shape.c, first_sum(tile, side));
    }
  }
  return words;
}

int32_t product(const CooperativeMatrixShape& shape, uint32_t tile, uint32_t row, uint32_t column) {
  int32_t sum = first_sum(tile, column);
  for (uint32_t k = 0; k < shape.k; ++k) {
    sum += element_of_a(tile, row, k) * element_of_b(kTiles - 1 - tile, column, k);
  }
  return sum;
}

std::string number_text(DType sums, uint32_t word) {
  if (sums == DType::i32) return fmt::format("{}", std::bit_cast<int32_t>(word));
  return fmt::format("{}", std::bit_cast<float>(word));
}

Judgement judge(const Task& task, View output) {
  const CooperativeMatrixShape& shape = *task.shape;
  const Words wanted = ideal_matrices(task);
  const size_t elements = size_t{shape.m} * shape.n;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (output[i] == wanted[i]) continue;
    const size_t element = i % elements, pass = i / elements;
    return {fmt::format("with factors from {} at offset {}, element ({}, {}) is {}, not {}",
                        pass % 2 == 0 ? "shared memory" : "a buffer", pass / 2 * kSides * kPitch, element / shape.n,
                        element % shape.n, number_text(shape.c, output[i]), number_text(shape.c, wanted[i]))};
  }
  return {};
}

// Of which check_matrix has a module. The shapes that its specialization does not list are missing there.
bool has_module(const CooperativeMatrixShape& shape) {
  const bool is_int8 = shape.a == DType::i8 && shape.c == DType::i32;
  const bool is_half = shape.a == DType::f16 && shape.c == DType::f32;
  return (is_int8 || is_half) && shape.b == shape.a && shape.result == shape.c && !shape.workgroup_scope;
}

std::string name_of(const CooperativeMatrixShape& shape) {
  return fmt::format("matrix {} x {} x {} of {}", shape.m, shape.n, shape.k, name(shape.a));
}

Task task_of(const CooperativeMatrixShape& shape) {
  return {.kernel = fmt::format("check_matrix.{}_{}/m{}n{}k{}.workgroup128", name(shape.a), name(shape.c), shape.m,
                                shape.n, shape.k),
          .items = kTiles,
          .input = input_of(shape),
          .outputs = size_t{2} * kTiles * shape.m * shape.n,
          .shape = shape};
}

}  // namespace

std::vector<uint32_t> ideal_matrices(const Task& task) {
  const CooperativeMatrixShape& shape = *task.shape;
  Words output;
  for (uint32_t pass = 0; pass < 2 * kTiles; ++pass) {
    for (uint32_t row = 0; row < shape.m; ++row) {
      for (uint32_t column = 0; column < shape.n; ++column) {
        output.push_back(word_of(shape.c, product(shape, pass / 2, row, column)));
      }
    }
  }
  return output;
}

std::vector<Finding> check_matrices(const DeviceProfile& profile, const Compute& compute) {
  std::vector<Finding> findings;
  for (const CooperativeMatrixShape& shape : profile.cooperative_matrices) {
    if (!has_module(shape)) continue;
    const Task task = task_of(shape);
    Finding finding = finding_of(name_of(shape), compute(task), [&](View output) { return judge(task, output); });
    if (finding.verdict == Finding::Verdict::wrong) finding.shapes = {shape};
    findings.push_back(std::move(finding));
  }
  if (findings.empty()) {
    findings.push_back({Finding::Verdict::missing, "cooperative_matrix", "the device has no shape that kernels use"});
  }
  return findings;
}

}  // namespace qgen::self_test
