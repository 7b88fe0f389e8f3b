// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "codegen/render/declarations.h"
#include "codegen/render/glsl.h"
#include "codegen/render/packed_operand.h"
#include "codegen/spec/axes.h"
#include "codegen/support/storage_access.h"

namespace qgen::render {
namespace {

using expression::Expression;
using expression::Value;

constexpr size_t kPushConstantBytes = 128;  // the minimum of every Vulkan device

class Printer {
 public:
  Printer(const spec::Spec& spec, std::span<const Value> environment) : spec_(spec), environment_(environment) {}

  std::string operator()(const Extensions&) const {
    std::set<std::string_view> extensions;
    for (const spec::Operand& operand : spec_.operands) {
      const auto dtype = find_dtype(word_of(operand.dtype));
      if (!dtype) continue;
      for (const std::string_view extension : extensions_of(*dtype, storage_of(operand))) extensions.insert(extension);
    }
    std::string lines(has_word_access() ? kWordAccessPragma : "");
    for (const std::string_view extension : extensions) {
      lines += fmt::format("{}#extension {} : require", lines.empty() ? "" : "\n", extension);
    }
    return lines;
  }

  std::string operator()(const DeclareProblem&) const {
    size_t bytes = 0;
    std::string fields;
    for (const spec::ProblemField& field : spec_.problem) {
      bytes += 4 * field.count;  // every kind is of four bytes, so std430 packs them without gaps
      const std::string count = field.count == 1 ? "" : fmt::format("[{}]", field.count);
      fields += fmt::format(" {} {}{};", glsl_type(field.kind), field.name.value, count);
    }
    if (spec_.problem.empty()) return "";
    if (bytes <= kPushConstantBytes) {
      return fmt::format("layout(push_constant, std430) uniform Problem {{{} }} problem;{}", fields, word_constants());
    }
    return fmt::format(
        "#extension GL_EXT_scalar_block_layout : require\n"  // std430 of a uniform block
        "layout(set = 0, binding = {}, std430) uniform ProblemBuffer {{{} }} problem;{}",
        spec_.operands.size(), fields, word_constants());
  }

  std::string operator()(const DeclareOperand& declaration) const {
    const spec::Operand& operand = spec_.operands[declaration.operand];
    const auto dtype = find_dtype(word_of(operand.dtype));
    if (!dtype) return failure(fmt::format("operand '{}' has no dtype", operand.name.value));
    if (storage_of(operand) == Storage::texture3d) {
      if (declaration.as != DeclareOperand::As::elements) {
        return failure(
            fmt::format("'{}' is a texture, and textures have no {}", operand.name.value, field_of(declaration.as)));
      }
      return fmt::format("layout(set = 0, binding = {}, {}) uniform {}{} {}_image;", declaration.operand,
                         image_format(*dtype), qualifiers(operand.access, false), image_type(*dtype),
                         operand.name.value);
    }
    const DType element = element_of(declaration.as, *dtype);
    const int64_t elements = declaration.as == DeclareOperand::As::vectors ? 4
                             : declaration.elements
                                 ? std::get<Integer>(expression::evaluate(*declaration.elements, environment_)).value
                                 : 1;
    const auto type = elements == 3 ? std::nullopt : vector_type(element, elements);
    if (!type) {
      return failure(fmt::format("a buffer is declared with elements of 1, 2 or 4, and '{}' is declared with {}",
                                 operand.name.value, elements));
    }
    const bool shares_bytes = may_share_bytes(operand, spec_.operands);
    return fmt::format("{}layout(set = 0, binding = {}, std430) {}buffer {}{} {{ {} {}_{}[]; }};",
                       shares_bytes ? fmt::format("{}\n", kSharedBytesExtension) : "", declaration.operand,
                       qualifiers(operand.access, shares_bytes), camel_case(operand.name.value),
                       block_of(declaration.as), *type, operand.name.value, field_of(declaration.as));
  }

  std::string operator()(const DeclarePacked& declaration) const {
    const spec::Operand& operand = spec_.operands[declaration.operand];
    const std::string& name = operand.name.value;
    const auto dtype = find_dtype(word_of(operand.dtype));
    const auto layout = operand.layout ? find_layout(word_of(*operand.layout)) : Layout::strided;
    if (!dtype || bytes(*dtype) != 1 || !layout || info(*layout).storage != Storage::buffer) {
      return failure(fmt::format("operand '{}' is not a buffer of i8 or u8 in a layout of buffers", name));
    }
    PackedOperand described{.name = name,
                            .binding = declaration.operand,
                            .access = operand.access,
                            .dtype = *dtype,
                            .layout = *layout,
                            .sides = declaration.sides,
                            .shares_bytes = may_share_bytes(operand, spec_.operands),
                            .is_in_any_order = declaration.is_in_any_order};
    if (!declaration.across) return render::print(described);
    const int64_t across = std::get<Integer>(expression::evaluate(*declaration.across, environment_)).value;
    if (across < 0 || across >= static_cast<int64_t>(Dim::batch) || across == packed(*layout)) {
      return failure(
          fmt::format("rows of '{}' are along width 0, height 1 or channels 2, but not along the packed dimension, "
                      "and {} is given",
                      name, across));
    }
    described.across = static_cast<Dim>(across);
    return render::print(described);
  }

