// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A device as programs open it: with the verdict of its self-test, its measured numbers, and the times that were
// measured on it.
//
//   auto opened = Opened::open(library, "nvidia", {});
//   for (const std::string& warning : (*opened)->warnings()) ...
//   run(opened->context(), ...)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/calls/call.h"
#include "runtime/engine/profiles/mask_text.h"
#include "runtime/engine/profiles/stored.h"

namespace qgen::runner {

struct UseOfDevice {
  bool is_guarded = false;  // guard words after each tensor
  // As tests run: on the pipelines that a driver keeps of those, which Mesa 26 would compile again for a device without
  // robust access.
  bool is_robust = false;
  bool is_untuned = false;       // times are left aside
  bool has_statistics = false;   // OpenOptions::pipeline_statistics
  bool keeps_pipelines = false;  // between runs, in the user's cache folder
  uint64_t timeout_ms = ExecutorOptions().timeout_ms;
  profiles::MaskText mask = {};  // in addition to the environment's
};

class Opened {
 public:
  // `library` must outlive it. Errors: the errors of Device::open(), of kind device, and of Executor::create().
  static Expected<std::unique_ptr<Opened>> open(const KernelLibrary& library, const std::string& device,
                                                const UseOfDevice& use);

  Context& context() { return *context_; }
  const Device& device() const { return device_; }
  // What is stored of it and of no use.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Opened(Device device, Executor executor) : device_(std::move(device)), executor_(std::move(executor)) {}

  Device device_;
  Executor executor_;
  profiles::StoredProfile stored_;
  std::optional<TimeBook> times_;
  std::optional<Context> context_;
  std::vector<std::string> warnings_;
};

}  // namespace qgen::runner
