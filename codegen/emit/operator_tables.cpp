// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tables of one operator, and its spec's expressions as functions.
//
// Rows refer to each other by names made from content (uses_1a2b3c4d), never by number. Parts that several rows share
// are printed once. So a variant costs one line here and one in the header.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/expressions.h"
#include "codegen/emit/fields_read.h"
#include "codegen/emit/products.h"
#include "codegen/spec/axes.h"
#include "codegen/spec/check_spec.h"
#include "codegen/spec/signature.h"
#include "codegen/support/text_writer.h"

namespace qgen::emit {
namespace {

using spec::Axis;
using spec::Spec;

// ---- operands and fields --------------------------------------------------------------------------------------------

// A step's kernel knows its own operand, not the whole operator's. Only the spec has that.
std::string dtypes_taken(const Spec& spec, const spec::Operand& operand) {
  if (spec.template_path) return "";
  std::vector<std::string> bits;
  for (const std::string& word : spec::words_of(spec, operand.dtype))
    bits.push_back(fmt::format("bit(DType::{})", word));
  return fmt::format(", {}", fmt::join(bits, " | "));
}

// A bit for each operand whose bytes it may share.
std::string in_place_of(const Spec& spec, const spec::Operand& operand) {
  std::vector<std::string> bits;
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    if (may_lie_in(operand, spec.operands[i])) bits.push_back(fmt::format("1u << {}", i));
  }
  return bits.empty() ? "" : fmt::format(", 0, {}", fmt::join(bits, " | "));
}

void print_operands(TextWriter& out, const Spec& spec) {
  if (spec.operands.empty()) return;
  out.text("constexpr OperandInfo kOperands[] = {");
  {
    const auto indented = out.indent();
    for (const auto& operand : spec.operands) {
      out.line("{{{}, {}, {}{}{}}},", quoted(operand.name.value), cpp_name(operand.access), operand.is_optional,
               dtypes_taken(spec, operand), in_place_of(spec, operand));
    }
  }
  out.text("};");
  out.blank();
}

void print_fields(TextWriter& out, const Spec& spec, std::span<const Family> families) {
  if (spec.problem.empty()) return;
  const auto read = fields_read(spec, families);
  out.text("constexpr FieldInfo kFields[] = {");
  {
    const auto indented = out.indent();
    for (const auto& field : spec.problem) {
      const std::string row =
          fmt::format("{{{}, {}, offsetof(Problem, {}), {}{}}}", quoted(field.name.value), cpp_name(field.kind),
                      member_of_problem(field), field.count, field.is_word() ? ", " + words_array(field.word_set) : "");
      // Of arrays only tables of values: sides and strides say where a kernel reads, and so how long it takes.
      constexpr uint64_t kMostSides = 16;
      const bool may_be_data = field.count == 1 ? !read.contains(field.name.value) : field.count > kMostSides;
      const bool is_data = may_be_data && !field.is_word();
      out.code(is_data ? fmt::format("table::data({}),", row) : row + ",");
    }
  }
  out.text("};");
  out.blank();
}

std::string choice(const spec::Choice& chosen, std::string_view enumeration) {
  if (chosen.is_parameter) return "parameters." + identifier(chosen.word);
  return fmt::format("{}::{}", enumeration, chosen.word);
}

bool names_parameter(const spec::Operand& operand) {
  return operand.dtype.is_parameter || operand.storage.is_parameter || (operand.layout && operand.layout->is_parameter);
}

void print_form_function(TextWriter& out, const Spec& spec) {
  const bool reads = std::any_of(spec.operands.begin(), spec.operands.end(), names_parameter);
  out.line("OperandForm form(const void*{}, size_t operand) {{", reads ? " kernel_parameters" : "");
  {
    const auto indented = out.indent();
    if (reads) out.text("const Parameters& parameters = *static_cast<const Parameters*>(kernel_parameters);");
    out.text("switch (static_cast<Operand>(operand)) {");
    {
      const auto cases = out.indent();
      for (const auto& operand : spec.operands) {
        out.line("case Operand::{}: return {{{}, {}, {}}};", identifier(operand.name.value),
                 choice(operand.dtype, "DType"), choice(operand.storage, "Storage"),
                 operand.layout ? fmt::format("table::only({})", choice(*operand.layout, "Layout")) : "0");
      }
    }
    out.text("}");
    out.text("return {};");
  }
  out.text("}");
  out.blank();
}

void print_specializations(TextWriter& out, const Spec& spec) {
  if (spec.specialization.empty()) return;
  std::vector<std::string> names, rows;
  for (const Axis& axis : spec.specialization) names.push_back(quoted(axis.name.value));
  for (const auto& row : specialization_rows(spec)) rows.push_back(fmt::format("{}", fmt::join(row, ", ")));
  out.filled("constexpr std::string_view kSpecializationNames[] = {", names, "};");
  constexpr std::string_view kHead = "constexpr uint32_t kSpecializations[] = {";
  if (names.size() == 1) {
    out.filled(kHead, rows, "};");
  } else {
    out.text(kHead);
    for (const std::string& row : rows) out.line("  {},", row);
    out.text("};");
  }
  out.blank();
}

// The row as its struct, for the expressions below.
void print_specialization_of(TextWriter& out, const Spec& spec) {
  std::vector<std::string> values;
  for (size_t i = 0; i < spec.specialization.size(); ++i) values.push_back(fmt::format("scope.specialization[{}]", i));
  out.text("[[maybe_unused]] Specialization specialization_of(const SelectionScope& scope) {");
  {
    const auto indented = out.indent();
    out.code(fmt::format("return {{{}}};", fmt::join(values, ", ")));
  }
  out.text("}");
  out.blank();
}

// The values that depend on the problem, in the order of their ids.
void print_constants(TextWriter& out, const Spec& spec) {
  if (spec.constants.empty()) return;
  Reads reads(spec);
  for (const spec::PipelineConstant& constant : spec.constants) reads.add(*constant.value);
  out.line("void constants(const SelectionScope&{}, uint32_t* values) {{", reads.scope_name());
  {
    const auto indented = out.indent();
    reads.print(out);
    for (size_t i = 0; i < spec.constants.size(); ++i) {
      const expression::Expression& value = *spec.constants[i].value;
      const std::string text = as_cpp(spec, value);
      const bool is_flag = value.type() == expression::Type::boolean;
      out.code(is_flag ? fmt::format("values[{}] = {} ? 1 : 0;", i, text)
                       : fmt::format("values[{}] = table::as_constant({});", i, text));
    }
  }
  out.text("}");
  out.blank();
}

// ---- constants of the cost ------------------------------------------------------------------------------------------

// The specs' own, unless the scope brings others. A name has before it where it is given: "half_product_times.step_us".
void print_fit(TextWriter& out, const Spec& spec) {
  if (spec.fit.empty()) return;
  std::vector<std::string> names, values, members, read;
  for (const auto& constant : spec.fit) {
    names.push_back(quoted(constant.label));
    values.push_back(fmt::format("{}", constant.value));
    members.push_back(
        fmt::format("double {};{}", identifier(constant.name.value),
                    constant.unit.empty() ? "" : fmt::format("  // {}: {}", constant.unit, constant.help)));
    read.push_back(fmt::format("values[{}]", read.size()));
  }
  out.filled("constexpr std::string_view kFitNames[] = {", names, "};");
  out.filled("constexpr double kFitValues[] = {", values, "};");
  out.blank();
  out.text("struct Fit {");
  for (const std::string& member : members) out.line("  {}", member);
  out.text("};");
  out.text("Fit fit_of(const SelectionScope& scope) {");
  {
    const auto indented = out.indent();
    out.text("const double* values = scope.fit ? scope.fit : kFitValues;");
    out.code(fmt::format("return {{{}}};", fmt::join(read, ", ")));
  }
  out.text("}");
  out.blank();
}

// ---- kernels --------------------------------------------------------------------------------------------------------

// A parameter's value where qgen's own enumerators are known by their words alone.
std::string row_value(const Axis& axis, const expression::Value& value) {
  const auto* word = std::get_if<expression::Word>(&value);
  return word && word_set(axis) != WordSet::own ? identifier(word->text) : cpp_value(axis, value);
}

std::string kernel_row(const Spec& spec, const Kernel& kernel, std::string_view interface) {
  std::vector<std::string> values;
  for (size_t p = 0; p < spec.parameters.size(); ++p) {
    values.push_back(row_value(spec.parameters[p], kernel.variant.values[p]));
  }
  return fmt::format("{{{}, {{{}}}, {}}},", quoted(kernel.variant.id), fmt::join(values, ", "), interface);
}

void print_kernels(TextWriter& out, const OperatorModel& model) {
  const auto& kernels = model.family->kernels;
  out.text("constexpr auto kRows = [] {");
  {
    const auto indented = out.indent();
    std::set<std::string> enumerations;
    for (const Axis& axis : model.spec().parameters) {
      const bool is_ours = axis.type == expression::Type::word && word_set(axis) != WordSet::own;
      if (is_ours && enumerations.insert(cpp_type(axis)).second) out.line("using enum {};", cpp_type(axis));
    }
    out.text("return std::to_array<table::Row<Parameters>>({");
    {
      const auto rows = out.indent();
      for (size_t k = 0; k < kernels.size(); ++k) out.code(kernel_row(model.spec(), kernels[k], model.interface[k]));
    }
    out.text("});");
  }
  out.text("}();");
  out.text("static_assert(std::size(kRows) == kVariants, \"header and tables are of two runs of qgen\");");
  out.text("constexpr auto kKernels = table::kernels(kRows, kFirstModule);");
  out.blank();
}

void print_grid_function(TextWriter& out, const Spec& spec) {
  Reads reads(spec);
  for (const auto& side : spec.grid) {
    if (side) reads.add(*side);
  }
  out.line("void grid(const SelectionScope&{}, Integer groups[3]) {{", reads.scope_name());
  {
    const auto indented = out.indent();
    reads.print(out);
    for (size_t i = 0; i < spec.grid.size(); ++i) {
      out.code(fmt::format("groups[{}] = {};", i, spec.grid[i] ? as_cpp(spec, *spec.grid[i]) : "1"));
    }
  }
  out.text("}");
  out.blank();
}

void print_cost(TextWriter& out, const Spec& spec) {
  if (spec.cost) return print_function(out, spec, "Real", "cost", *spec.cost);
  out.text("Real cost(const SelectionScope&) { return 0; }");
  out.blank();
}

// ---- the operator ---------------------------------------------------------------------------------------------------

std::string braced(const Tolerance& tolerance) { return fmt::format("{{{}, {}}}", tolerance.abs, tolerance.rel); }

// Empty: bit-exact.
std::string tolerance_of(const Spec& spec) {
  if (!spec.verify) return "";
  const Tolerance& others = spec.verify->tolerance;
  const Tolerance f16 = spec.verify->tolerance_f16.value_or(others);
  std::vector<std::string> parts;
  if (f16 != Tolerance{}) parts.push_back(fmt::format(".f16 = {}", braced(f16)));
  if (others != Tolerance{}) parts.push_back(fmt::format(".others = {}", braced(others)));
  if (!spec.verify->computed.empty()) parts.emplace_back(".is_computed = true");
  return parts.empty() ? "" : fmt::format("{{{}}}", fmt::join(parts, ", "));
}

void print_operator(TextWriter& out, const OperatorModel& model) {
  const Spec& spec = model.spec();
  const bool has_kernels = !model.family->kernels.empty();
  out.text("constinit const OperatorInfo op = {");
  {
    const auto fields = out.indent();
    const auto more = out.indent();
    const auto field = [&](bool is_there, std::string_view name, std::string_view value) {
      if (is_there) out.line(".{} = {},", name, value);
    };
    field(true, "name", quoted(spec.name.value));
    field(true, "summary", quoted(spec.summary));
    field(spec.is_internal, "is_internal", "true");
    field(!spec.operands.empty(), "operands", "kOperands");
    field(!spec.problem.empty(), "fields", "kFields");
    field(true, "problem_bytes", "sizeof(Problem)");
    field(true, "names", "kNames");
    field(!spec.applies_when.empty(), "conditions", "kConditions");
    field(!spec.require_device.empty(), "device_conditions", "kDeviceConditions");
    field(!spec.rarely_best.empty(), "rarely_best", "kRarelyBest");
    field(!spec.specialization.empty(), "specialization_names", "kSpecializationNames");
    field(!spec.specialization.empty(), "specializations", "kSpecializations");
    field(!spec.constants.empty(), "constants_count", fmt::format("{}", spec.constants.size()));
    field(!spec.constants.empty(), "constants", "constants");
    field(has_kernels, "interfaces", "kInterfaces");
    field(has_kernels, "kernels", "kKernels");
    field(!spec.recipes.empty(), "recipes", "kRecipes");
    field(has_kernels, "form", "form");
    field(true, "value", "value");
    field(true, "first_failing", spec.applies_when.empty() ? "table::all_hold" : "first_failing");
    field(true, "first_failing_device", spec.require_device.empty() ? "table::all_hold" : "first_failing_device");
    field(!spec.rarely_best.empty(), "rarely_best_when", "rarely_best_when");
    field(has_kernels, "grid", "grid");
    field(has_kernels, "cost", "cost");
    const std::string tolerance = tolerance_of(spec);
    field(!tolerance.empty(), "tolerance", tolerance);
    field(!spec.fit.empty(), "fit_names", "kFitNames");
    field(!spec.fit.empty(), "fit_values", "kFitValues");
  }
  out.text("};");
  out.blank();
}

}  // namespace

