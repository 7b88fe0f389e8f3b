// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/device/quirks.h"

#include <algorithm>
#include <charconv>

namespace qgen {
namespace {

constexpr Quirk kQuirks[] = {
#include "runtime/engine/device/quirk_rows.inc"
};

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool fits(const Quirk& quirk, const DeviceProfile& device) {
  return quirk.vendor_id == device.vendor_id && (!quirk.kind || *quirk.kind == device.kind) &&
         (quirk.driver.empty() || quirk.driver == device.driver_name) &&
         (quirk.architectures.empty() || has_word(quirk.architectures, device.architecture)) &&
         device.name.find(quirk.name) != std::string::npos &&
         (quirk.before.empty() || is_older_version(device.driver_info, quirk.before));
}

std::vector<uint32_t> numbers_of(std::string_view version) {
  std::vector<uint32_t> numbers;
  version.remove_prefix(std::min(version.find_first_of("0123456789"), version.size()));
  while (!version.empty()) {
    uint32_t number = 0;
    const auto read = std::from_chars(version.data(), version.data() + version.size(), number);
    if (read.ec != std::errc()) break;
    numbers.push_back(number);
    version.remove_prefix(static_cast<size_t>(read.ptr - version.data()));
    if (!version.starts_with('.')) break;
    version.remove_prefix(1);
  }
  return numbers;
}

}  // namespace

std::span<const Quirk> quirks() { return kQuirks; }

std::vector<const Quirk*> quirks_of(const DeviceProfile& device) {
  std::vector<const Quirk*> fitting;
  for (const Quirk& quirk : kQuirks) {
    if (fits(quirk, device)) fitting.push_back(&quirk);
  }
  return fitting;
}

bool is_older_version(std::string_view a, std::string_view b) { return numbers_of(a) < numbers_of(b); }

}  // namespace qgen
