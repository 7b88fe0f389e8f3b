// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "common/files.h"
#include "runtime/models/graph/fixed_part.h"
#include "runtime/workshop/model/embed.h"
#include "runtime/workshop/model/plan.h"
#include "runtime/workshop/runner/arguments.h"

namespace qgen::model {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

double mebibytes(size_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// ---- for the device that is here ------------------------------------------------------------------------------------

Expected<int> compile_here(const Program& program, const Arguments& arguments, Question question) {
  const auto session = Session::open(program, arguments, std::move(question.loaded), question.inputs.tensors);
  if (!session) return session.error();
  if (const auto prepared = (*session)->prepare(question.inputs.tensors); !prepared) return prepared.error();
  const auto compiled = (*session)->model().compiled();
  if (!compiled) return compiled.error();
  const std::vector<std::byte> bytes = write_compiled(*compiled);
  if (Done written = write_file(arguments.compiled, text_of(bytes)); !written) return written.error();
  fmt::print("{}: {:.1f} MiB, {} kernels for {}\n", arguments.compiled, mebibytes(bytes.size()),
             compiled->decision.kernels.size(), (*session)->context().profile.name);
  return runner::kDone;
}

// ---- for named devices ----------------------------------------------------------------------------------------------

Expected<graph::FixedPart> part_for(const DeviceProfile& device, const Program& program, const Arguments& arguments,
                                    const Question& question, const TimeBook& times) {
  const auto schedule = schedule_for(device, program, arguments, question, times);
  if (!schedule) return schedule.error();
  return graph::fix(question.loaded.graph, *schedule, program.library, device);
}

Done write_cpp(const graph::FixedPart& part, const std::filesystem::path& file, Outputs& outputs) {
  const std::string stem = file.stem().string();
  const EmbeddedText text = embed(part, stem);
  const auto add = [&](const char* extension, const std::string& content) {
    return outputs.add((file.parent_path() / (stem + extension)).string(), content, Outputs::Folder::is_made);
  };
  if (Done done = add(".h", text.header); !done) return done;
  if (Done done = add(".cpp", text.source); !done) return done;
  return add(".S", text.assembler);
}

Expected<int> compile_fixed(const Program& program, const Arguments& arguments, const Question& question) {
  if (question.loaded.compiled)
    return refused(fmt::format("{} is compiled already", arguments.model), "give the ONNX file");
  const auto devices = devices_of(program, arguments);
  if (!devices) return devices.error();
  const TimeBook times(program.library);  // those that are compiled in
  std::vector<graph::FixedPart> parts;
  for (const DeviceProfile& device : *devices) {
    auto part = part_for(device, program, arguments, question, times);
    if (!part) return refused(fmt::format("for {}: {}", device.name, part.error().message), part.error().hint);
    parts.push_back(*std::move(part));
  }
  const std::vector<std::byte> bytes = graph::write_fixed(parts);
  Outputs outputs;
  const Done added = outputs.add(arguments.compiled, text_of(bytes), Outputs::Folder::is_made);
  if (!added) return added.error();
  if (arguments.is_cpp) {
    if (Done done = write_cpp(parts.front(), arguments.compiled, outputs); !done) return done.error();
  }
  if (Done done = outputs.commit(); !done) return done.error();
  fmt::print("{}: {:.1f} MiB\n", arguments.compiled, mebibytes(bytes.size()));
  for (const graph::FixedPart& part : parts) {
    fmt::print("  {}: {} launches, {:.1f} MiB of tensors\n", part.device, part.steps.size(),
               mebibytes(part.arena_bytes));
  }
  return runner::kDone;
}

}  // namespace

Expected<int> compile(const Program& program, const Arguments& arguments) {
  auto question = read_question(arguments);
  if (!question) return question.error();
  if (arguments.devices_for.empty() && !arguments.is_cpp) return compile_here(program, arguments, *std::move(question));
  return compile_fixed(program, arguments, *question);
}

}  // namespace qgen::model
