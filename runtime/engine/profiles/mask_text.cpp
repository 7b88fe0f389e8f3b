// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/profiles/mask_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "common/nearest.h"
#include "common/number.h"
#include "common/text.h"
#include "runtime/engine/profiles/device_file.h"

namespace qgen::profiles {
namespace {

// Where a part of a mask was written, for messages.
constexpr std::string_view kWithout = "--without", kLimit = "--limit";

Error refused(std::string_view from, std::string message, std::string hint) {
  return Error{Error::Kind::invalid_argument, fmt::format("{}: {}", from, message), std::move(hint)};
}

std::string hint_of(std::string_view given, const std::vector<std::string_view>& names) {
  const std::string near = did_you_mean(given, names);
  return near.empty() ? "devices/README.md lists features and limits" : near;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

Done add_feature(std::string_view name, std::string_view from, DeviceMask& mask) {
  std::vector<std::string_view> names;
  for (const FeatureRow& row : feature_table()) {
    if (row.name == name) {
      mask.without |= bit(row.feature);
      return std::monostate{};
    }
    names.push_back(row.name);
  }
  return refused(from, fmt::format("there is no feature '{}'", name), hint_of(name, names));
}

// "16384", or "128x128x64" of a limit with sides; one number is for all sides.
std::optional<LimitValue> read_value(std::string_view text, bool has_sides) {
  LimitValue value{};
  const std::vector<std::string_view> parts = parts_of(text, 'x');
  if (parts.size() != 1 && !(has_sides && parts.size() == value.size())) return std::nullopt;
  for (size_t i = 0; i < value.size(); ++i) {
    const auto number = read_number<uint32_t>(parts[parts.size() == 1 ? 0 : i]);
    if (!number || *number == 0) return std::nullopt;
    value[i] = *number;
  }
  return value;
}

Done add_version(std::string_view text, std::string_view from, DeviceMask& mask) {
  const auto version = read_version(text);
  if (!version) return refused(from, fmt::format("vulkan is '{}'", text), "give a version, such as vulkan=1.2");
  mask.api_version = *version;
  return std::monostate{};
}

Done add_limit(std::string_view text, std::string_view from, DeviceMask& mask) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  if (name == "vulkan") return add_version(value, from, mask);
  std::vector<std::string_view> names = {"vulkan"};
  for (const LimitRow& row : kLimits) {
    names.push_back(row.name);
    if (row.name != name) continue;
    const auto limit = read_value(value, row.has_sides());
    if (!limit) {
      return refused(
          from, fmt::format("{} is '{}'", name, value),
          fmt::format("give a number from 1 to 4294967295{}", row.has_sides() ? ", or three: 128x128x64" : ""));
    }
    if (!row.can_be(*limit)) return refused(from, fmt::format("{} is '{}'", name, value), "give a power of two");
    mask.limits.push_back({&row, *limit});
    return std::monostate{};
  }
  return refused(from, fmt::format("there is no limit '{}'", name), hint_of(name, names));
}

Done add_device(const std::string& path, DeviceMask& mask) {
  auto device = load_device(path);
  if (!device) return device.error();
  mask.as = *std::move(device);
  return std::monostate{};
}

// One item of the variable: as=FILE, without=FEATURE, or a limit.
Done add_item(std::string_view item, DeviceMask& mask) {
  constexpr std::string_view kAs = "as=", kLacking = "without=";
  if (item.starts_with(kAs)) return add_device(std::string(item.substr(kAs.size())), mask);
  if (item.starts_with(kLacking)) return add_feature(item.substr(kLacking.size()), kMaskVariable, mask);
  return add_limit(item, kMaskVariable, mask);
}

Done add_environment(DeviceMask& mask) {
  const char* const text = std::getenv(kMaskVariable);
  if (!text || !*text) return std::monostate{};
  for (const std::string_view item : parts_of(text, ',')) {
    if (Done added = add_item(item, mask); !added) return added;
  }
  return std::monostate{};
}

}  // namespace

Expected<DeviceMask> read_mask(const MaskText& text) {
  DeviceMask mask;
  if (Done added = add_environment(mask); !added) return added.error();
  if (!text.as.empty()) {
    if (Done added = add_device(text.as, mask); !added) return added.error();
  }
  for (const std::string& name : text.without) {
    if (Done added = add_feature(name, kWithout, mask); !added) return added.error();
  }
  for (const std::string& limit : text.limits) {
    if (Done added = add_limit(limit, kLimit, mask); !added) return added.error();
  }
  return mask;
}

}  // namespace qgen::profiles
