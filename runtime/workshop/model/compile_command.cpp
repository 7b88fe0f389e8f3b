// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <cstdio>

#include "common/files.h"
#include "runtime/workshop/model/session.h"
#include "runtime/workshop/runner/arguments.h"

namespace qgen::model {

Expected<int> compile(const Program& program, const Arguments& arguments) {
  auto question = read_question(arguments);
  if (!question) return question.error();
  const auto session = Session::open(program, arguments, std::move(question->loaded), question->inputs.tensors);
  if (!session) return session.error();
  if (const auto prepared = (*session)->prepare(question->inputs.tensors); !prepared) return prepared.error();
  const auto compiled = (*session)->model().compiled();
  if (!compiled) return compiled.error();
  const std::vector<std::byte> bytes = write_compiled(*compiled);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (Done written = write_file(arguments.compiled, text); !written) return written.error();
  fmt::print("{}: {:.1f} MiB, {} kernels for {}\n", arguments.compiled, static_cast<double>(bytes.size()) / (1 << 20),
             compiled->decision.kernels.size(), (*session)->context().profile.name);
  return runner::kDone;
}

}  // namespace qgen::model
