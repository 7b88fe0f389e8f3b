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

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool has_word(std::string_view text, std::string_view word) {
  const auto words = words_of(text);
  return std::ranges::find(words, word) != words.end();
}

template <typename Part>
bool is_any_or(const std::optional<Part>& wanted, Part part) {
  return !wanted || *wanted == part;
}

bool is_any_or(uint16_t wanted, uint16_t side) { return wanted == 0 || wanted == side; }

bool fits_dtypes(const MatrixPattern& pattern, const CooperativeMatrixShape& shape) {
  return is_any_or(pattern.a, shape.a) && is_any_or(pattern.b, shape.b) && is_any_or(pattern.c, shape.c) &&
         is_any_or(pattern.result, shape.result);
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

bool fits(const MatrixPattern& pattern, const CooperativeMatrixShape& shape) {
  return is_any_or(pattern.m, shape.m) && is_any_or(pattern.n, shape.n) && is_any_or(pattern.k, shape.k) &&
         is_any_or(pattern.workgroup_scope, shape.workgroup_scope) && fits_dtypes(pattern, shape);
}

FeatureMask distrusted_features(std::span<const Quirk* const> quirks) {
  FeatureMask features = 0;
  for (const Quirk* quirk : quirks) features |= quirk->distrusted;
  return features;
}

void distrust_parts(std::span<const Quirk* const> quirks, DeviceProfile& device) {
  for (const Quirk* quirk : quirks) {
    for (const std::string_view beginning : words_of(quirk->kernels)) device.distrusted_kernels.emplace_back(beginning);
    if (quirk->matrices) distrust_matrices(*quirk->matrices, device);
  }
}

void distrust_features(FeatureMask wrong, DeviceProfile& device) {
  device.distrusted |= device.features & wrong;
  device.features &= ~wrong;
  if (!(wrong & bit(Feature::cooperative_matrix))) return;
  device.cooperative_matrices.clear();
  device.flexible_cooperative_matrices.clear();
}

void distrust_matrices(const MatrixPattern& wrong, DeviceProfile& device) {
  const size_t removed = std::erase_if(device.cooperative_matrices,
                                       [&](const CooperativeMatrixShape& shape) { return fits(wrong, shape); });
  std::erase_if(device.flexible_cooperative_matrices,
                [&](const CooperativeMatrixShape& shape) { return fits_dtypes(wrong, shape); });
  if (removed > 0 && device.cooperative_matrices.empty()) distrust_features(bit(Feature::cooperative_matrix), device);
}

bool is_older_version(std::string_view a, std::string_view b) { return numbers_of(a) < numbers_of(b); }

}  // namespace qgen
