// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Records the problems of a program in a file, for qgen-tune:
//
//   Trace trace;
//   Context context{..., .on_call = [&](const Call& call) { trace.add(call); }};
//   ... the program's work ...
//   trace.save("trace.yaml");            // qgen-tune --from-trace trace.yaml
//
// It keeps the shape, dtype and representation of a tensor, never its values; the tuner uses random ones. A problem is
// recorded once.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/engine/calls/call.h"
#include "runtime/workshop/runner/task.h"

namespace qgen::runner {

class Trace {
 public:
  // Safe from many threads. A Call that was made by hand, and of no operator's function, is passed over.
  void add(const Call& call);
  std::vector<Task> tasks() const;  // in the order in which they were met
  Done save(const std::string& path) const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> keys_;
  std::vector<Task> tasks_;
};

// The request that leads to this inferred Call.
Task task_of(const InferArguments& arguments);

}  // namespace qgen::runner
