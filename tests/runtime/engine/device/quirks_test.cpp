// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/device/quirks.h"

#include <gmock/gmock.h>

#include "runtime/engine/device/architecture.h"

namespace qgen {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

FeatureMask distrusted_in(const DeviceProfile& device) {
  FeatureMask features = 0;
  for (const Quirk* quirk : quirks_of(device)) features |= quirk->distrusted;
  return features;
}

DeviceProfile amd(std::string driver, std::string architecture) {
  DeviceProfile device{.name = "AMD Radeon", .driver_name = std::move(driver), .driver_info = "26.3.1 (LLPC)"};
  device.vendor_id = 0x1002;
  device.architecture = std::move(architecture);
  device.kind = DeviceProfile::Kind::discrete;
  return device;
}

TEST(Quirks, EachSaysWhatWhyAndWhere) {
  for (const Quirk& quirk : quirks()) {
    EXPECT_NE(quirk.distrusted, 0U) << quirk.why;
    EXPECT_THAT(quirk.source, StartsWith("https://"));
    EXPECT_FALSE(quirk.why.empty()) << quirk.source;
  }
}

TEST(Quirks, FitByDriverAndArchitecture) {
  EXPECT_EQ(distrusted_in(amd("AMD proprietary driver", "rdna2")), bit(Feature::integer_dot_product));
  EXPECT_EQ(distrusted_in(amd("AMD proprietary driver", "rdna3")), 0U);
  EXPECT_EQ(distrusted_in(amd("AMD proprietary driver", "rdna")), 0U) << "a part of a name is no architecture";
  EXPECT_EQ(distrusted_in(amd("radv", "rdna2")), 0U);
}

TEST(Quirks, FitByKind) {
  DeviceProfile device = amd("AMD proprietary driver", "");
  device.kind = DeviceProfile::Kind::integrated;
  EXPECT_EQ(distrusted_in(device), bit(Feature::cooperative_matrix));
}

TEST(Quirks, FitByVersion) {
  DeviceProfile device{.name = "Intel(R) Arc(TM) 140V GPU (16GB)", .driver_name = "Intel Corporation"};
  device.vendor_id = 0x8086;
  device.driver_info = "Intel driver 101.999";
  EXPECT_EQ(distrusted_in(device), bit(Feature::cooperative_matrix));
  device.driver_info = "101.8247";
  EXPECT_EQ(distrusted_in(device), 0U);
}

TEST(Quirks, FitByName) {
  DeviceProfile device{.name = "PowerVR Rogue GE8320"};
  device.vendor_id = 0x1010;
  EXPECT_EQ(distrusted_in(device), bit(Feature::shader_float16));
}

TEST(Quirks, VersionsAreComparedNumberByNumber) {
  EXPECT_TRUE(is_older_version("101.999", "101.8247"));
  EXPECT_TRUE(is_older_version("Mesa 24.1", "24.1.1"));
  EXPECT_TRUE(is_older_version("", "0"));
  EXPECT_FALSE(is_older_version("101.8247", "101.8247"));
  EXPECT_FALSE(is_older_version("Mesa 24.1.0-devel", "24.1"));
}

TEST(Quirks, AreToldWithTheDevice) {
  DeviceProfile device = amd("AMD proprietary driver", "rdna1");
  device.distrusted = bit(Feature::integer_dot_product);
  EXPECT_THAT(to_text(device), HasSubstr("distrusted"));
  EXPECT_THAT(to_text(device), HasSubstr("integer_dot_product"));
  EXPECT_THAT(to_text(device), HasSubstr("https://"));
}

}  // namespace
}  // namespace qgen
