// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The store stays open, and is read when a problem is selected. So a store of a million rows costs a program only the
// rows of its problems.
#include "runtime/engine/tuning/known_times.h"

#include <fmt/format.h>

#include <mutex>

#include "runtime/engine/profiles/device_file.h"

namespace qgen::tuning {
namespace {

// Of all devices in it, and of all threads that use it.
struct OpenStore {
  explicit OpenStore(Store opened) : store(std::move(opened)) {}
  Store store;
  std::mutex mutex;
};

std::vector<std::string> shortened(std::vector<std::string> faults) {
  constexpr size_t kMostFaults = 3;
  if (faults.size() <= kMostFaults) return faults;
  const size_t more = faults.size() - kMostFaults;
  faults.resize(kMostFaults);
  faults.push_back(fmt::format("{} more rows are left out for similar reasons", more));
  return faults;
}

void take_problem(OpenStore& open, const DeviceKey& device, const std::string& key, const TimesOnDemand::Take& take) {
  const std::scoped_lock lock(open.mutex);
  auto found = open.store.read(device, {.problem = key});
  if (!found) return take({}, {to_text(found.error())});
  const std::vector<TunedRow> rows = comparable(std::move(found->rows));
  std::vector<TimedKernel> times;
  for (const TunedRow& row : rows) {
    times.push_back(
        {row.problem, row.kernel, row.digest, row.us, row.date, row.is_cold, row.is_final, row.is_marked()});
  }
  take(times, shortened(std::move(found->faults)));
}

}  // namespace

Expected<TimeBook> known_times(const KernelLibrary& library, const std::filesystem::path& store_path,
                               std::vector<std::string>* faults) {
  TimeBook book(library);
  std::error_code code;
  if (std::filesystem::status(store_path, code).type() == std::filesystem::file_type::not_found) return book;
  auto opened = Store::open_to_read(store_path);
  if (!opened) return opened.error();
  const auto open = std::make_shared<OpenStore>(*std::move(opened));
  const auto devices = open->store.devices();
  if (!devices) return devices.error();
  for (const StoredDevice& stored : *devices) {
    const auto device = profiles::read_device(stored.profile, "the store");
    if (!device) {
      if (faults) faults->push_back(fault_of_profile(stored) + ", so its times are left out");
      continue;
    }
    const auto quarantined = open->store.quarantined(stored.key);
    if (!quarantined) return quarantined.error();
    std::vector<QuarantinedKernel> kernels;
    for (const Quarantined& bad : *quarantined)
      kernels.push_back({bad.kernel, bad.digest, fmt::format("{} ({})", bad.reason, bad.date)});
    book.quarantine(*device, kernels);
    book.add(*device, {.of_problem = [open, key = stored.key](
                                         const std::string& problem,
                                         const TimesOnDemand::Take& take) { take_problem(*open, key, problem, take); },
                       // A store that cannot be read says so where the problem itself is looked up.
                       .keys_of =
                           [open, key = stored.key](std::string_view op, const auto& take) {
                             const std::scoped_lock lock(open->mutex);
                             (void)open->store.keys(key, op, take);
                           }});
  }
  return book;
}

}  // namespace qgen::tuning
