// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The parent's end of worker.h: starts the process, gives it commands, watches it, and ends it when it is silent for
// too long. It knows nothing of kernels. The process is a copy of this one, so whoever starts it has opened no device
// and has no other threads.
//
//   auto worker = WorkerProcess::start({.work = [&] { return run_worker(program, {}); }});
//   const Reply reply = worker->ask(R"({"do": "compile", "ids": ["a"]})", [](const Json& line) { ... });
//   if (!reply.answer) blame(reply.last, reply.end);      // it is dead now: start another
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/error.h"

namespace qgen::tuner {

struct WorkerProcessOptions {
  std::function<int()> work;                   // in the process; its exit code
  std::chrono::milliseconds patience{20'000};  // for a silent worker; it may request more
};

struct Reply {
  std::shared_ptr<const nlohmann::ordered_json> answer;  // null: the worker is dead
  std::string end;   // of a worker that is dead: "it died of signal 11", "it was silent for 20 s and was ended"
  std::string last;  // the candidate that it worked on last; empty: none
};

class WorkerProcess {
 public:
  using Json = nlohmann::ordered_json;

  // Waits until it has opened its device. Errors: the worker's message; it cannot be started.
  static Expected<WorkerProcess> start(const WorkerProcessOptions& options);
  // `on_line` hears of everything before the answer; may be empty. Of a worker that is dead: dead again.
  Reply ask(const Json& command, const std::function<void(const Json& line)>& on_line);

  WorkerProcess(WorkerProcess&&) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) noexcept;
  ~WorkerProcess();  // ends it

 private:
  struct State;
  explicit WorkerProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen::tuner
