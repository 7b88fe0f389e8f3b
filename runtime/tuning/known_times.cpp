// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/tuning/known_times.h"

#include "runtime/profiles/device_file.h"

namespace qgen::tuning {

Expected<TimeBook> known_times(const KernelLibrary& library, const std::filesystem::path& store_path) {
  TimeBook book(library);
  std::error_code code;
  if (!std::filesystem::exists(store_path, code)) return book;
  auto store = Store::open(store_path);
  if (!store) return store.error();
  const auto devices = store->devices();
  if (!devices) return devices.error();
  for (const StoredDevice& stored : *devices) {
    const auto device = profiles::read_device(stored.profile, store_path.string());
    if (!device) return device.error();
    auto stored_rows = store->rows(stored.key);
    if (!stored_rows) return stored_rows.error();
    const std::vector<TunedRow> rows = comparable(*std::move(stored_rows));
    std::vector<TimedKernel> times;
    for (const TunedRow& row : rows)
      times.push_back({row.problem, row.kernel, row.digest, row.us, row.date, row.is_cold});
    book.add(*device, times);
  }
  return book;
}

}  // namespace qgen::tuning
