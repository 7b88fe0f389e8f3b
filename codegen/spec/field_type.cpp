// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/field_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

namespace qgen::spec {
namespace {

std::string_view name(FieldKind kind) {
  switch (kind) {
    case FieldKind::u32: return "u32";
    case FieldKind::i32: return "i32";
    case FieldKind::f32: return "f32";
  }
  return "?";
}

}  // namespace

std::optional<FieldType> parse_field_type(std::string_view text) {
  FieldType type;
  const std::string_view kind = text.substr(0, text.find('['));
  if (kind == "u32") type.kind = FieldKind::u32;
  else if (kind == "i32") type.kind = FieldKind::i32;
  else if (kind == "f32") type.kind = FieldKind::f32;
  else return std::nullopt;
  if (kind == text) return type;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + kind.size() + 1, end, type.count);
  const bool is_good = read.ec == std::errc() && end - read.ptr == 1 && *read.ptr == ']';
  return is_good && type.count >= 1 && type.count <= kMaxFieldCount ? std::optional(type) : std::nullopt;
}

std::string to_text(const FieldType& type) {
  return type.count == 1 ? std::string(name(type.kind)) : fmt::format("{}[{}]", name(type.kind), type.count);
}

std::string to_text(const ProblemField& field) {
  const std::string otherwise = field.otherwise ? ", default: " + field.otherwise->value : "";
  if (!field.is_word()) {
    const std::string type = to_text(FieldType{field.kind, field.count});
    return field.otherwise ? fmt::format("{{type: {}{}}}", type, otherwise) : type;
  }
  const bool has_own_name = field.word_set == field.name.value;
  return fmt::format("{{words: [{}]{}{}}}", fmt::join(texts_of(field.words), ", "),
                     has_own_name ? "" : ", enum: " + field.word_set, otherwise);
}

expression::Type type_of(const ProblemField& field) {
  if (field.is_word()) return expression::Type::word;
  return field.kind == FieldKind::f32 ? expression::Type::real : expression::Type::integer;
}

}  // namespace qgen::spec
