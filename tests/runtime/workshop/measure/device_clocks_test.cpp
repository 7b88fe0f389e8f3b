// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Clocks in made-up trees of /sys, with the files that the kernel's drivers have.
#include "runtime/workshop/measure/device_clocks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "common/files.h"

namespace qgen::measure {
namespace {

using Files = std::map<std::string, std::string>;

std::string clocks_in(const Files& files) {
  std::string name = (std::filesystem::temp_directory_path() / "qgen-sys-XXXXXX").string();
  const std::filesystem::path root = ::mkdtemp(name.data());
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories((root / path).parent_path());
    EXPECT_TRUE(write_file((root / path).string(), text));
  }
  std::string text;
  for (const DeviceClock& clock : device_clocks(root.string())) {
    text += fmt::format("{} {} of {}\n", clock.name, clock.now_mhz, clock.most_mhz);
  }
  std::filesystem::remove_all(root);
  return text;
}

TEST(DeviceClocks, AreReadWhereTheSystemTellsThem) {
  EXPECT_EQ(clocks_in({}), "");
  EXPECT_EQ(clocks_in({{"class/drm/card0/device/pp_dpm_sclk", "0: 500Mhz\n1: 1200Mhz *\n2: 2400Mhz\n"}}),
            "gpu 1200 of 2400\n");
  EXPECT_EQ(clocks_in({{"class/drm/card0/gt_cur_freq_mhz", "300\n"}, {"class/drm/card0/gt_max_freq_mhz", "1500\n"}}),
            "gpu 300 of 1500\n");
  EXPECT_EQ(
      clocks_in({{"class/kgsl/kgsl-3d0/gpuclk", "315000000\n"}, {"class/kgsl/kgsl-3d0/max_gpuclk", "680000000\n"}}),
      "gpu 315 of 680\n");
  EXPECT_EQ(clocks_in({{"class/devfreq/13000000.mali/cur_freq", "400000000\n"},
                       {"class/devfreq/13000000.mali/max_freq", "850000000\n"},
                       {"class/devfreq/dmc/cur_freq", "1\n"},
                       {"class/devfreq/dmc/max_freq", "2\n"}}),
            "gpu 400 of 850\n");
  EXPECT_EQ(clocks_in({{"devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2400000\n"},
                       {"devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2400000\n"},
                       {"devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1200000\n"},
                       {"devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "2400000\n"}}),
            "cpu 1200 of 2400\n");
}

TEST(DeviceClocks, LeaveOutWhatIsNoClock) {
  EXPECT_EQ(clocks_in({{"class/drm/card0/device/pp_dpm_sclk", "nothing\n"},
                       {"class/kgsl/kgsl-3d0/gpuclk", "fast\n"},
                       {"class/kgsl/kgsl-3d0/max_gpuclk", "680000000\n"}}),
            "");
}

}  // namespace
}  // namespace qgen::measure
