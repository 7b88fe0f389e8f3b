// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spirv_files.h"

#include <fmt/format.h>

#include <cassert>
#include <nlohmann/json.hpp>

#include "common/json/write.h"
#include "runtime/engine/library/blob_format.h"
#include "vocabulary/features.h"

namespace qgen {
namespace {

using Json = nlohmann::ordered_json;

std::string_view word_of(Access access) {
  switch (access) {
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::read_write: return "read_write";
  }
  return "";
}

std::string_view word_of(BindingKind kind) {
  switch (kind) {
    case BindingKind::storage_buffer: return "storage_buffer";
    case BindingKind::storage_image: return "storage_image";
    case BindingKind::uniform_buffer: return "uniform_buffer";
  }
  return "";
}

std::string_view word_of(spec::FieldKind kind) {
  switch (kind) {
    case spec::FieldKind::u32: return "u32";
    case spec::FieldKind::i32: return "i32";
    case spec::FieldKind::f32: return "f32";
  }
  return "";
}

Json value_of(const expression::Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (std::holds_alternative<Integer>(value)) return Json::parse(expression::to_text(value));
  return expression::to_text(value);
}

// ---- what all kernels of an operator share --------------------------------------------------------------------------

Json operand_of(const spec::Operand& operand) {
  Json json = {{"name", operand.name.value}, {"access", word_of(operand.access)}};
  if (operand.is_optional) json["is_optional"] = true;
  return json;
}

Json problem_of(const spec::Spec& spec) {
  Json fields = Json::array();
  uint32_t offset = 0;
  for (const spec::ProblemField& field : spec.problem) {
    Json json = {{"name", field.name.value}, {"type", word_of(field.kind)}, {"count", field.count}, {"offset", offset}};
    for (const auto& word : field.words) json["words"].push_back(word.value);
    fields.push_back(std::move(json));
    offset += 4 * field.count;
  }
  return fields;
}

// Constants that are chosen, then those that the problem decides.
Json specialization_of(const spec::Spec& spec) {
  Json constants = Json::array();
  for (const spec::Axis& axis : spec.specialization) {
    Json json = {{"name", axis.name.value}, {"constant_id", constants.size()}, {"values", Json::array()}};
    for (const auto& value : axis.values) json["values"].push_back(value_of(value.value));
    constants.push_back(std::move(json));
  }
  for (const spec::PipelineConstant& constant : spec.constants) {
    constants.push_back({{"name", constant.name.value},
                         {"constant_id", constants.size()},
                         {"value", constant.value ? expression::to_text(*constant.value) : ""}});
  }
  return constants;
}

Json texts_of(const std::vector<spec::Condition>& conditions) {
  Json texts = Json::array();
  for (const spec::Condition& condition : conditions) texts.push_back(expression::to_text(condition.expression));
  return texts;
}

Json recipe_of(const spec::Recipe& recipe) {
  Json steps = Json::array(), scratch = Json::array();
  for (const spec::Step& step : recipe.steps) steps.push_back(step.kernel.value);
  for (const spec::Scratch& piece : recipe.scratch) {
    scratch.push_back(
        {{"name", piece.name.value}, {"dtype", name(piece.dtype)}, {"elements", expression::to_text(piece.elements)}});
  }
  return {{"name", recipe.name.value},
          {"applies_when", texts_of(recipe.applies_when)},
          {"scratch", std::move(scratch)},
          {"steps", std::move(steps)}};
}

// ---- one kernel -----------------------------------------------------------------------------------------------------

Json binding_of(const spec::Spec& spec, const reflect::Binding& binding) {
  const bool is_operand = binding.binding < spec.operands.size();
  return {{"binding", binding.binding},
          {"operand", is_operand ? spec.operands[binding.binding].name.value : "(problem)"},
          {"kind", word_of(binding.kind)},
          {"access", word_of(binding.access)}};
}

Json members_of(const std::vector<reflect::Member>& members) {
  Json all = Json::array();
  for (const reflect::Member& member : members)
    all.push_back({{"field", member.name}, {"offset", member.offset}, {"bytes", member.size_bytes}});
  return all;
}

// A dtype or storage of a variant's operand.
std::string chosen_word(const SpecJob& job, size_t v, const spec::Choice& choice) {
  if (!choice.is_parameter) return choice.word;
  for (size_t i = 0; i < job.spec.parameters.size(); ++i) {
    if (job.spec.parameters[i].name.value == choice.word) return expression::to_text(job.variants[v].values[i]);
  }
  assert(false && "check_spec() knows each parameter that a choice names");
  return "";
}

Json kernel_of(const SpecJob& job, size_t v, const std::string& module) {
  const spec::Spec& spec = job.spec;
  const reflect::Interface& interface = job.modules[v]->interface;
  Json parameters = Json::object(), bindings = Json::array(), problem_buffer = Json::array(), needs = Json::array();
  Json dtypes = Json::array();
  for (size_t i = 0; i < spec.parameters.size(); ++i)
    parameters[spec.parameters[i].name.value] = value_of(job.variants[v].values[i]);
  for (const spec::Operand& operand : spec.operands) dtypes.push_back(chosen_word(job, v, operand.dtype));
  for (const reflect::Binding& binding : interface.bindings) {
    bindings.push_back(binding_of(spec, binding));
    if (binding.binding >= spec.operands.size()) problem_buffer = members_of(binding.members);
  }
  for (const std::string_view need : names(interface.needs)) needs.push_back(need);
  Json json = {{"id", job.variants[v].id},
               {"module", module},
               {"parameters", std::move(parameters)},
               {"dtypes", std::move(dtypes)},
               {"bindings", std::move(bindings)},
               {"push_constants", members_of(interface.push_constants)},
               {"needs", std::move(needs)}};
  if (!problem_buffer.empty()) json["problem_buffer"] = std::move(problem_buffer);
  if (job.variants[v].subgroup_size != 0) json["subgroup_size"] = job.variants[v].subgroup_size;
  Json constants = Json::array();
  for (const auto& constant : interface.specialization) constants.push_back(constant.constant_id);
  json["constants"] = std::move(constants);
  return json;
}

// Adds the module's file, unless it is there.
std::string add_module(const SpecJob& job, size_t v, std::map<std::string, emit::File>& modules) {
  const blob_format::Module& words = *job.pack.spirv(job.modules[v]->spirv);
  const auto bytes = std::as_bytes(std::span(words));
  std::string path = fmt::format("{}/{:016x}.spv", job.spec.name.value, blob_format::checksum(bytes));
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  modules.try_emplace(path, emit::File{"spv/" + path, std::move(text)});
  return path;
}

Json operator_of(const SpecJob& job, std::map<std::string, emit::File>& modules) {
  const spec::Spec& spec = job.spec;
  Json operands = Json::array(), grid = Json::array(), recipes = Json::array(), kernels = Json::array();
  for (const spec::Operand& operand : spec.operands) operands.push_back(operand_of(operand));
  for (const auto& side : spec.grid) {
    if (side) grid.push_back(expression::to_text(*side));
  }
  for (const spec::Recipe& recipe : spec.recipes) recipes.push_back(recipe_of(recipe));
  for (size_t v = 0; v < job.variants.size(); ++v) kernels.push_back(kernel_of(job, v, add_module(job, v, modules)));
  Json json = {{"name", spec.name.value},
               {"summary", spec.summary},
               {"operands", std::move(operands)},
               {"problem", problem_of(spec)},
               {"specialization", specialization_of(spec)},
               {"applies_when", texts_of(spec.applies_when)},
               {"require_device", texts_of(spec.require_device)},
               {"grid", std::move(grid)}};
  if (spec.cost) json["cost"] = expression::to_text(*spec.cost);
  if (!recipes.empty()) json["recipes"] = std::move(recipes);
  json["kernels"] = std::move(kernels);
  return json;
}

}  // namespace

std::vector<emit::File> spirv_files(const Product& product) {
  std::map<std::string, emit::File> modules;
  Json operators = Json::array();
  for (const SpecJob& job : product.jobs) operators.push_back(operator_of(job, modules));
  std::vector<emit::File> files;
  for (auto& [path, file] : modules) files.push_back(std::move(file));
  files.push_back({"spv/index.json", json::to_text(Json{{"operators", std::move(operators)}}) + "\n"});
  return files;
}

}  // namespace qgen
