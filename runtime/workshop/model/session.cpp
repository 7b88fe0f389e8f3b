// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/session.h"

#include <unistd.h>

#include "common/log.h"

namespace qgen::model {

Expected<Question> read_question(const Arguments& arguments) {
  auto loaded = load(arguments);
  if (!loaded) return loaded.error();
  for (const std::string& note : loaded->notes) print_log("qgen-model: note: {}\n", note);
  auto inputs = inputs_of(loaded->graph, arguments, loaded->compiled ? loaded->compiled->shapes : graph::InputShapes(),
                          loaded->left_out);
  if (!inputs) return inputs.error();
  return Question{*std::move(loaded), *std::move(inputs)};
}

namespace {

Expected<std::unique_ptr<runner::Opened>> open_device(const KernelLibrary& library, const Arguments& arguments) {
  return runner::Opened::open(library, arguments.device,
                              {.is_untuned = arguments.is_untuned, .keeps_pipelines = true, .mask = arguments.mask});
}

// On the model's own kernels where it was compiled for this device and these shapes; else on the program's.
Expected<std::unique_ptr<runner::Opened>> open_for(const Program& program, const Arguments& arguments,
                                                   const std::optional<graph::Compiled>& compiled,
                                                   const graph::InputShapes& shapes) {
  if (compiled && compiled->shapes == shapes) {
    auto opened = open_device(compiled->own_kernels->library(), arguments);
    if (!opened) return opened;
    const Context& context = (*opened)->context();
    const bool is_for_it = graph::device_text(context.profile) == compiled->device;
    if (is_for_it && !graph::has_quarantined(*compiled, context.profile, context.times)) return opened;
  }
  return open_device(program.library, arguments);
}

}  // namespace

Session::Session(std::shared_ptr<const graph::OwnKernels> own_kernels, std::unique_ptr<runner::Opened> opened)
    : own_kernels_(std::move(own_kernels)), opened_(std::move(opened)), progress_(::isatty(STDERR_FILENO) != 0) {}

Expected<std::unique_ptr<Session>> Session::open(const Program& program, const Arguments& arguments, Loaded loaded,
                                                 const Tensors& inputs) {
  auto opened = open_for(program, arguments, loaded.compiled, graph::shapes_of(inputs));
  if (!opened) return opened.error();
  for (const std::string& warning : (*opened)->warnings()) print_log("qgen-model: warning: {}\n", warning);
  std::unique_ptr<Session> session(
      new Session(loaded.compiled ? loaded.compiled->own_kernels : nullptr, *std::move(opened)));
  Progress& progress = session->progress_;
  session->model_.emplace(model_of(session->context(), program.operators, std::move(loaded),
                                   {.on_progress = [&progress](std::string_view what, size_t done, size_t total) {
                                     progress.show(what, done, total);
                                   }}));
  return session;
}

Expected<graph::Prepared*> Session::prepare(const Tensors& inputs) {
  const auto prepared = model_->prepare(graph::shapes_of(inputs));
  progress_.clear();
  if (prepared && model_->is_chosen_anew())
    print_log(
        "qgen-model: note: compiled for another device, driver, shape or kernel library, or with a kernel that is "
        "quarantined now, so kernels and layouts were chosen again\n");
  return prepared;
}

}  // namespace qgen::model
