// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The type of a problem field as written: u32, u32[8].
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codegen/spec/spec.h"

namespace qgen::spec {

struct FieldType {
  FieldKind kind = FieldKind::u32;
  uint32_t count = 1;
};

constexpr uint32_t kMaxFieldCount = 256;

std::optional<FieldType> parse_field_type(std::string_view text);
std::string to_text(const FieldType& type);
// Of any field: "u32[8]", "{words: [none, relu]}", and with the name of the words where that is not the field's.
std::string to_text(const ProblemField& field);

// The type in an expression that names the field.
expression::Type type_of(const ProblemField& field);

}  // namespace qgen::spec
