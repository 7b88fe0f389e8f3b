// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Where measurements are kept: one SQLite file, which many processes may write at once and which survives being killed
// at any moment.
//
//   auto store = Store::open(Store::default_path());
//   store->add(device_key(profile), to_yaml(profile), rows);
//   for (const TunedRow& row : *store->rows(device_key(profile))) ...
//
// A measurement is never changed: of a problem and kernel that was measured again the newest row counts. Rows belong to
// a device and its driver; with another driver they are another's. Rows of kernels whose SPIR-V has changed stay until
// they are forgotten: whoever reads them compares the digest.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/device_profile.h"
#include "runtime/library/error.h"
#include "runtime/tuning/tuned_row.h"

namespace qgen::tuning {

// What a measurement is true of.
struct DeviceKey {
  std::string device_uuid;  // in hexadecimal digits
  std::string driver_uuid;
  uint32_t driver_version = 0;
  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};
DeviceKey device_key(const DeviceProfile& profile);

struct StoredDevice {
  DeviceKey key;
  std::string profile;  // YAML, as it was when the newest rows were added
};

// A kernel that crashed, hung, lost the device or gave wrong results there: it is not tried again.
struct Quarantined {
  std::string kernel;
  uint64_t digest = 0;
  std::string reason;
  std::string date;
};

// What to forget; empty: everything.
struct Forgotten {
  std::string op;      // of this operator
  std::string device;  // a part of its profile's first line, "name: ..."
};

class Store {
 public:
  // $QGEN_TUNING_STORE; else qgen/tuning.sqlite in the user's cache folder.
  static std::filesystem::path default_path();
  // Makes the file and its folder where there are none. Errors: a file that is no store, or of a newer version of qgen;
  // a folder that cannot be written.
  static Expected<Store> open(const std::filesystem::path& path);
  // The same, and an error where there is none.
  static Expected<Store> open_existing(const std::filesystem::path& path);

  // All of them or none; in the file when this returns, whatever becomes of the process. Waits for other writers.
  Done add(const DeviceKey& device, std::string_view profile, std::span<const TunedRow> rows);
  // The newest of each problem, kernel and cache, cold or warm, that is not quarantined; by problem, then time.
  Expected<std::vector<TunedRow>> rows(const DeviceKey& device);
  Expected<std::vector<StoredDevice>> devices();  // in the order in which they came

  Done quarantine(const DeviceKey& device, std::string_view profile, const Quarantined& kernel);
  Expected<std::vector<Quarantined>> quarantined(const DeviceKey& device);

  // The number of rows that went; what was quarantined goes with them.
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
