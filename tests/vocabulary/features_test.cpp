// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "vocabulary/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace qgen {
namespace {

using ::testing::ElementsAre;

struct CapabilityCase {
  std::string_view spirv_name;
  uint32_t number;
  std::string_view need;  // a feature, "always there" or "unknown"
};

constexpr CapabilityCase kCapabilities[] = {
    {"Matrix", 0, "always there"},
    {"Shader", 1, "always there"},
    {"ImageQuery", 50, "always there"},
    {"Geometry", 2, "unknown"},
    {"Kernel", 6, "unknown"},
    {"Float16", 9, "shader_float16"},
    {"Float64", 10, "shader_float64"},
    {"Int64", 11, "shader_int64"},
    {"Int16", 22, "shader_int16"},
    {"Int8", 39, "shader_int8"},
    {"StorageImageExtendedFormats", 49, "storage_image_extended_formats"},
    {"GroupNonUniform", 61, "subgroup_basic"},
    {"GroupNonUniformArithmetic", 63, "subgroup_arithmetic"},
    {"GroupNonUniformRotateKHR", 6026, "subgroup_rotate"},
    {"StorageBuffer16BitAccess", 4433, "storage_buffer_16bit"},
    {"StorageBuffer8BitAccess", 4448, "storage_buffer_8bit"},
    {"VulkanMemoryModel", 5345, "vulkan_memory_model"},
    {"TensorAddressingNV", 5439, "cooperative_matrix2_tensor_addressing"},
    {"CooperativeMatrixTensorAddressingNV", 5433, "cooperative_matrix2_tensor_addressing"},
    {"DotProductInput4x8BitPacked", 6018, "integer_dot_product"},
    {"DotProduct", 6019, "integer_dot_product"},
    {"CooperativeMatrixKHR", 6022, "cooperative_matrix"},
    {"BFloat16TypeKHR", 5116, "bfloat16"},
    {"DenormPreserve", 4464, "float16_denormals"},
    {"Max", 0x7fffffff, "unknown"},
};

std::string_view text_of(const CapabilityNeed& need) {
  if (need.feature) return name(*need.feature);
  return need.is_always_there ? "always there" : "unknown";
}

TEST(Features, CapabilitiesAskForThem) {
  for (const CapabilityCase& c : kCapabilities)
    EXPECT_EQ(text_of(need_of_capability(c.number)), c.need) << c.spirv_name;
}

constexpr uint32_t vulkan(uint32_t minor) { return 1U << 22U | minor << 12U; }

TEST(Features, VersionsGuaranteeSome) {
  const FeatureMask since_1_2 = bit(Feature::uniform_buffer_standard_layout) | bit(Feature::subgroup_extended_types);
  EXPECT_EQ(guaranteed_features(vulkan(1)), FeatureMask{0});
  EXPECT_EQ(guaranteed_features(vulkan(2)), since_1_2);
  EXPECT_EQ(guaranteed_features(vulkan(3) + 275), since_1_2);
  EXPECT_EQ(guaranteed_features(0), since_1_2) << "a version that is not known";
}

// Those without a capability are found in the instructions.
TEST(Features, EachHasANameAndACapabilityOfItsOwn) {
  std::set<std::string_view> seen_names;
  std::map<uint32_t, std::string_view> seen_capabilities;
  for (const FeatureRow& row : feature_table()) {
    EXPECT_TRUE(seen_names.insert(row.name).second) << row.name;
    const bool is_unannounced = (guaranteed_features(0) & bit(row.feature)) != 0;
    EXPECT_EQ(row.spirv_capabilities.empty(), is_unannounced) << row.name;
    for (uint32_t capability : row.spirv_capabilities) {
      EXPECT_TRUE(seen_capabilities.emplace(capability, row.name).second) << capability << " of " << row.name;
    }
  }
  EXPECT_EQ(seen_names.size(), static_cast<size_t>(Feature::count_));
}

TEST(Features, NamesOfAMaskComeInTheTablesOrder) {
  EXPECT_TRUE(names(0).empty());
  EXPECT_THAT(names(bit(Feature::cooperative_matrix) | bit(Feature::shader_int8)),
              ElementsAre("shader_int8", "cooperative_matrix"));
}

}  // namespace
}  // namespace qgen
