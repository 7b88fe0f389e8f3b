// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The header of one operator, for its callers. A kernel that does not exist has no enumerator. And the headers of
// fragments that declare problem fields: all specs that use a fragment share a struct, which one function can fill.
//
//   struct ConvWalk { Required<uint32_t> phase_taps; ... };       conv_walk_fields.h
//   struct Problem { fields::ConvWalk conv_walk; ... };           q8ta_conv2d.h
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/emit/public_operators.h"
#include "codegen/spec/axes.h"
#include "codegen/spec/signature.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {
namespace {

using spec::Axis;
using spec::Spec;

void print_head(TextWriter& out, const OperatorModel& model) {
  const Spec& spec = model.spec();
  out.line("// {} from {}. Do not edit.", kGeneratedMark, model.family->source);
  if (spec.template_path) out.line("//   template: {}", spec.template_path->value);
  if (!spec.summary.empty()) {
    out.text("//");
    out.line("// {}", spec.summary);
  }
  out.text("#pragma once");
  out.blank();
  out.text("#include <array>");
  out.text("#include <cstddef>");
  out.text("#include <cstdint>");
  out.text("#include <vector>");
  out.blank();
  std::set<std::string> headers = {"qgen/kernels.h"};
  for (const FieldGroup& group : field_groups(spec)) {
    if (!group.fragment.empty()) headers.insert(fields_header(group.fragment));
    else if (group.fields.front().is_word()) headers.insert("words.h");
  }
  for (const std::string& header : headers) out.line("#include \"{}\"", header);
  out.blank();
}

void print_operands(TextWriter& out, const Spec& spec) {
  out.text("enum class Operand : uint8_t {");
  {
    const auto indented = out.indent();
    for (const auto& operand : spec.operands) out.line("{},", identifier(operand.name.value));
  }
  out.text("};");
  out.blank();
  out.text("// By name, a T for each operand.");
  out.text("template <typename T>");
  out.text("struct Operands {");
  {
    const auto indented = out.indent();
    for (const auto& operand : spec.operands) {
      const std::string name = identifier(operand.name.value);
      out.text(operand.is_optional ? fmt::format("Optional<T> {};", name) : fmt::format("Required<T> {};", name));
    }
  }
  out.text("};");
  out.blank();
  out.text("// In the order of the operator's table.");
  out.text("template <typename T>");
  out.text("std::vector<T> in_order(const Operands<T>& operands) {");
  {
    const auto indented = out.indent();
    std::vector<std::string> values;
    for (const auto& operand : spec.operands) values.push_back("operands." + identifier(operand.name.value));
    out.filled("return {", values, "};");
  }
  out.text("}");
  out.blank();
}

// The operands that callers give have their names in the inputs of each public operator. None: the spec has no public
// operator, or callers give nothing.
std::vector<const spec::SignatureTensor*> given_operands(const std::vector<spec::Signature>& signatures) {
  std::vector<const spec::SignatureTensor*> given;
  if (signatures.empty()) return given;
  for (const spec::SignatureTensor& tensor : signatures.front().tensors) {
    if (is_given(tensor)) given.push_back(&tensor);
  }
  return given;
}

void print_made_operands(TextWriter& out, const std::vector<spec::Signature>& signatures) {
  if (given_operands(signatures).empty()) return;
  out.text("// The operands that a call makes: its outputs, and sums of a weight's rows.");
  out.text("template <typename T>");
  out.text("struct MadeOperands {");
  std::vector<std::string> values;
  {
    const auto indented = out.indent();
    for (const spec::SignatureTensor& tensor : signatures.front().tensors) {
      const std::string name = identifier(tensor.operand->name.value);
      if (is_given(tensor)) {
        values.push_back(fmt::format(".{0} = inputs.{0}{1}", name,
                                     tensor.operand->has_view && !tensor.is_optional ? "->tensor" : ""));
      } else {
        out.line("{}<T> {};", tensor.is_optional ? "Optional" : "Required", name);
        values.push_back(fmt::format(".{0} = made.{0}", name));
      }
    }
  }
  out.text("};");
  out.blank();
  out.text("// All operands: `inputs` has those that callers give.");
  out.text("template <typename T>");
  out.text("Operands<T> with_inputs(const auto& inputs, const MadeOperands<T>& made) {");
  {
    const auto indented = out.indent();
    out.filled("return {", values, "};");
  }
  out.text("}");
  out.blank();
}

void print_problem(TextWriter& out, const Spec& spec, bool has_made_operands) {
  out.text("// What the caller knows: a number for every field.");
  out.text("struct Problem {");
  {
    const auto indented = out.indent();
    for (const FieldGroup& group : field_groups(spec)) {
      if (group.fragment.empty()) out.text(cpp_declaration(group.fields.front()));
      else out.line("{}::{} {};", kFieldsNamespace, fields_struct(group.fragment), identifier(group.fragment));
    }
    if (!spec.problem.empty()) out.blank();
    out.text("static constexpr const OperatorInfo* kOperator = &op;");
    out.line("template <typename T>");
    out.line("using Operands = {}::Operands<T>;", identifier(spec.name.value));
    if (has_made_operands) {
      out.line("template <typename T>");
      out.line("using MadeOperands = {}::MadeOperands<T>;", identifier(spec.name.value));
    }
  }
  out.text("};");
  out.blank();
}

void print_word_enum(TextWriter& out, const Axis& axis) {
  out.line("enum class {} : uint8_t {{", cpp_type(axis));
  {
    const auto indented = out.indent();
    for (const std::string& word : spec::words_of(axis)) out.line("{},", identifier(word));
  }
  out.text("};");
  out.blank();
}

void print_parameters(TextWriter& out, const Spec& spec) {
  for (const Axis& axis : spec.parameters) {
    if (axis.type == expression::Type::word && word_set(axis) == WordSet::own) print_word_enum(out, axis);
  }
  out.text("// What tells one module from another.");
  out.text("struct Parameters {");
  {
    const auto indented = out.indent();
    for (const Axis& axis : spec.parameters) out.line("{} {};", cpp_type(axis), identifier(axis.name.value));
  }
  out.text("};");
  out.blank();
}

uint32_t as_word(const expression::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  return static_cast<uint32_t>(std::get<Integer>(value).value);
}

void print_specialization(TextWriter& out, const Spec& spec) {
  if (spec.specialization.empty()) return;
  out.text("// Chosen when a pipeline is made.");
  out.text("struct Specialization {");
  {
    const auto indented = out.indent();
    for (const Axis& axis : spec.specialization) {
      out.line("uint32_t {} = {};", identifier(axis.name.value), as_word(axis.values.front().value));
    }
  }
  out.text("};");
  out.blank();
}

std::string_view scalar_type(reflect::Member::Kind kind) {
  switch (kind) {
    case reflect::Member::Kind::u32: return "uint32_t";
    case reflect::Member::Kind::i32: return "int32_t";
    case reflect::Member::Kind::f32: return "float";
    case reflect::Member::Kind::other: break;
  }
  return "std::byte";
}

// Members in the order of their offsets, with gaps filled. The compiler then proves that they are where the modules
// read them.
void print_block(TextWriter& out, const Block& block) {
  out.line("struct {} {{", block.struct_name);
  {
    const auto indented = out.indent();
    uint32_t end = 0;
    for (const reflect::Member& member : block.members) {
      if (member.offset > end) out.line("std::byte gap_{}[{}];", end, member.offset - end);
      const std::string count = member.count == 1 ? "" : fmt::format("[{}]", member.count);
      out.line("{} {}{};", scalar_type(member.kind), identifier(member.name), count);
      end = member.offset + member.size_bytes;
    }
  }
  out.text("};");
  for (const reflect::Member& member : block.members) {
    out.line("static_assert(offsetof({}, {}) == {});", block.struct_name, identifier(member.name), member.offset);
  }
  out.line("static_assert(sizeof({}) == {});", block.struct_name, block.size_bytes);
  out.blank();
}

void print_blocks(TextWriter& out, const OperatorModel& model) {
  if (model.blocks.empty()) return;
  out.text("// What modules read of the problem, where they read it.");
  for (const Block& block : model.blocks) print_block(out, block);
}

void print_variants(TextWriter& out, const OperatorModel& model) {
  const auto& kernels = model.family->kernels;
  out.text("// Every module there is, in the order of the table.");
  out.text("enum class Variant : uint16_t {");
  {
    const auto indented = out.indent();
    for (const Kernel& kernel : kernels) out.line("{},", enumerator(model.spec(), kernel.variant));
  }
  out.text("};");
  out.line("constexpr uint32_t kVariants = static_cast<uint32_t>(Variant::{}) + 1;",
           enumerator(model.spec(), kernels.back().variant));
  out.blank();
  out.text("inline const KernelInfo& kernel(Variant variant) { return op.kernels[static_cast<size_t>(variant)]; }");
  out.text("inline const Parameters& parameters(const KernelInfo& kernel) {");
  out.text("  return *static_cast<const Parameters*>(kernel.parameters);");
  out.text("}");
}

}  // namespace