  // A specialized side has its first value as well: the module is then whole without specialization.
  std::string operator()(const LocalSize& declaration) const {
    std::string sides;
    for (size_t i = 0; i < declaration.sides.size(); ++i) {
      const char axis = "xyz"[i];
      if (i != 0) sides += ", ";
      if (const auto* constant = std::get_if<LocalSize::Constant>(&declaration.sides[i])) {
        sides += fmt::format("local_size_{0} = {1}, local_size_{0}_id = {2}", axis,
                             expression::to_text(spec_.specialization[constant->index].values.front().value),
                             constant->index);
        continue;
      }
      const auto& expression = std::get<Expression>(declaration.sides[i]);
      const int64_t side = std::get<Integer>(expression::evaluate(expression, environment_)).value;
      if (side < 1) return failure(fmt::format("a workgroup cannot have {} invocations along a dimension", side));
      sides += fmt::format("local_size_{} = {}", axis, side);
    }
    return fmt::format("layout({}) in;", sides);
  }

 private:
  bool has_word_access() const {
    for (const spec::Axis& axis : spec_.parameters) {
      if (axis.name.value != kStorageAccess) continue;
      return expression::to_text(environment_[place_of_parameter(spec_, axis.name.value)]) == kWordAccess;
    }
    return false;
  }
  std::string word_of(const spec::Choice& choice) const {
    if (!choice.is_parameter) return choice.word;
    return expression::to_text(environment_[place_of_parameter(spec_, choice.word)]);
  }
  Storage storage_of(const spec::Operand& operand) const {
    return word_of(operand.storage) == name(Storage::texture3d) ? Storage::texture3d : Storage::buffer;
  }

  static DType element_of(DeclareOperand::As as, DType dtype) {
    switch (as) {
      case DeclareOperand::As::elements: return dtype;
      case DeclareOperand::As::words:
      case DeclareOperand::As::vectors: return DType::u32;
      case DeclareOperand::As::bits: return bytes(dtype) == 1 ? DType::u8 : bytes(dtype) == 2 ? DType::u16 : DType::u32;
    }
    return dtype;
  }
  static std::string_view block_of(DeclareOperand::As as) {
    switch (as) {
      case DeclareOperand::As::elements: return "Buffer";
      case DeclareOperand::As::words: return "Words";
      case DeclareOperand::As::vectors: return "Vectors";
      case DeclareOperand::As::bits: return "Bits";
    }
    return "";
  }
  static std::string_view field_of(DeclareOperand::As as) {
    switch (as) {
      case DeclareOperand::As::elements: return "data";
      case DeclareOperand::As::words: return "words";
      case DeclareOperand::As::vectors: return "vectors";
      case DeclareOperand::As::bits: return "bits";
    }
    return "";
  }

  // A line of constants for each name that words of the problem go by: kActivationNone, kActivationRelu, ...
  std::string word_constants() const {
    std::set<std::string_view> declared;
    std::string lines;
    for (const spec::ProblemField& field : spec_.problem) {
      if (!field.is_word() || !declared.insert(field.word_set).second) continue;
      std::vector<std::string> constants;
      for (const auto& word : field.words) {
        constants.push_back(
            fmt::format("k{}{} = {}u", camel_case(field.word_set), camel_case(word.value), constants.size()));
      }
      lines += fmt::format("\nconst uint {};", fmt::join(constants, ", "));
    }
    return lines;
  }

  static std::string_view glsl_type(spec::FieldKind kind) {
    switch (kind) {
      case spec::FieldKind::u32: return "uint";
      case spec::FieldKind::i32: return "int";
      case spec::FieldKind::f32: return "float";
    }
    return "";
  }

  const spec::Spec& spec_;
  std::span<const Value> environment_;
};

}  // namespace

std::string print(const Declaration& declaration, const spec::Spec& spec, std::span<const Value> environment) {
  return std::visit(Printer(spec, environment), declaration);
}

}  // namespace qgen::render
