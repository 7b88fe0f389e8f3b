// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/profiles/matrix_fields.h"

#include <fmt/format.h>

#include <limits>

#include "common/text.h"
#include "vocabulary/dtypes.h"

namespace qgen::profiles {
namespace {

constexpr std::string_view kScopes[] = {"subgroup", "workgroup"};

yaml::Field side(yaml::Reader& reader, std::string_view key, uint16_t& value) {
  return {key, true, [&reader, key, &value](const YAML::Node& node) {
            int64_t read = 0;
            reader.integer(node, key, 0, std::numeric_limits<uint16_t>::max(), read);
            value = static_cast<uint16_t>(read);
          }};
}

yaml::Field dtype(yaml::Reader& reader, std::string_view key, DType& value) {
  return {key, true, [&reader, &value](const YAML::Node& node) {
            if (const auto index = reader.word(node, "dtype", names_of(kDTypes))) value = kDTypes[*index].dtype;
          }};
}

}  // namespace

std::vector<yaml::Field> matrix_fields(yaml::Reader& reader, CooperativeMatrixShape& shape) {
  return {side(reader, "m", shape.m),
          side(reader, "n", shape.n),
          side(reader, "k", shape.k),
          dtype(reader, "a", shape.a),
          dtype(reader, "b", shape.b),
          dtype(reader, "c", shape.c),
          dtype(reader, "result", shape.result),
          {"scope", true, [&reader, &shape](const YAML::Node& node) {
             if (const auto index = reader.word(node, "scope", kScopes)) shape.workgroup_scope = *index == 1;
           }}};
}

std::string matrix_text(const CooperativeMatrixShape& s) {
  return fmt::format("m: {}, n: {}, k: {}, a: {}, b: {}, c: {}, result: {}, scope: {}", s.m, s.n, s.k, name(s.a),
                     name(s.b), name(s.c), name(s.result), kScopes[s.workgroup_scope ? 1 : 0]);
}

}  // namespace qgen::profiles
