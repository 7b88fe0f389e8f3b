// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "common/files.h"
#include "runtime/models/onnx/check_model.h"
#include "runtime/models/onnx/importer.h"
#include "runtime/models/onnx/inline_branches.h"
#include "runtime/models/onnx/join_attention.h"
#include "runtime/models/onnx/join_functions.h"
#include "runtime/models/onnx/spell_out.h"
#include "runtime/models/onnx/upgrade.h"

namespace qgen::onnx {
namespace {

std::optional<DType> dtype_standing_for(ElementType type) {
  switch (type) {
    case ElementType::i64: return DType::i32;
    case ElementType::u64: return DType::u32;
    case ElementType::boolean: return DType::u8;
    case ElementType::f64: return DType::f32;
    default: return dtype_of(type);
  }
}

template <typename To, typename From>
std::vector<std::byte> converted(const HostTensor& tensor) {
  std::vector<std::byte> data;
  for (const From value : tensor.as<From>()) {
    const auto wide = static_cast<To>(value);
    const auto raw = std::as_bytes(std::span(&wide, 1));
    data.insert(data.end(), raw.begin(), raw.end());
  }
  return data;
}

Tensor as_type(ElementType type, const std::string& name, const HostTensor& tensor) {
  Tensor result{name, type, tensor.shape, {}};
  if (type == ElementType::i64) result.data = converted<int64_t, int32_t>(tensor);
  else if (type == ElementType::u64) result.data = converted<uint64_t, uint32_t>(tensor);
  else if (type == ElementType::f64) result.data = converted<double, float>(tensor);
  else result.data.assign(tensor.data.begin(), tensor.data.end());
  return result;
}

// Sides of one name are of one number.
Done bind_sides(ModelGraph& graph, const graph::InputShapes& shapes) {
  std::map<std::string, std::pair<int64_t, std::string>> numbers;  // by name, with the input that said it
  for (const ValueInfo& input : graph.inputs) {
    const auto given = shapes.find(input.name);
    if (given == shapes.end() || !input.shape) continue;
    const auto refuse = [&](const std::string& fault) {
      return refused(fmt::format("input '{}' is given as {}, and {}", input.name, to_text(given->second), fault));
    };
    if (given->second.size() != input.shape->size())
      return refuse(fmt::format("the model has it of rank {}", input.shape->size()));
    for (size_t d = 0; d < input.shape->size(); ++d) {
      const InputSide& side = (*input.shape)[d];
      const int64_t number = given->second[d];
      if (side.symbol.empty() && side.side != number)
        return refuse(fmt::format("the model has a side of {} along axis {}", side.side, d));
      if (side.symbol.empty()) continue;
      const auto [known, is_new] = numbers.try_emplace(side.symbol, number, input.name);
      if (!is_new && known->second.first != number)
        return refuse(
            fmt::format("its side '{}' is {} of input '{}'", side.symbol, known->second.first, known->second.second));
    }
  }
  for (ValueInfo& input : graph.inputs) {
    if (!input.shape) continue;
    for (InputSide& side : *input.shape) {
      const auto known = numbers.find(side.symbol);
      if (!side.symbol.empty() && known != numbers.end()) side = {known->second.first, {}};
    }
  }
  return std::monostate{};
}

// Inputs that are known become initializers.
Done bind_constants(ModelGraph& graph, const Tensors& constants) {
  for (const auto& constant : constants) {
    const std::string& name = constant.first;
    const HostTensor& tensor = constant.second;
    const auto input = std::ranges::find(graph.inputs, name, &ValueInfo::name);
    const auto refuse = [&](const std::string& fault) { return refused(fmt::format("constant '{}' {}", name, fault)); };
    if (input == graph.inputs.end()) return refuse("is no input of the model");
    if (Done whole = check_host_tensor(tensor, fmt::format("constant '{}'", name)); !whole) return whole;
    if (dtype_standing_for(input->type) != tensor.dtype)
      return refuse(fmt::format("is {}, and the model's input {}", qgen::name(tensor.dtype), onnx::name(input->type)));
    graph.initializers.insert_or_assign(name, std::make_shared<const Tensor>(as_type(input->type, name, tensor)));
    graph.inputs.erase(input);
  }
  return std::monostate{};
}

}  // namespace

std::vector<StateNames> states_of(const ModelGraph& graph) {
  std::vector<StateNames> states;
  for (const ValueInfo& input : graph.inputs) {
    for (const std::string_view past : {"past_key_values", "past"}) {
      if (!input.name.starts_with(past)) continue;
      const std::string present = "present" + input.name.substr(past.size());
      if (std::ranges::count(graph.outputs, present, &ValueInfo::name) == 0) continue;
      states.push_back({input.name, present});
      break;
    }
  }
  return states;
}

std::vector<std::string> texts_of(std::span<const Note> notes) {
  std::vector<std::string> texts;
  std::set<std::string_view> told;
  for (const Note& note : notes) {
    if (!told.insert(note.reason).second) continue;
    const auto others = std::ranges::count(notes, note.reason, &Note::reason) - 1;
    const std::string more = others == 0 ? "" : fmt::format(" and {} more", others);
    texts.push_back(fmt::format("node '{}'{}: {}", note.node, more, note.reason));
  }
  return texts;
}

namespace {

// Exporters call the choice of a branch so. Models without such a choice have no input of this name.
constexpr std::string_view kChoice = "use_cache_branch";

const ValueInfo* choice_of(const ModelGraph& graph) {
  const auto input = std::ranges::find(graph.inputs, kChoice, &ValueInfo::name);
  return input != graph.inputs.end() && input->type == ElementType::boolean && input->shape ? &*input : nullptr;
}

// `options` get the states that remain. `chooses`: the states are results of an If, of which one branch was taken.
Done prepare(Model& model, ImportOptions& options, bool& chooses, std::vector<Note>& notes) {
  const bool has_states = !options.states.empty() || (options.finds_states && !states_of(model.graph).empty());
  if (const ValueInfo* choice = has_states ? choice_of(model.graph) : nullptr) {
    HostTensor yes = zeros(DType::u8, Shape(choice->shape->size(), 1));
    set_element(yes, 0, 1);
    options.constants.emplace(kChoice, std::move(yes));
  }
  if (Done bound = bind_constants(model.graph, options.constants); !bound) return bound;
  if (Done bound = bind_sides(model.graph, options.shapes); !bound) return bound;
  if (options.states.empty() && options.finds_states) options.states = states_of(model.graph);
  options.finds_states = false;
  if (options.fuses) {
    const OtherResults others = inline_branches(model.graph);
    chooses = std::ranges::any_of(options.states, [&](const auto& state) { return others.contains(state.output); });
    take_constant_states(model.graph, others, options.states);
  }
  if (Done upgraded = upgrade(model); !upgraded) return upgraded;
  if (Done sound = check_model(model); !sound) return sound;
  spell_out(model);
  join_layers(model.graph);
  if (!options.fuses) return std::monostate{};
  join_functions(model.graph);
  return join_attention(model, options.states, options.positions_follow_caches, notes);
}

}  // namespace

Expected<Imported> import_model(Model model, const ImportOptions& options) {
  ImportOptions how = options;
  std::vector<Note> notes;
  bool chooses = false;
  const bool is_open = choice_of(model.graph) && !options.constants.contains(kChoice);
  if (Done prepared = prepare(model, how, chooses, notes); !prepared) return prepared.error();
  auto imported = Importer(model, how).run();
  if (!imported) {
    Error error = imported.error();
    // Nodes of unknown sides are often such attention.
    for (const std::string& text : texts_of(notes)) error.message += "\n  " + text;
    if (is_open) error.hint = "the input 'use_cache_branch' may be a constant: --constant use_cache_branch=1";
    return error;
  }
  if (imported) imported->graph.is_for_further_tokens = chooses;
  if (imported) imported->notes.insert(imported->notes.begin(), notes.begin(), notes.end());
  return imported;
}

Expected<Support> check_support(Model model, const ImportOptions& options) {
  ImportOptions how = options;
  std::vector<Note> notes;
  bool chooses = false;
  if (Done prepared = prepare(model, how, chooses, notes); !prepared) return prepared.error();
  Importer importer(model, how);
  const auto imported = importer.run();
  Support support{importer.node_count(), importer.lacks()};
  if (!imported && support.lacks.empty()) return imported.error();
  return support;
}

Expected<Imported> import_model(std::span<const std::byte> file, const ImportOptions& options) {
  auto model = read_model(file, {{}, options.limits});
  if (!model) return model.error();
  return import_model(*std::move(model), options);
}

Expected<Imported> import_model(const std::filesystem::path& file, const ImportOptions& options) {
  auto model = load_model(file, options.limits);
  if (!model) return model.error();
  auto imported = import_model(*std::move(model), options);
  if (!imported) return in_file(file.string(), imported.error());
  return imported;
}

}  // namespace qgen::onnx
