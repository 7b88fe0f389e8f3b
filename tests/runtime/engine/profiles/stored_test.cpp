// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Measured numbers are kept by device and driver, and a file that cannot be used is a warning.
#include "runtime/engine/profiles/stored.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "common/files.h"
#include "tests/support/expected_text.h"

namespace qgen::profiles {
namespace {

using ::testing::EndsWith;

class Stored : public ::testing::Test {
 protected:
  Stored() {
    std::string folder = ::testing::TempDir() + "stored_XXXXXX";
    ::setenv("XDG_CACHE_HOME", ::mkdtemp(folder.data()), 1);
    device_.name = "Example GPU 1";
    device_.kind = DeviceProfile::Kind::discrete;
    device_.device_uuid[0] = 0xab;
    device_.driver_version = 0x10;
  }
  ~Stored() override { ::unsetenv("XDG_CACHE_HOME"); }

  DeviceProfile measured() const {
    DeviceProfile measured = device_;
    measured.numbers.launch_us = 1.25;
    measured.sources["launch_us"] = "measured on 2026-11-22";
    return measured;
  }

  DeviceProfile device_;
};

TEST_F(Stored, NumbersAreFoundAgain) {
  EXPECT_EQ(with_stored_numbers(device_).profile, device_);
  ASSERT_TRUE(store_numbers(measured()));
  const StoredNumbers found = with_stored_numbers(device_);
  EXPECT_EQ(found.warning, "");
  EXPECT_EQ(found.profile, measured());
  EXPECT_THAT(stored_path(device_), EndsWith("/qgen/devices/ab000000-0000-0000-0000-000000000000-10.yaml"));
}

TEST_F(Stored, NumbersAreOfOneDriver) {
  ASSERT_TRUE(store_numbers(measured()));
  device_.driver_version = 0x11;
  EXPECT_EQ(with_stored_numbers(device_).profile, device_);
  DeviceProfile before = device_;
  before.driver_version = 0x10;
  const StoredNumbers copied = with_numbers_of(stored_path(before), device_);
  EXPECT_THAT(copied.warning, ::testing::HasSubstr("describes another version of the driver"));
  EXPECT_EQ(copied.profile, device_);
}

TEST_F(Stored, BrokenFileIsAWarning) {
  ASSERT_TRUE(write_file(stored_path(device_), "name: x\n"));
  const StoredNumbers found = with_stored_numbers(device_);
  EXPECT_EQ(found.profile, device_);
  EXPECT_THAT(found.warning, ::testing::HasSubstr("the measured numbers of 'Example GPU 1' are not used: "));
  EXPECT_THAT(found.warning, ::testing::HasSubstr("a device lacks 'kind'"));
  EXPECT_THAT(found.warning, EndsWith("qgen-info --measure makes them anew"));
}

TEST_F(Stored, NeedsAPlace) {
  const char* home = ::getenv("HOME");
  const std::string kept = home ? home : "";
  ::unsetenv("XDG_CACHE_HOME");
  ::unsetenv("HOME");
  EXPECT_EQ(stored_path(device_), "");
  EXPECT_EQ(with_stored_numbers(device_).profile, device_);
  const Done stored = store_numbers(device_);
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().hint, "set HOME or XDG_CACHE_HOME");
  if (home) ::setenv("HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace qgen::profiles
