// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/profiles/stored.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "common/files.h"
#include "runtime/engine/profiles/device_file.h"
#include "runtime/engine/profiles/numbers.h"
#include "runtime/engine/profiles/verdict.h"

namespace qgen::profiles {
namespace {

// Measured numbers belong to one device and one version of its driver.
std::string difference(const DeviceProfile& stored, const DeviceProfile& profile) {
  if (stored.device_uuid != profile.device_uuid) return "another device";
  if (stored.driver_version != profile.driver_version) return "another version of the driver";
  return "";
}

// Numbers with a source, and the rates of shapes that the device still offers.
void copy_numbers(const DeviceProfile& from, DeviceProfile& to) {
  for (const NumberRow& row : kNumbers) {
    const auto source = from.sources.find(row.name);
    if (source == from.sources.end()) continue;
    to.sources.insert_or_assign(source->first, source->second);
    std::visit([&](auto member) { to.numbers.*member = from.numbers.*member; }, row.member);
  }
  to.matrix_rates = from.matrix_rates;
}

}  // namespace

std::string stored_path(const DeviceProfile& profile) {
  const auto folder = user_cache_folder();
  if (!folder) return "";
  return fmt::format("{}/devices/{}-{:x}.yaml", *folder, uuid_text(profile.device_uuid), profile.driver_version);
}

StoredNumbers with_numbers_of(const std::string& path, const DeviceProfile& profile) {
  const auto stored = load_device(path);
  std::string reason = stored ? difference(*stored, profile) : stored.error().message;
  reason = reason.substr(0, reason.find('\n'));  // the first fault, without the quoted line
  if (!reason.empty()) {
    return {profile, fmt::format("the measured numbers of '{}' are not used: {}{}; qgen-info --measure makes them anew",
                                 profile.name, stored ? path + " describes " : "", reason)};
  }
  StoredNumbers result{profile, ""};
  copy_numbers(*stored, result.profile);
  return result;
}

StoredNumbers with_stored_numbers(const DeviceProfile& profile) {
  const std::string path = stored_path(profile);
  std::error_code failure;
  if (path.empty() || !std::filesystem::exists(path, failure)) return {profile, ""};
  return with_numbers_of(path, profile);
}

StoredProfile with_all_that_is_stored(const DeviceProfile& profile, bool trusts_driver) {
  std::string warning;
  StoredNumbers numbers = with_stored_numbers(trusts_driver ? profile : with_stored_verdict(profile, warning));
  StoredProfile stored{std::move(numbers.profile), {}};
  for (std::string& text : std::array{warning, numbers.warning}) {
    if (!text.empty()) stored.warnings.push_back(std::move(text));
  }
  return stored;
}

Done store_numbers(const DeviceProfile& profile) {
  const std::string path = stored_path(profile);
  if (path.empty()) {
    return Error{Error::Kind::system, "there is no folder to keep measured numbers in", "set HOME or XDG_CACHE_HOME"};
  }
  Outputs outputs;
  if (const Done added = outputs.add(path, to_yaml(profile), Outputs::Folder::is_made); !added) return added;
  return outputs.commit();
}

}  // namespace qgen::profiles
