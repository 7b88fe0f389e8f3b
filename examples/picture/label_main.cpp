// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// label MODEL FOLDER [DEVICE]: runs an ONNX model on FOLDER/original.npy, and writes its first output as
// FOLDER/answers.npy. Prints what the model became: its operators, in the order of their launches.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "operators.h"
#include "qgen/model.h"
#include "qgen/npy.h"
#include "qgen/onnx.h"
#include "registry.h"

namespace qgen::picture {
namespace {

Done label(const std::filesystem::path& file, const std::filesystem::path& folder, std::string_view which_device) {
  auto imported = onnx::import_model(file);
  if (!imported) return imported.error();
  const auto image = load_npy(folder / "original.npy");
  if (!image) return image.error();

  const auto library = KernelLibrary::open(generated::library());
  if (!library) return library.error();
  const auto device = Device::open(which_device);
  if (!device) return device.error();
  auto executor = Executor::create(*device, *library, {});
  if (!executor) return executor.error();

  fmt::print("{} on \"{}\":\n", file.string(), device->profile().name);
  for (const graph::Node& node : imported->graph.nodes) fmt::print("  {}\n", node.op);
  const std::string input = imported->graph.values[imported->graph.inputs.front()].name;
  Context context{.profile = device->profile(), .library = *library, .executor = *executor};
  auto model = graph::Model::create(context, generated::operators::entries(), std::move(imported->graph), {});
  const auto outputs = model.run({{input, *image}});
  if (!outputs) return outputs.error();
  return save_npy(folder / "answers.npy", outputs->begin()->second);
}

}  // namespace
}  // namespace qgen::picture

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: label MODEL FOLDER [DEVICE]\n");
    return 2;
  }
  const auto done = qgen::picture::label(argv[1], argv[2], argc > 3 ? argv[3] : "");
  if (done) return 0;
  std::fprintf(stderr, "label: %s\n", to_text(done.error()).c_str());
  return 1;
}
