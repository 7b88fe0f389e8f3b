// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/measure/device_clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

namespace qgen::measure {
namespace {

namespace fs = std::filesystem;

// Of a file with one number, in MHz.
std::optional<double> number_of(const fs::path& file, double per_mhz) {
  std::ifstream in(file);
  double number = 0;
  return in >> number ? std::optional(number / per_mhz) : std::nullopt;
}

std::optional<DeviceClock> clock_of(const fs::path& now, const fs::path& most, double per_mhz) {
  const auto now_mhz = number_of(now, per_mhz), most_mhz = number_of(most, per_mhz);
  if (!now_mhz || !most_mhz || *most_mhz <= 0) return std::nullopt;
  return DeviceClock{"", *now_mhz, *most_mhz};
}

// "0: 500Mhz\n1: 1200Mhz *\n2: 2400Mhz": a line for each level, with a star at the one that is set.
std::optional<DeviceClock> clock_of_amdgpu(const fs::path& levels) {
  std::ifstream in(levels);
  DeviceClock clock;
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const double mhz = std::strtod(line.c_str() + colon + 2, nullptr);
    clock.most_mhz = std::max(clock.most_mhz, mhz);
    if (line.find('*') != std::string::npos) clock.now_mhz = mhz;
  }
  return clock.now_mhz > 0 ? std::optional(clock) : std::nullopt;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

std::vector<DeviceClock> clocks_of_gpus(const fs::path& system) {
  std::vector<DeviceClock> clocks;
  const auto add = [&](const std::optional<DeviceClock>& clock) {
    if (clock) clocks.push_back(*clock);
  };
  for (const fs::path& card : entries_of(system / "class/drm")) {
    add(clock_of_amdgpu(card / "device/pp_dpm_sclk"));
    add(clock_of(card / "gt_cur_freq_mhz", card / "gt_max_freq_mhz", 1));
    add(clock_of(card / "device/tile0/gt0/freq0/cur_freq", card / "device/tile0/gt0/freq0/max_freq", 1));
  }
  for (const fs::path& gpu : entries_of(system / "class/kgsl")) add(clock_of(gpu / "gpuclk", gpu / "max_gpuclk", 1e6));
  for (const fs::path& device : entries_of(system / "class/devfreq")) {
    const std::string name = device.filename().string();
    const bool is_gpu = name.find("gpu") != std::string::npos || name.find("mali") != std::string::npos;
    if (is_gpu) add(clock_of(device / "cur_freq", device / "max_freq", 1e6));
  }
  for (size_t i = 0; i < clocks.size(); ++i) clocks[i].name = i == 0 ? "gpu" : fmt::format("gpu {}", i + 1);
  return clocks;
}

std::optional<DeviceClock> clock_of_processor(const fs::path& system) {
  std::optional<DeviceClock> slowest;
  for (const fs::path& core : entries_of(system / "devices/system/cpu")) {
    const auto clock = clock_of(core / "cpufreq/scaling_cur_freq", core / "cpufreq/cpuinfo_max_freq", 1e3);
    if (clock && (!slowest || clock->now_mhz / clock->most_mhz < slowest->now_mhz / slowest->most_mhz)) slowest = clock;
  }
  if (slowest) slowest->name = "cpu";
  return slowest;
}

}  // namespace

std::vector<DeviceClock> device_clocks(const std::string& system) {
  std::vector<DeviceClock> clocks = clocks_of_gpus(system);
  if (auto cpu = clock_of_processor(system)) clocks.push_back(*std::move(cpu));
  return clocks;
}

}  // namespace qgen::measure
