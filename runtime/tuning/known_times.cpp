// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/tuning/known_times.h"

#include "runtime/library/tuning_info.h"
#include "runtime/profiles/device_file.h"

namespace qgen::tuning {
namespace {

DeviceProfile device_of(const TuningInfo& tuning) {
  DeviceProfile device;
  device.name = tuning.name;
  device.vendor_id = tuning.vendor_id;
  device.device_id = tuning.device_id;
  device.architecture = tuning.architecture;
  device.driver_name = tuning.driver_name;
  device.driver_info = tuning.driver_info;
  device.driver_version = UINT32_MAX;  // no device's: a table is of the model, not of a board and its driver
  device.numbers = tuning.numbers;
  return device;
}

// qgen compared the digests of what it compiled in.
void add_table(const TuningInfo& tuning, TimeBook& book) {
  std::vector<TimedKernel> times;
  for (const TunedProblem& problem : tuning.problems) {
    for (const TunedTime& time : tuning.times_of(problem.key)) {
      times.push_back({problem.key, tuning.choices[time.choice], std::nullopt, time.us, tuning.date});
    }
  }
  book.add(device_of(tuning), times);
}

}  // namespace

Expected<TimeBook> known_times(const KernelLibrary& library, const std::filesystem::path& store_path) {
  TimeBook book(library);
  for (const TuningInfo* tuning : library.tunings()) add_table(*tuning, book);
  std::error_code code;
  if (!std::filesystem::exists(store_path, code)) return book;
  auto store = Store::open(store_path);
  if (!store) return store.error();
  const auto devices = store->devices();
  if (!devices) return devices.error();
  for (const StoredDevice& stored : *devices) {
    const auto device = profiles::read_device(stored.profile, store_path.string());
    if (!device) return device.error();
    const auto rows = store->rows(stored.key);
    if (!rows) return rows.error();
    std::vector<TimedKernel> times;
    for (const TunedRow& row : *rows) times.push_back({row.problem, row.kernel, row.digest, row.us, row.date});
    book.add(*device, times);
  }
  return book;
}

}  // namespace qgen::tuning
