// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/program.h"

#include "common/log.h"
#include "common/program.h"
#include "runtime/engine/operators/pointwise/chain_file.h"
#include "runtime/workshop/tuner/arguments.h"
#include "runtime/workshop/tuner/commands.h"

namespace qgen::tuner {
namespace {

Expected<int> obey(const Program& program, const Arguments& arguments) {
  switch (arguments.command) {
    case Command::tune: return tune(program, arguments);
    case Command::show: return show(program, arguments);
    case Command::export_: return export_file(program, arguments);
    case Command::import: return import_files(program, arguments);
    case Command::merge: return merge_files(program, arguments);
    case Command::forget: return forget(program, arguments);
    case Command::fit: return fit(program, arguments);
    case Command::report: return report_page(program, arguments);
  }
  return kDone;
}

// On the program's library, with the kernels of a file of chains if one is named.
Expected<int> obey_with_chains(const Program& program, const Arguments& arguments) {
  const runner::Program& own = program.library;
  const auto chains = chains::load_chains(arguments.chains, own.kernels);
  if (!chains) return chains.error();
  if (!*chains) return obey(program, arguments);
  return obey({{own.name, (*chains)->library(), own.operators, own.answers, own.examples},
               program.problems,
               program.on_candidate},
              arguments);
}

}  // namespace

int run_program(int argc, char** argv, const Program& program) {
  return qgen::run_program(program.library.name, [&] {
    const auto parsed = parse_arguments(argc, argv, program);
    if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
    const auto done = obey_with_chains(program, std::get<Arguments>(parsed));
    if (done) return *done;
    print_log("{}: {}\n", program.library.name, to_text(done.error()));
    const bool is_machine = done.error().kind == Error::Kind::device || done.error().kind == Error::Kind::system;
    return is_machine ? kWrongMachine : kWrongInput;
  });
}

}  // namespace qgen::tuner
