// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The tuning store: measured times in one SQLite file, which many processes may write at once. It survives a kill at
// any moment.
//
//   auto store = Store::open(Store::default_path());
//   store->add(device_key(profile), to_yaml(profile), rows);
//   for (const TunedRow& row : *store->rows(device_key(profile))) ...
//
// Measurements are never changed, but may get a mark (TunedRow::is_marked()). For a problem and a kernel the newest row
// counts, or the newest one without a mark. Rows of a final round that were added together stay in force until the
// problem's next final round. So the kernel that a tuning reported as the best
// stays the first. Rows belong to a device and its driver; a new driver counts as another device. Rows of kernels whose
// SPIR-V has changed stay until they are forgotten. The reader compares the digest.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/library/error.h"
#include "runtime/engine/tuning/tuned_row.h"

namespace qgen::tuning {

// The circumstances of a measurement.
struct DeviceKey {
  std::string device_uuid;  // in hexadecimal digits
  std::string driver_uuid;
  uint32_t driver_version = 0;
  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};
DeviceKey device_key(const DeviceProfile& profile);

struct StoredDevice {
  DeviceKey key;
  std::string profile;  // YAML, from the time when the newest rows were added
  int64_t row = 0;      // of the table `device`
};
// Of a profile that profiles::read_device() refuses: "row 2 of the table 'device' has no profile of a device".
std::string fault_of_profile(const StoredDevice& device);

// A kernel that crashed, hung, lost the device or gave wrong results there: it is not tried again.
struct Quarantined {
  std::string kernel;
  uint64_t digest = 0;
  std::string reason;
  std::string date;
};

// What to forget; empty: everything.
struct Forgotten {
  std::string op;               // of this operator
  std::string device;           // a part of its profile's first line, "name: ..."
  std::string older_than = "";  // a date, "2026-11-23": measurements before it
};

// A filter; empty: all.
struct RowsOf {
  std::string op = "";       // of this operator
  std::string problem = "";  // of this key
};

struct StoredRows {
  std::vector<TunedRow> rows;       // by order_of()
  std::vector<std::string> faults;  // a sentence for each row that is no measurement, and is left out
  LeftOut quarantined = {};
};

class Store {
 public:
  // $QGEN_TUNING_STORE; else qgen/tuning.sqlite in the user's cache folder. Empty: there is no such folder, and open()
  // returns an error.
  static std::filesystem::path default_path();
  // Makes the file and its folder where there are none. Errors: a file that is no store, or of a newer version of qgen;
  // a folder that cannot be written.
  static Expected<Store> open(const std::filesystem::path& path);
  // The same, and an error where there is none.
  static Expected<Store> open_existing(const std::filesystem::path& path);
  // The same, of a file or folder that may be read-only. Nothing is written to it, and nothing can be added.
  static Expected<Store> open_to_read(const std::filesystem::path& path);

  // All of them or none; in the file when this returns, whatever becomes of the process. Waits for other writers.
  Done add(const DeviceKey& device, std::string_view profile, std::span<const TunedRow> rows);
  // Rows that are in the store get their clocks, where these are lower: the device turned out to be faster.
  Done mark(const DeviceKey& device, std::span<const TunedRow> rows);
  // The rows that count for each problem, kernel and cache, cold or warm, without quarantined ones.
  Expected<StoredRows> read(const DeviceKey& device, const RowsOf& which);
  // The keys of problems of the operator that the device has rows of.
  Done keys(const DeviceKey& device, std::string_view op, const std::function<void(std::string_view key)>& take);
  // The same for all problems, without remarks about omitted rows.
  Expected<std::vector<TunedRow>> rows(const DeviceKey& device);
  Expected<std::vector<StoredDevice>> devices();  // in the order in which they came
  // The rows whose device or problem the file lacks, so that no read() has them. The first: "row 7 of the table
  // 'measurement'".
  Expected<LeftOut> orphans();

  Done quarantine(const DeviceKey& device, std::string_view profile, const Quarantined& kernel);
  Expected<std::vector<Quarantined>> quarantined(const DeviceKey& device);

  // The number of removed rows; their quarantine entries are removed too.
  Expected<size_t> forget(const Forgotten& what);

  const std::filesystem::path& path() const;

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qgen::tuning
