// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/runner/opened.h"

#include <cstdlib>

#include "common/files.h"
#include "runtime/engine/tuning/known_times.h"

namespace qgen::runner {
namespace {

constexpr uint32_t kGuardBytes = 256;

std::string pipeline_folder() {
  const auto folder = user_cache_folder();
  return folder ? *folder + "/pipelines" : "";
}

// A device that cannot be opened is the machine's, also one that is not there.
Error of_the_machine(Error error) {
  error.kind = Error::Kind::device;
  return error;
}

}  // namespace

Expected<std::unique_ptr<Opened>> Opened::open(const KernelLibrary& library, const std::string& name,
                                               const UseOfDevice& use) {
  const char* validation = std::getenv("QGEN_VALIDATION");
  auto mask = profiles::read_mask(use.mask);
  if (!mask) return mask.error();
  auto device = Device::open(name, {.validation = validation && *validation,
                                    .robust_buffer_access = use.is_robust,
                                    .pipeline_statistics = use.has_statistics,
                                    .trusts_driver = use.mask.trusts_driver,
                                    .mask = *std::move(mask)});
  if (!device) return of_the_machine(device.error());
  auto executor = Executor::create(*device, library,
                                   {.pipeline_cache_folder = use.keeps_pipelines ? pipeline_folder() : "",
                                    .guard_bytes = use.is_guarded ? kGuardBytes : 0,
                                    .timeout_ms = use.timeout_ms});
  if (!executor) return executor.error();
  std::unique_ptr<Opened> opened(new Opened(*std::move(device), *std::move(executor)));
  opened->stored_ = profiles::with_all_that_is_stored(opened->device_.profile(), use.mask.trusts_driver);
  opened->warnings_ = opened->stored_.warnings;
  if (!use.is_untuned) {
    auto known = tuning::known_times(library, tuning::Store::default_path(), &opened->warnings_);
    if (known) opened->times_ = *std::move(known);
    else opened->warnings_.push_back(to_text(known.error()));
  }
  opened->context_.emplace(Context{.profile = opened->stored_.profile,
                                   .library = library,
                                   .executor = opened->executor_,
                                   .times = opened->times_ ? &*opened->times_ : nullptr});
  return opened;
}

}  // namespace qgen::runner
