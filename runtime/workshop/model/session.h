// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The model, its inputs and the device of a qgen-model command. Notes, warnings and progress go to standard error.
#pragma once

#include "common/progress.h"
#include "runtime/workshop/model/commands.h"
#include "runtime/workshop/model/inputs.h"
#include "runtime/workshop/model/load.h"
#include "runtime/workshop/runner/opened.h"

namespace qgen::model {

// The model as load() has it, and its inputs.
struct Question {
  Loaded loaded;
  Inputs inputs;
};
Expected<Question> read_question(const Arguments& arguments);

class Session {
 public:
  // `program` and `arguments` must outlive it. Errors: the errors of opening the device.
  static Expected<std::unique_ptr<Session>> open(const Program& program, const Arguments& arguments, Loaded loaded,
                                                 const Tensors& inputs);

  // Ready for these inputs. Errors: the errors of Model::prepare().
  Expected<graph::Prepared*> prepare(const Tensors& inputs);

  Context& context() { return opened_->context(); }
  graph::Model& model() { return *model_; }

 private:
  Session(std::shared_ptr<const graph::OwnKernels> own_kernels, std::unique_ptr<runner::Opened> opened);

  std::shared_ptr<const graph::OwnKernels> own_kernels_;  // the executor may be of their library
  std::unique_ptr<runner::Opened> opened_;
  Progress progress_;
  std::optional<graph::Model> model_;
};

}  // namespace qgen::model
