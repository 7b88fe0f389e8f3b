// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/program.h"

#include "common/log.h"
#include "common/program.h"
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

}  // namespace

int run_program(int argc, char** argv, const Program& program) {
  return qgen::run_program(program.library.name, [&] {
    const auto parsed = parse_arguments(argc, argv, program);
    if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
    const auto done = obey(program, std::get<Arguments>(parsed));
    if (done) return *done;
    print_log("{}: {}\n", program.library.name, to_text(done.error()));
    const bool is_machine = done.error().kind == Error::Kind::device || done.error().kind == Error::Kind::system;
    return is_machine ? kWrongMachine : kWrongInput;
  });
}

}  // namespace qgen::tuner
