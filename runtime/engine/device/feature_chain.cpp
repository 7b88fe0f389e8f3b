// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The Vulkan feature of a qgen feature is in its row of vocabulary/feature_rows.inc, and is compiled here. A row names
// members of FeatureChain, and claims of FeatureProperties.
#include "runtime/engine/device/feature_chain.h"

#include <algorithm>
#include <utility>

namespace qgen::vulkan {
namespace {

struct ExtensionRow {
  const char* name;                                // null: the struct is in Vulkan 1.1
  void* (*link)(FeatureChain& chain, void* next);  // returns the struct, with `next` after it; null: there is none
  uint32_t until = ~0U;                            // a version that has the same feature in its own struct
};

template <auto member>
void* link(FeatureChain& chain, void* next) {
  (chain.*member).pNext = next;
  return &(chain.*member);
}

constexpr ExtensionRow kExtensions[] = {
#define QGEN_FEATURE_STRUCT(member, type, structure_type, extension) {extension, link<&FeatureChain::member>},
#define QGEN_PROMOTED_STRUCT(member, type, structure_type, extension, version) \
  {extension, link<&FeatureChain::member>, kSince_##version},
#define QGEN_PROMOTED_EXTENSION(extension, version) {extension, nullptr, kSince_##version},
#include "vocabulary/feature_rows.inc"
};

bool is_linked(const ExtensionRow& row, const ExtensionSet& extensions, uint32_t api_version) {
  return api_version < row.until && (!row.name || extensions.has(row.name));
}

using Bits = std::vector<std::reference_wrapper<VkBool32>>;

// Bits that are no qgen feature: conditions of the dispatcher, and companions of the features. Each is enabled where it
// is offered.
#define QGEN_COMPANIONS(BIT)                                                             \
  BIT(vulkan13.maintenance4)        /* LocalSizeId: workgroup sizes by specialization */ \
  BIT(vulkan13.subgroupSizeControl) /* kernels that ask for one subgroup size */         \
  BIT(vulkan13.computeFullSubgroups)                                                     \
  BIT(vulkan12.timelineSemaphore) /* submissions without a wait: Executor::submit() */   \
  BIT(matrix2.cooperativeMatrixWorkgroupScope)                                           \
  BIT(matrix2.cooperativeMatrixFlexibleDimensions)

Bits companions(FeatureChain& chain) {
#define QGEN_BIT(member) chain.member,
  return {QGEN_COMPANIONS(QGEN_BIT)};
#undef QGEN_BIT
}

bool are_all_set(const Bits& bits) {
  return std::all_of(bits.begin(), bits.end(), [](VkBool32 is_set) { return is_set == VK_TRUE; });
}

}  // namespace

ExtensionSet::ExtensionSet(std::vector<std::string> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end());
}
bool ExtensionSet::has(std::string_view name) const { return std::binary_search(names_.begin(), names_.end(), name); }

FeatureChain::FeatureChain(const ExtensionSet& extensions, uint32_t version)
    : api_version(version),
      has_spirv_1_4(version >= VK_API_VERSION_1_2 || extensions.has(VK_KHR_SPIRV_1_4_EXTENSION_NAME)) {
  void* next = nullptr;
  for (const ExtensionRow& row : kExtensions) {
    if (row.link && is_linked(row, extensions, version)) next = row.link(*this, next);
  }
  if (version >= kSince_vulkan13) next = link<&FeatureChain::vulkan13>(*this, next);
  if (version >= kSince_vulkan12) next = link<&FeatureChain::vulkan12>(*this, next);
  if (version >= kSince_vulkan11) next = link<&FeatureChain::vulkan11>(*this, next);
  features.pNext = next;
}

void FeatureChain::gather() {
#define QGEN_PROMOTED_BIT(member, version, bit) \
  if (api_version < kSince_##version) version.bit = member.bit;
#include "vocabulary/feature_rows.inc"
}

void FeatureChain::spread() {
#define QGEN_PROMOTED_BIT(member, version, bit) \
  if (api_version < kSince_##version) member.bit = version.bit;
#include "vocabulary/feature_rows.inc"
}

std::string spelled_for(uint32_t api_version, std::string_view bit) {
#define QGEN_PROMOTED_BIT(member, version, name) \
  if (api_version < kSince_##version && bit == #version "." #name) return #member "." #name;
#include "vocabulary/feature_rows.inc"
  return std::string(bit);
}

Bits FeatureChain::bits_of(Feature feature) {
  switch (feature) {
#define QGEN_FEATURE(name, capabilities, grant) \
  case Feature::name:                           \
    return grant;
#define BITS(...) \
  { __VA_ARGS__ }
#define PROPERTY(...) \
  {}
#include "vocabulary/feature_rows.inc"
    case Feature::count_: break;
  }
  return {};
}

std::string_view spelled_bits(Feature feature) {
  switch (feature) {
#define QGEN_FEATURE(name, capabilities, grant) \
  case Feature::name:                           \
    return grant;
#define BITS(...) #__VA_ARGS__
#define PROPERTY(...) ""
#include "vocabulary/feature_rows.inc"
    case Feature::count_: break;
  }
  return "";
}

std::vector<SpelledBit> companions_of(FeatureChain& chain) {
#define QGEN_BIT(member) {#member, chain.member == VK_TRUE},
  return {QGEN_COMPANIONS(QGEN_BIT)};
#undef QGEN_BIT
}

bool FeatureProperties::computes_in_subgroups(VkSubgroupFeatureFlagBits operation) const {
  return (vulkan11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
         (vulkan11.subgroupSupportedOperations & operation) != 0;
}

bool FeatureProperties::preserves_float16_denormals() const {
  return vulkan12.shaderDenormPreserveFloat16 &&
         vulkan12.denormBehaviorIndependence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
}

bool FeatureProperties::allow(Feature feature) const {
  switch (feature) {
#define QGEN_FEATURE(name, capabilities, grant) \
  case Feature::name:                           \
    return grant;
#define BITS(...) true
#define PROPERTY(...) __VA_ARGS__
#include "vocabulary/feature_rows.inc"
    case Feature::count_: break;
  }
  return false;
}

std::vector<const char*> linked_extensions(const ExtensionSet& extensions, uint32_t api_version) {
  std::vector<const char*> names;
  for (const ExtensionRow& row : kExtensions) {
    if (row.name && is_linked(row, extensions, api_version)) names.push_back(row.name);
  }
  return names;
}

FeatureMask granted(FeatureChain& offered, const FeatureProperties& properties) {
  FeatureMask mask = 0;
  for (const FeatureRow& row : feature_table()) {
    if (are_all_set(offered.bits_of(row.feature)) && properties.allow(row.feature)) mask |= bit(row.feature);
  }
  if (!offered.has_spirv_1_4) mask &= ~kFeaturesOfSpirv1_4;
  return mask;
}

void enable_granted(FeatureChain& offered, FeatureChain& wanted, FeatureMask allowed) {
  for (const FeatureRow& row : feature_table()) {
    if (!(allowed & bit(row.feature)) || !are_all_set(offered.bits_of(row.feature))) continue;
    for (VkBool32& wanted_bit : wanted.bits_of(row.feature)) wanted_bit = VK_TRUE;
  }
  const Bits of_offered = companions(offered), of_wanted = companions(wanted);
  for (size_t i = 0; i < of_wanted.size(); ++i) of_wanted[i].get() = of_offered[i].get();
  wanted.spread();
}

void enable_robust_buffer_access(const FeatureChain& offered, FeatureChain& wanted) {
  wanted.features.features.robustBufferAccess = offered.features.features.robustBufferAccess;
}

void enable_pipeline_statistics(const FeatureChain& offered, FeatureChain& wanted) {
  wanted.executables.pipelineExecutableInfo = offered.executables.pipelineExecutableInfo;
}

}  // namespace qgen::vulkan
