// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "common/files.h"
#include "common/manual/file_places.h"
#include "common/nearest.h"
#include "common/text.h"
#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/tensor/npy.h"
#include "runtime/workshop/measure/request_formats.h"
#include "runtime/workshop/runner/random_input.h"
#include "vocabulary/layouts.h"

namespace qgen::runner {
namespace {

// An argument that is given twice is an error.
template <typename Map, typename Value>
Done add(Map& map, const std::string& name, Value value) {
  if (map.try_emplace(name, std::move(value)).second) return std::monostate{};
  return refused(fmt::format("{} is given twice", name));
}

// "input=x.npy", of an option that takes files.
Expected<Named> split_named_file(std::string_view option, std::string_view text) {
  auto named = split_named(option, text);
  if (!named || !named->value.empty()) return named;
  return refused(fmt::format("{} {} names no file", option, printable(named->name)),
                 fmt::format("{}=file.npy", printable(named->name)));
}

Done add_input(std::string_view text, Request& request) {
  const auto named = split_named_file("--input", text);
  if (!named) return named.error();
  auto tensor = load_npy(named->value);
  if (!tensor) return tensor.error();
  return add(request.inputs, named->name, *std::move(tensor));
}

// Random inputs, by name.
using RandomInputs = std::map<std::string, RandomInput, std::less<>>;

Done add_random_input(std::string_view text, Request& request, RandomInputs& random_inputs) {
  const auto named = split_named("--shape", text);
  if (!named) return named.error();
  auto what = parse_random_input(named->value);
  if (!what)
    return Error{what.error().kind, fmt::format("--shape {}: {}", named->name, what.error().message),
                 what.error().hint};
  if (Done added = add(request.inputs, named->name, what->description()); !added) return added;
  random_inputs.emplace(named->name, *std::move(what));
  return std::monostate{};
}

Done make(const RandomInputs& random_inputs, Request& request) {
  for (const auto& [name, what] : random_inputs) {
    auto tensor = random_input(what);
    if (!tensor) return tensor.error();
    request.inputs[name] = *std::move(tensor);
  }
  return std::monostate{};
}

// Whether a device may hold it in one of the layouts that it can have.
Done check_held(const DeviceProfile& device, const TensorDesc& tensor) {
  if (tensor.storage != Storage::buffer) return std::monostate{};  // its extents are the driver's to judge
  Done held = check_buffer(device, tensor.dtype, tensor.shape, tensor.layout);
  for (const LayoutInfo& row : kLayouts) {
    if (held) break;
    const bool is_possible = (tensor.other_layouts & bit(row.layout)) != 0;
    if (is_possible && check_buffer(device, tensor.dtype, tensor.shape, row.layout)) held = std::monostate{};
  }
  return held;
}

Done check_fits(const OperatorEntry& entry, const Request& request, const DeviceProfile& device) {
  const auto call = infer_call(entry, request);
  if (!call) return call.error();
  for (const auto& tensor : call->operands) {
    if (!tensor) continue;
    if (Done held = check_held(device, *tensor); !held) return held;
  }
  return std::monostate{};
}

Done add_attribute(const OperatorEntry& entry, std::string_view text, Request& request) {
  const auto named = split_named("--set", text);
  if (!named) return named.error();
  const auto info = std::ranges::find(entry.attributes, named->name, &AttributeInfo::name);
  // complete() reports a name that the operator does not know, with the known ones.
  const auto value =
      info == entry.attributes.end() ? AttributeValue(named->value) : parse_attribute(*info, named->value);
  if (!value) return value.error();
  return add(request.attributes, named->name, *value);
}

Done check_has_representation(const OperatorEntry& entry, std::string_view name) {
  const TensorInfo* info = find_tensor(entry, name);
  if (!info || info->role != TensorInfo::Role::weight) return std::monostate{};
  return refused(
      fmt::format("{} is packed as the chosen kernel reads it, and has no storage or layout to choose", name));
}

Done add_storage(const OperatorEntry& entry, std::string_view text, Request& request) {
  const auto named = split_named("--storage", text);
  if (!named) return named.error();
  if (Done free = check_has_representation(entry, named->name); !free) return free;
  const auto storage = find_storage(named->value);
  if (!storage)
    return refused(fmt::format("--storage {}: '{}' is no storage", named->name, named->value),
                   hint_among(named->value, names_of(kStorages)));
  const Layout first = *storage == Storage::texture3d ? Layout::width_packed : Layout::strided;
  return add(request.representations, named->name, Representation{*storage, first});
}

// After add_storage(), with which it must agree. `laid_out`: the operands that have a layout.
Done add_layout(const OperatorEntry& entry, std::string_view text, std::set<std::string>& laid_out, Request& request) {
  const auto named = split_named("--layout", text);
  if (!named) return named.error();
  if (Done free = check_has_representation(entry, named->name); !free) return free;
  const auto layout = find_layout(named->value);
  if (!layout) {
    return refused(fmt::format("--layout {}: '{}' is no layout", named->name, named->value),
                   hint_among(named->value, names_of(kLayouts)));
  }
  if (!laid_out.insert(named->name).second) return refused(fmt::format("{} is given two layouts", named->name));
  const Representation place{info(*layout).storage, *layout};
  const auto [placed, is_new] = request.representations.try_emplace(named->name, place);
  if (!is_new && placed->second.storage != place.storage) {
    return refused(fmt::format("{} is in a {}, and {} is a layout of a {}", named->name, name(placed->second.storage),
                               name(*layout), name(place.storage)));
  }
  placed->second = place;
  return std::monostate{};
}

std::string rows_text(std::string_view title, const std::vector<std::pair<std::string, std::string>>& rows) {
  if (rows.empty()) return "";
  size_t widest = 0;
  for (const auto& row : rows) widest = std::max(widest, row.first.size());
  std::string text = fmt::format("{}:\n", title);
  for (const auto& [left, right] : rows)
    text += fmt::format("  {:<{}}  {}\n", left, widest, wrapped(right, 2 + widest + 2));
  return text;
}

std::string places_text(const OperatorInfo* op, const TensorInfo& info) {
  if (!op || !info.has_representation) return "";
  const auto operand = std::ranges::find(op->operands, info.name, &OperandInfo::name);
  std::vector<std::string_view> layouts;
  for (const Representation& each :
       measure::representations_of(*op, static_cast<size_t>(operand - op->operands.begin()))) {
    if (each != Representation{}) layouts.push_back(name(each.layout));
  }
  return layouts.empty() ? "" : fmt::format("; strided, {}", fmt::join(layouts, ", "));
}

std::string tensors_text(std::string_view title, const std::vector<TensorInfo>& tensors, const OperatorInfo* op) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const TensorInfo& info : tensors) {
    rows.emplace_back(std::string(info.name), fmt::format("{}{}{}", summary_of(info),
                                                          info.is_optional ? "; optional" : "", places_text(op, info)));
  }
  return rows_text(title, rows);
}

