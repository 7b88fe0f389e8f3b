// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/onnx/importer.h"
#include "runtime/onnx/join_functions.h"

namespace qgen::onnx {
namespace {

// Inputs that are known become initializers.
Done bind_constants(ModelGraph& graph, const Tensors& constants) {
  for (const auto& constant : constants) {
    const std::string& name = constant.first;
    const HostTensor& tensor = constant.second;
    const auto input = std::ranges::find(graph.inputs, name, &ValueInfo::name);
    const auto refuse = [&](const std::string& fault) { return refused(fmt::format("constant '{}' {}", name, fault)); };
    if (input == graph.inputs.end()) return refuse("is no input of the model");
    if (Done whole = check_host_tensor(tensor, fmt::format("constant '{}'", name)); !whole) return whole;
    if (dtype_of(input->type) != tensor.dtype)
      return refuse(fmt::format("is {}, and the model's input {}", qgen::name(tensor.dtype), onnx::name(input->type)));
    graph.initializers.insert_or_assign(
        name, std::make_shared<const Tensor>(Tensor{name, input->type, tensor.shape, tensor.data}));
    graph.inputs.erase(input);
  }
  return std::monostate{};
}

}  // namespace

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

Expected<Imported> import_model(Model model, const ImportOptions& options) {
  if (Done bound = bind_constants(model.graph, options.constants); !bound) return bound.error();
  if (options.fuses) join_functions(model.graph);
  return Importer(model, options.fuses).run();
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
  if (imported) return imported;
  Error error = imported.error();
  error.message = fmt::format("{}: {}", file.string(), error.message);
  return error;
}

}  // namespace qgen::onnx