std::vector<std::vector<uint32_t>> specialization_rows(const Spec& spec) {
  std::vector<std::vector<uint32_t>> rows{{}};
  for (const spec::AxisGroup& group : spec::groups_of(spec.specialization)) {
    std::vector<std::vector<uint32_t>> longer;
    for (const auto& row : rows) {
      for (size_t choice = 0; choice < group.size(); ++choice) {
        longer.push_back(row);
        for (const Axis& axis : group.axes) {
          longer.back().push_back(static_cast<uint32_t>(std::get<Integer>(axis.values[choice].value).value));
        }
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

Result<std::string> operator_tables(const OperatorModel& model, std::span<const Family> families,
                                    const Options& options) {
  const Spec& spec = model.spec();
  TextWriter out;
  out.line("// {} from {}. Do not edit.", kGeneratedMark, model.family->source);
  out.line("#include \"{}.h\"", spec.name.value);
  out.blank();
  out.text("#include \"modules.h\"");
  out.text("#include \"qgen/table_builder.h\"");
  if (std::ranges::any_of(spec.attributes, &spec::Attribute::is_word)) out.text("#include \"words.h\"");
  out.blank();
  out.text(open_namespace(options, identifier(spec.name.value)));
  out.text("namespace {");
  out.blank();
  print_operands(out, spec);
  print_fields(out, spec, families);
  print_names(out, spec);
  print_value_function(out, spec);
  if (!spec.specialization.empty()) print_specialization_of(out, spec);
  print_conditions(out, spec, spec.applies_when, "kConditions", "first_failing");
  print_conditions(out, spec, spec.require_device, "kDeviceConditions", "first_failing_device");
  print_rarely_best(out, spec);
  if (!model.family->kernels.empty()) {
    print_specializations(out, spec);
    print_constants(out, spec);
    print_form_function(out, spec);
    print_grid_function(out, spec);
    print_fit(out, spec);
    print_cost(out, spec);
    print_interfaces(out, model);
    print_kernels(out, model);
  }
  if (Diagnostics errors = print_recipes(out, spec, families); !errors.empty()) return errors;
  out.text("}  // namespace");
  out.blank();
  print_operator(out, model);
  print_signatures(out, spec);
  out.text(close_namespace(options, identifier(spec.name.value)));
  return std::move(out).take();
}

}  // namespace qgen::emit