// "a number, 2^-125 to 2^119: of the input's integers; needed"
std::string attribute_text(const AttributeInfo& info) {
  std::string text = info.words.empty() ? std::string(name(info.kind)) : fmt::format("{}", fmt::join(info.words, ", "));
  if (!info.range.empty()) text += fmt::format(", {}", info.range);
  if (!info.unit.empty()) text += fmt::format(", {}", info.unit);
  if (!info.help.empty()) text += fmt::format(": {}", info.help);
  return text + (info.is_required() ? "; needed" : fmt::format("; default {}", info.otherwise));
}

std::string attributes_text(std::span<const AttributeInfo> attributes) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const AttributeInfo& info : attributes) {
    rows.emplace_back(std::string(info.name), attribute_text(info));
  }
  return rows_text("attributes (--set name=value)", rows);
}

std::string aliases_text(const OperatorEntry& entry) {
  std::string text;
  for (const AliasInfo& alias : entry.aliases) text += fmt::format("also called {}, {}\n", alias.name, alias.part);
  return text;
}

}  // namespace

Expected<Named> split_named(std::string_view flag, std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return refused(fmt::format("{} takes name=value, given '{}'", flag, text));
  }
  return Named{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

namespace {

// Without the data of random inputs.
Expected<Request> parse(const OperatorEntry& entry, const RequestText& text, RandomInputs& random_inputs) {
  Request request;
  for (const std::string& storage : text.storages) {
    if (Done added = add_storage(entry, storage, request); !added) return added.error();
  }
  std::set<std::string> laid_out;
  for (const std::string& layout : text.layouts) {
    if (Done added = add_layout(entry, layout, laid_out, request); !added) return added.error();
  }
  for (const std::string& attribute : text.attributes) {
    if (Done added = add_attribute(entry, attribute, request); !added) return added.error();
  }
  for (const std::string& shape : text.shapes) {
    if (Done added = add_random_input(shape, request, random_inputs); !added) return added.error();
  }
  for (const std::string& input : text.inputs) {
    if (Done added = add_input(input, request); !added) return added.error();
  }
  return request;
}

}  // namespace

Expected<Request> parse_request(const OperatorEntry& entry, const RequestText& text) {
  RandomInputs random_inputs;
  auto request = parse(entry, text, random_inputs);
  if (!request) return request;
  if (Done made = make(random_inputs, *request); !made) return made.error();
  return request;
}

Expected<Request> read_request(const OperatorEntry& entry, const RequestText& text, const DeviceProfile& device) {
  RandomInputs random_inputs;
  auto parsed = parse(entry, text, random_inputs);
  if (!parsed) return parsed;
  auto request = complete(entry, *std::move(parsed), Data::described);
  if (!request || random_inputs.empty()) return request;
  if (Done fits = check_fits(entry, *request, device); !fits) return fits.error();
  if (Done made = make(random_inputs, *request); !made) return made.error();
  return request;
}

Expected<OutputFiles> parse_outputs(const OperatorEntry& entry, const std::vector<std::string>& typed,
                                    const std::vector<std::string>& inputs) {
  OutputFiles files;
  const auto outputs = outputs_of(entry);
  FilePlaces places;
  for (const std::string& text : inputs) {
    if (const auto named = split_named_file("--input", text)) places.read(named->value, "the file of an input");
  }
  for (const std::string& text : typed) {
    const auto named = split_named_file("--output", text);
    if (!named) return named.error();
    if (std::ranges::find(outputs, named->name, &TensorInfo::name) == outputs.end()) {
      std::vector<std::string_view> names;
      for (const TensorInfo& info : outputs) names.push_back(info.name);
      return refused(fmt::format("'{}' has no output '{}'", entry.name, named->name), hint_among(named->name, names));
    }
    if (const std::string fault = places.fault_of("another output", named->value); !fault.empty())
      return refused("--output: " + fault);
    if (Done may = check_can_write(named->value); !may) return may.error();
    if (Done added = add(files, named->name, named->value); !added) return added.error();
  }
  return files;
}

std::string help_of(const OperatorEntry& entry, const OperatorInfo* op) {
  return fmt::format("{}: {}\n{}{}{}{}", entry.name, entry.summary, aliases_text(entry),
                     tensors_text("inputs (--input name=file.npy)", inputs_of(entry), op),
                     tensors_text("outputs (--output name=file.npy)", outputs_of(entry), op),
                     attributes_text(entry.attributes));
}

std::string list_text(OperatorEntries operators) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const OperatorEntry& entry : operators) rows.emplace_back(std::string(entry.name), std::string(entry.summary));
  std::vector<std::pair<std::string, std::string>> aliases;
  for (const OperatorAlias& alias : aliases_of(operators)) {
    aliases.emplace_back(std::string(alias.name), fmt::format("{}, {}", alias.op, alias.part));
  }
  return rows_text("operators", rows) + rows_text("other names", aliases);
}

}  // namespace qgen::runner
