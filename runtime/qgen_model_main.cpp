// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-model: runs a quantized model on a device.
//
//   qgen-model run resnet50.onnx --input x.npy --output y.npy
//   qgen-model check resnet50.onnx --input x.npy
//   qgen-model --help
#include <fmt/format.h>

#include "common/files.h"
#include "common/program.h"
#include "registry.h"
#include "runtime/engine/operators/pointwise/chain_file.h"
#include "runtime/engine/operators/shipped.h"
#include "runtime/workshop/model/commands.h"
#include "runtime/workshop/runner/arguments.h"

namespace {

qgen::Expected<int> obey(const qgen::model::Arguments& arguments) {
  const auto chains = qgen::chains::load_chains(arguments.chains.file, qgen::generated::library());
  if (!chains) return chains.error();
  const auto library = qgen::KernelLibrary::open(*chains ? (*chains)->library() : qgen::generated::library());
  if (!library) return library.error();
  const qgen::model::Program program{*library, qgen::operators()};
  for (const std::string& path :
       {arguments.compiled, arguments.profile, arguments.json, arguments.plot, arguments.trace}) {
    if (path.empty()) continue;
    if (qgen::Done may = qgen::check_can_write(path); !may) return may.error();
  }
  switch (arguments.command) {
    case qgen::model::Command::run: return qgen::model::run(program, arguments);
    case qgen::model::Command::check: return qgen::model::check(program, arguments);
    case qgen::model::Command::compile: return qgen::model::compile(program, arguments);
    case qgen::model::Command::chains: return qgen::model::compile_chains(program, arguments);
    case qgen::model::Command::check_support: return qgen::model::check_support(arguments);
    case qgen::model::Command::generate: return qgen::model::generate(program, arguments);
    case qgen::model::Command::quantize: return qgen::model::quantize(program, arguments);
  }
  return qgen::runner::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return qgen::run_program("qgen-model", [&] {
    const auto parsed = qgen::model::parse_arguments(argc, argv);
    if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
    const auto done = obey(std::get<qgen::model::Arguments>(parsed));
    return done ? *done : qgen::runner::fail({"qgen-model", qgen::generated::library(), {}}, done.error());
  });
}