namespace {

std::string fields_header(const FieldGroup& group, const Options& options) {
  TextWriter out;
  out.line("// {} from the problem fields of the fragment {}. Do not edit.", kGeneratedMark, group.fragment);
  out.text("#pragma once");
  out.blank();
  out.text("#include <array>");
  out.text("#include <cstdint>");
  out.blank();
  out.text("#include \"qgen/kernels.h\"");
  if (std::ranges::any_of(group.fields, &spec::ProblemField::is_word)) out.text("#include \"words.h\"");
  out.blank();
  out.text(open_namespace(options, kFieldsNamespace));
  out.blank();
  out.line("struct {} {{", fields_struct(group.fragment));
  {
    const auto indented = out.indent();
    for (const spec::ProblemField& field : group.fields) out.text(cpp_declaration(field));
  }
  out.text("};");
  out.blank();
  out.text(close_namespace(options, kFieldsNamespace));
  return std::move(out).take();
}

}  // namespace

std::vector<File> fields_headers(std::span<const Family> families, const Options& options) {
  std::map<std::string_view, FieldGroup> fragments;
  for (const Family& family : families) {
    for (const FieldGroup& group : field_groups(*family.spec)) {
      if (!group.fragment.empty()) fragments.emplace(group.fragment, group);
    }
  }
  std::vector<File> files;
  for (const auto& [fragment, group] : fragments)
    files.push_back({"cpp/" + fields_header(fragment), fields_header(group, options)});
  return files;
}

std::string operator_header(const OperatorModel& model, const Options& options) {
  const Spec& spec = model.spec();
  TextWriter out;
  print_head(out, model);
  out.text(open_namespace(options, identifier(spec.name.value)));
  out.blank();
  out.text("extern const OperatorInfo op;");
  const std::vector<spec::Signature> signatures = spec::signatures_of(spec);
  if (!signatures.empty()) {
    std::vector<std::string> names;
    for (const spec::Signature& signature : signatures) names.push_back(signature.name);
    out.line("extern const SignatureInfo signatures[{}];  // {}", names.size(), fmt::join(names, ", "));
  }
  out.blank();
  print_operands(out, spec);
  print_made_operands(out, signatures);
  print_problem(out, spec, !given_operands(signatures).empty());
  if (!model.family->kernels.empty()) {
    print_parameters(out, spec);
    print_specialization(out, spec);
    print_blocks(out, model);
    print_variants(out, model);
  } else {
    out.text("// Made of recipes only.");
    out.text("constexpr uint32_t kVariants = 0;");
  }
  out.blank();
  out.text(close_namespace(options, identifier(spec.name.value)));
  return std::move(out).take();
}

}  // namespace qgen::emit
