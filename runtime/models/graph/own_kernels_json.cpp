// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Tables of numbers are lists, in the order of their structs (kernel_info.h): a binding is [binding, operand, kind,
// access].
#include <nlohmann/json.hpp>

#include "runtime/models/graph/head_json.h"
#include "vocabulary/features.h"

namespace qgen::graph {
namespace {

constexpr auto kLastKind = static_cast<uint64_t>(BindingKind::uniform_buffer);
constexpr auto kLastAccess = static_cast<uint64_t>(Access::read_write);

// ---- writing --------------------------------------------------------------------------------------------------------

Json json_of(std::span<const BlockField> fields) {
  Json list = Json::array();
  for (const BlockField& field : fields) list.push_back({field.offset, field.problem_offset, field.size_bytes});
  return list;
}

std::vector<std::string_view> layout_names(uint32_t layouts) {
  std::vector<std::string_view> names;
  for (const LayoutInfo& row : kLayouts) {
    if ((layouts & bit(row.layout)) != 0) names.push_back(row.name);
  }
  return names;
}

Json json_of(const OwnKernels::Operand& operand) {
  return {{"name", operand.name},
          {"access", static_cast<int>(operand.access)},
          {"is_optional", operand.is_optional},
          {"in_place", operand.in_place},
          {"dtype", name(operand.form.dtype)},
          {"storage", name(operand.form.storage)},
          {"layouts", layout_names(operand.form.layouts)}};
}

Json json_of(const OwnKernels::Kernel& kernel) {
  Json operands = Json::array(), bindings = Json::array(), slots = Json::array();
  for (const OwnKernels::Operand& operand : kernel.operands) operands.push_back(json_of(operand));
  for (const BindingInfo& b : kernel.bindings)
    bindings.push_back({b.binding, b.operand, static_cast<int>(b.kind), static_cast<int>(b.access)});
  for (const SpecializationSlot& slot : kernel.slots) slots.push_back({slot.constant_id, slot.index});
  return {{"id", kernel.id},
          {"module", kernel.module},
          {"operands", operands},
          {"bindings", bindings},
          {"push_constants", json_of(kernel.push_constants)},
          {"push_constants_bytes", kernel.push_constants_bytes},
          {"problem_buffer", json_of(kernel.problem_buffer)},
          {"problem_buffer_bytes", kernel.problem_buffer_bytes},
          {"slots", slots},
          {"specialization", kernel.specialization},
          {"needs", names(kernel.needs)},
          {"workgroup", kernel.workgroup},
          {"required_subgroup_size", kernel.required_subgroup_size}};
}

Json json_of(const OwnKernels::OwnLaunch& launch, const PutBytes& put) {
  Json operands = Json::array();
  for (const OperandSource& source : launch.operands)
    operands.push_back({static_cast<int>(source.is_scratch), source.index, source.seen_as});
  Json json{{"kernel", launch.kernel},
            {"groups", launch.groups},
            {"problem", put(launch.problem)},
            {"problem_bytes", launch.problem.size()},
            {"operands", operands}};
  if (launch.indirect != kAbsent) json["indirect"] = launch.indirect;
  return json;
}

Json json_of(const OwnKernels::OwnChoice& choice, const PutBytes& put) {
  Json scratch = Json::array(), launches = Json::array();
  for (const OwnKernels::Scratch& one : choice.scratch)
    scratch.push_back(Json{{"name", one.name}, {"dtype", name(one.dtype)}, {"elements", one.elements}});
  for (const OwnKernels::OwnLaunch& launch : choice.launches) launches.push_back(json_of(launch, put));
  return {{"id", choice.id}, {"is_recipe", choice.is_recipe}, {"scratch", scratch}, {"launches", launches}};
}

// ---- reading --------------------------------------------------------------------------------------------------------

using Keys = HeadReader::Keys;

// The items of a list that has as many.
json::List row_of(HeadReader& reader, const json::Value& value, size_t count) {
  json::List row = reader.list(value);
  if (row.size() != count) reader.fail("a row of a kernel's table has the wrong length");
  row.resize(count);
  return row;
}

std::vector<BlockField> fields_of(HeadReader& reader, const json::Value& value) {
  std::vector<BlockField> fields;
  for (const json::Value& item : reader.list(value)) {
    const json::List row = row_of(reader, item, 3);
    fields.push_back(
        {reader.number<uint16_t>(row[0]), reader.number<uint16_t>(row[1]), reader.number<uint16_t>(row[2])});
  }
  return fields;
}

uint32_t layouts_of(HeadReader& reader, const json::Value& value) {
  uint32_t layouts = 0;
  for (const json::Value& word : reader.list(value)) layouts |= bit(reader.layout(word));
  return layouts;
}

FeatureMask features_of(HeadReader& reader, const json::Value& value) {
  FeatureMask mask = 0;
  for (const json::Value& word : reader.list(value)) {
    const auto found = std::ranges::find(feature_table(), reader.text(word), &FeatureRow::name);
    if (found == feature_table().end()) reader.fail("it needs a feature that this version does not know");
    else mask |= bit(found->feature);
  }
  return mask;
}

OwnKernels::Operand operand_of(HeadReader& reader, const json::Value& value) {
  const Keys keys(reader, value, {"name", "access", "is_optional", "in_place", "dtype", "storage", "layouts"});
  const auto storage = find_storage(reader.text(keys["storage"]));
  if (!storage) reader.fail("it names a storage that this version does not know");
  return {reader.text(keys["name"]),
          Access{reader.number<uint8_t>(keys["access"], kLastAccess)},
          reader.flag(keys["is_optional"]),
          reader.number<uint32_t>(keys["in_place"]),
          {reader.dtype(keys["dtype"]), storage.value_or(Storage::buffer), layouts_of(reader, keys["layouts"])}};
}

OwnKernels::Kernel kernel_of(HeadReader& reader, const json::Value& value) {
  const Keys keys(reader, value,
                  {"id", "module", "operands", "bindings", "push_constants", "push_constants_bytes", "problem_buffer",
                   "problem_buffer_bytes", "slots", "specialization", "needs", "workgroup", "required_subgroup_size"});
  OwnKernels::Kernel kernel{.id = reader.text(keys["id"]), .module = reader.number<uint32_t>(keys["module"])};
  for (const json::Value& item : reader.list(keys["operands"])) kernel.operands.push_back(operand_of(reader, item));
  for (const json::Value& item : reader.list(keys["bindings"])) {
    const json::List row = row_of(reader, item, 4);
    kernel.bindings.push_back({reader.number<uint8_t>(row[0]), reader.number<uint8_t>(row[1]),
                               BindingKind{reader.number<uint8_t>(row[2], kLastKind)},
                               Access{reader.number<uint8_t>(row[3], kLastAccess)}});
  }
  kernel.push_constants = fields_of(reader, keys["push_constants"]);
  kernel.push_constants_bytes = reader.number<uint16_t>(keys["push_constants_bytes"]);
  kernel.problem_buffer = fields_of(reader, keys["problem_buffer"]);
  kernel.problem_buffer_bytes = reader.number<uint16_t>(keys["problem_buffer_bytes"]);
  for (const json::Value& item : reader.list(keys["slots"])) {
    const json::List row = row_of(reader, item, 2);
    kernel.slots.push_back({reader.number<uint32_t>(row[0]), reader.number<uint8_t>(row[1])});
  }
  kernel.specialization = reader.numbers<uint32_t>(keys["specialization"]);
  kernel.needs = features_of(reader, keys["needs"]);
  const json::List workgroup = row_of(reader, keys["workgroup"], 3);
  for (size_t i = 0; i < 3; ++i) kernel.workgroup[i] = reader.number<uint32_t>(workgroup[i]);
  kernel.required_subgroup_size = reader.number<uint8_t>(keys["required_subgroup_size"]);
  return kernel;
}

OwnKernels::OwnLaunch launch_of(HeadReader& reader, const json::Value& value) {
  const Keys keys(reader, value, {"kernel", "groups", "problem", "problem_bytes", "operands", "indirect"});
  OwnKernels::OwnLaunch launch{.kernel = reader.number<uint32_t>(keys["kernel"])};
  const json::List groups = row_of(reader, keys["groups"], 3);
  for (size_t i = 0; i < 3; ++i) launch.groups[i] = reader.number<uint64_t>(groups[i]);
  launch.problem = reader.bytes(keys["problem"], reader.integer(keys["problem_bytes"]));
  for (const json::Value& item : reader.list(keys["operands"])) {
    const json::List row = row_of(reader, item, 3);
    launch.operands.push_back(
        {reader.number<uint8_t>(row[0], 1) == 1, reader.number<uint8_t>(row[1]), reader.number<uint8_t>(row[2])});
  }
  if (const json::Value* indirect = keys.find("indirect")) launch.indirect = reader.number<uint8_t>(*indirect);
  return launch;
}

OwnKernels::OwnChoice choice_of(HeadReader& reader, const json::Value& value) {
  const Keys keys(reader, value, {"id", "is_recipe", "scratch", "launches"});
  OwnKernels::OwnChoice choice{.id = reader.text(keys["id"]), .is_recipe = reader.flag(keys["is_recipe"])};
  for (const json::Value& item : reader.list(keys["scratch"])) {
    const Keys scratch(reader, item, {"name", "dtype", "elements"});
    choice.scratch.push_back(
        {reader.text(scratch["name"]), reader.dtype(scratch["dtype"]), reader.number<uint64_t>(scratch["elements"])});
  }
  for (const json::Value& item : reader.list(keys["launches"])) choice.launches.push_back(launch_of(reader, item));
  return choice;
}

}  // namespace

Json json_of_own_kernels(const OwnKernels::Parts& parts, const PutBytes& put) {
  const auto blob = std::as_bytes(std::span(parts.blob));
  Json json{{"blob", put(blob)}, {"blob_bytes", blob.size()}};
  Json& kernels = json["kernels"] = Json::array();
  for (const OwnKernels::Kernel& kernel : parts.kernels) kernels.push_back(json_of(kernel));
  Json& choices = json["choices"] = Json::array();
  for (const OwnKernels::OwnChoice& choice : parts.choices) choices.push_back(json_of(choice, put));
  return json;
}

OwnKernels::Parts read_own_kernels(HeadReader& reader, const json::Value& value) {
  const Keys keys(reader, value, {"blob", "blob_bytes", "kernels", "choices"});
  OwnKernels::Parts parts;
  const std::vector<std::byte> blob = reader.bytes(keys["blob"], reader.integer(keys["blob_bytes"]));
  parts.blob.assign(reinterpret_cast<const char*>(blob.data()), blob.size());
  for (const json::Value& item : reader.list(keys["kernels"])) parts.kernels.push_back(kernel_of(reader, item));
  for (const json::Value& item : reader.list(keys["choices"])) parts.choices.push_back(choice_of(reader, item));
  return parts;
}

}  // namespace qgen::graph
