// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "common/files.h"
#include "common/progress.h"
#include "runtime/model/commands.h"
#include "runtime/model/inputs.h"
#include "runtime/model/load.h"
#include "runtime/runner/arguments.h"
#include "runtime/runner/opened.h"

namespace qgen::model {

Expected<int> compile(const Program& program, const Arguments& arguments) {
  auto loaded = load(arguments.model);
  if (!loaded) return loaded.error();
  for (const std::string& note : loaded->notes) fmt::print(stderr, "qgen-model: note: {}\n", note);
  const auto inputs = inputs_of(loaded->graph, arguments, {});
  if (!inputs) return inputs.error();
  const auto opened = runner::Opened::open(program.library, arguments.device,
                                           {.is_untuned = arguments.is_untuned, .keeps_pipelines = true});
  if (!opened) return opened.error();
  Progress progress(::isatty(STDERR_FILENO) != 0);
  graph::Model model =
      model_of((*opened)->context(), program.operators, *std::move(loaded),
               {.on_pipeline = [&](size_t done, size_t total) { progress.show("pipelines", done, total); }});
  if (const auto prepared = model.prepare(graph::shapes_of(inputs->tensors)); !prepared) return prepared.error();
  progress.clear();
  const auto compiled = model.compiled();
  if (!compiled) return compiled.error();
  const std::vector<std::byte> bytes = write_compiled(*compiled);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (Done written = write_file(arguments.compiled, text); !written) return written.error();
  fmt::print("{}: {:.1f} MiB, {} kernels for {}\n", arguments.compiled, static_cast<double>(bytes.size()) / (1 << 20),
             compiled->decision.kernels.size(), (*opened)->context().profile.name);
  return runner::kDone;
}

}  // namespace qgen::model
