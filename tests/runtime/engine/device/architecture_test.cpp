// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/device/architecture.h"

#include <gtest/gtest.h>

namespace qgen {
namespace {

TEST(Architecture, IsToldByVendorAndDevice) {
  EXPECT_EQ(architecture_of(0x10de, 0x2335), "hopper");
  EXPECT_EQ(architecture_of(0x10de, 0x2684), "ada");
  EXPECT_EQ(architecture_of(0x1002, 0x744c), "rdna3");
  EXPECT_EQ(architecture_of(0x5143, 0x43050a01), "adreno_7xx");
  EXPECT_EQ(architecture_of(0x10005, 0), "llvmpipe");
}

TEST(Architecture, IsNotKnownOfOthers) {
  EXPECT_EQ(architecture_of(0x10de, 0x0001), "");
  EXPECT_EQ(architecture_of(0x1002, 0x2335), "");  // another vendor's number
  EXPECT_EQ(architecture_of(0, 0), "");
}

}  // namespace
}  // namespace qgen
