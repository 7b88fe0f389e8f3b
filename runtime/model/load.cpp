// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/model/load.h"

#include <fmt/format.h>

#include "common/files.h"
#include "common/stopwatch.h"
#include "runtime/onnx/import.h"

namespace qgen::model {
namespace {

Expected<Loaded> load_compiled(const std::filesystem::path& file) {
  Stopwatch watch;
  const auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  auto compiled = graph::read_compiled(std::as_bytes(std::span(*bytes)));
  if (!compiled) return refused(fmt::format("{}: {}", file.string(), compiled.error().message), compiled.error().hint);
  Loaded loaded{.graph = compiled->graph, .compiled = *std::move(compiled)};
  loaded.parse_ms = watch.lap_ms();
  return loaded;
}

Expected<Loaded> load_onnx(const std::filesystem::path& file, bool fuses) {
  Stopwatch watch;
  auto model = onnx::load_model(file);
  if (!model) return model.error();
  const double parse_ms = watch.lap_ms();
  auto imported = onnx::import_model(*std::move(model), {.fuses = fuses});
  if (!imported) return refused(fmt::format("{}: {}", file.string(), imported.error().message), imported.error().hint);
  Loaded loaded{.graph = std::move(imported->graph), .parse_ms = parse_ms, .fuse_ms = watch.lap_ms()};
  loaded.notes = onnx::texts_of(imported->notes);
  return loaded;
}

}  // namespace

Expected<Loaded> load(const std::filesystem::path& file, bool fuses) {
  return file.extension() == ".qgen" ? load_compiled(file) : load_onnx(file, fuses);
}

graph::Model model_of(Context& context, OperatorEntries operators, Loaded loaded, const graph::ModelOptions& options) {
  if (loaded.compiled) return graph::Model::create(context, operators, *std::move(loaded.compiled), options);
  return graph::Model::create(context, operators, std::move(loaded.graph), options);
}

}  // namespace qgen::model
