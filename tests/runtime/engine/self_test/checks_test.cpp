// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The checks against a device that is a function: one that computes right, and ones with the faults that drivers had.
#include "runtime/engine/self_test/checks.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/expected_text.h"

namespace qgen::self_test {
namespace {

using ::testing::HasSubstr;
using Verdict = Finding::Verdict;
using Words = std::vector<uint32_t>;

DeviceProfile device(int64_t subgroup_size = 32) {
  DeviceProfile profile;
  profile.name = "Example GPU 1";
  profile.features = ~FeatureMask{0};
  profile.numbers.subgroup_size = subgroup_size;
  profile.min_subgroup_size = profile.max_subgroup_size = static_cast<uint32_t>(subgroup_size);
  profile.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                                  {16, 8, 16, DType::f16, DType::f16, DType::f32, DType::f32, false},
                                  {16, 16, 16, DType::f16, DType::f16, DType::f16, DType::f16, false}};
  return profile;
}

// A device that computes right, and then lets `spoil` change what it got.
std::vector<Finding> findings_of(const DeviceProfile& profile, const std::function<void(const Task&, Words&)>& spoil) {
  return check_all(profile, [&](const Task& task) {
    Words output = ideal(profile, task);
    EXPECT_EQ(output.size(), task.outputs) << task.kernel;
    spoil(task, output);
    return Expected<Words>(std::move(output));
  });
}

std::vector<Finding> wrong_of(std::vector<Finding> findings) {
  std::erase_if(findings, [](const Finding& finding) { return finding.verdict != Verdict::wrong; });
  return findings;
}

TEST(SelfTest, ADeviceThatComputesRightPasses) {
  for (const int64_t size : {1, 4, 8, 16, 32, 64, 128}) {
    const auto findings = findings_of(device(size), [](const Task&, Words&) {});
    EXPECT_GE(findings.size(), 19U);
    for (const Finding& finding : findings) {
      EXPECT_EQ(finding.verdict, Verdict::works) << finding.name << ": " << finding.text << ", subgroups of " << size;
    }
  }
}

// A bit of each output alone is changed: no result of a check is left unread. Exceptions: a NaN, which has many forms,
// and the zero that stands for "not elected".
TEST(SelfTest, EveryResultIsCompared) {
  const auto tasks = [] {
    std::vector<Task> all;
    findings_of(device(), [&](const Task& task, Words&) { all.push_back(task); });
    return all;
  }();
  for (const Task& spoiled : tasks) {
    if (spoiled.kernel.ends_with("half_rounding_u32")) continue;
    for (size_t i = 0; i < spoiled.outputs; i += std::max<size_t>(1, spoiled.outputs / 50)) {
      const Words right = ideal(device(), spoiled);
      const bool is_nan =
          spoiled.kernel.find("hal") != std::string::npos || spoiled.kernel.find("denormals") != std::string::npos;
      if (is_nan && (right[i] & 0x7f800000U) == 0x7f800000U) continue;
      if (spoiled.kernel.ends_with("subgroups_u32") && i % 5 == 4) continue;
      const auto wrong = wrong_of(findings_of(device(), [&](const Task& task, Words& output) {
        if (task.kernel == spoiled.kernel) output[i] ^= 1U << 30U;
      }));
      EXPECT_EQ(wrong.size(), 1U) << spoiled.kernel << " output " << i;
    }
  }
}

struct Fault {
  const char* name;
  std::string_view kernel;  // the tasks whose kernel begins so
  void (*spoil)(const Task& task, Words& output);
  FeatureMask features;
  const char* text;  // a part of the finding's
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

void tiles_at_offset_0(const Task& task, Words& output) {
  const size_t elements = output.size() / 8;
  for (size_t i = elements; i < output.size(); ++i) output[i] = output[i % elements];
  (void)task;
}
void unsigned_products(const Task& task, Words& output) {
  for (size_t i = 0; i < output.size(); ++i) {
    output[i] = 0;
    for (uint32_t lane = 0; lane < 32; lane += 8) {
      output[i] += (task.input[2 * i] >> lane & 0xffU) * (task.input[2 * i + 1] >> lane & 0xffU);
    }
  }
}
void bytes_without_sign(const Task&, Words& output) {
  for (size_t i = 0; i < output.size(); ++i) output[i] = i % 5 == 4 ? output[i] : output[i] & 0xffU;
}
void last_byte_of_each_word(const Task&, Words& output) {
  for (size_t i = 0; i < output.size(); ++i) output[i] = i % 4 == 3 ? output[i] : 0xa5;
}
void first_half_of_each_word(const Task&, Words& output) {
  for (size_t i = 1; i < output.size(); i += 2) output[i] = output[i - 1];
}
void flushed_halves(const Task&, Words& output) {
  for (uint32_t& word : output) word = (word & 0x7fffffffU) < 0x38800000U ? 0 : word;
}
void inactive_invocations_count(const Task&, Words& output) {
  for (size_t i = 0; i < output.size(); i += 7) {
    for (size_t r = 1; r < 4; ++r) output[i + r + 3] = i / 7 % 3 == 0 ? 0 : output[i + r];
  }
}
void other_size(const Task&, Words& output) {
  for (size_t i = 0; i < output.size(); i += 5) output[i] = 16;
}
void two_leaders(const Task& task, Words& output) { output[9] = task.input[1]; }
void votes_of_all(const Task&, Words& output) {
  for (size_t i = 1; i < output.size(); i += 5) output[i] = 1;
}
void one_too_far(const Task&, Words& output) { output[0] += 2; }
void high_word_lost(const Task&, Words& output) {
  for (size_t i = 1; i < output.size(); i += 2) output[i] = 0;
}
void one_round_late(const Task&, Words& output) {
  for (size_t i = output.size() - 1; i >= 64; --i) output[i] = output[i - 64];
}
void no_fused_sum(const Task&, Words& output) {
  for (size_t i = 2; i < output.size(); i += 4) output[i] = output[i - 1];
}

const Fault kFaults[] = {
    {"every load of a matrix is that of offset 0", "check_matrix.i8", tiles_at_offset_0, 0,
     "with factors from shared memory at offset 80, element (0, 0) is "},
    {"of f16 too", "check_matrix.f16", tiles_at_offset_0, 0, "at offset 80"},
    {"dot products of unsigned bytes", "check_feature.dot_products", unsigned_products,
     bit(Feature::integer_dot_product), ": the result is 0x"},
    {"bytes unpack without their sign", "check_feature.int8", bytes_without_sign, bit(Feature::shader_int8),
     "0x80: result 1 is 0x80, not 0xffffff80"},
    {"a store of a byte clears its word", "check_feature.bytes_in_buffers", last_byte_of_each_word,
     bit(Feature::storage_buffer_8bit), "element 0 is 0xa5"},
    {"a store of a half writes its word", "check_feature.halves_in_buffers", first_half_of_each_word,
     bit(Feature::storage_buffer_16bit), "element 1 is"},
    {"subnormal halves are lost", "check_feature.float16_denormals", flushed_halves, bit(Feature::float16_denormals),
     "is 0x0, not 0x33800000"},
    {"inactive invocations are summed", "check_feature.subgroup_sums", inactive_invocations_count,
     bit(Feature::subgroup_arithmetic), "with a third of the invocations inactive, a sum is"},
    {"subgroups of another size", "check_feature.subgroups", other_size,
     bit(Feature::subgroup_basic) | bit(Feature::subgroup_arithmetic) | bit(Feature::subgroup_vote),
     "a subgroup has 16 invocations, and the device says 32 to 32"},
    {"two leaders", "check_feature.subgroups", two_leaders,
     bit(Feature::subgroup_basic) | bit(Feature::subgroup_arithmetic) | bit(Feature::subgroup_vote),
     "2 invocations of subgroup 0 are elected"},
    {"votes are always won", "check_feature.subgroup_votes", votes_of_all, bit(Feature::subgroup_vote),
     "in subgroup 0, subgroupAll is 1, not 0"},
    {"a rounding past the neighbours", "check_feature.half_rounding", one_too_far, 0, "the result is"},
    {"64-bit integers of 32 bits", "check_feature.int64", high_word_lost, bit(Feature::shader_int64),
     "result 2 is 0x0"},
    {"a barrier that does not wait", "check_feature.shared_memory", one_round_late, 0, "the result is"},
    {"a multiply-add that does not add", "check_feature.float16_u32", no_fused_sum, bit(Feature::shader_float16),
     "result 3 is"},
};

class Faults : public ::testing::TestWithParam<Fault> {};

TEST_P(Faults, IsFound) {
  const Fault& fault = GetParam();
  const auto wrong = wrong_of(findings_of(device(), [&](const Task& task, Words& output) {
    if (task.kernel.starts_with(fault.kernel)) fault.spoil(task, output);
  }));
  ASSERT_EQ(wrong.size(), 1U) << to_text(wrong);
  EXPECT_EQ(wrong[0].features, fault.features);
  EXPECT_EQ(wrong[0].shapes.size(), fault.kernel.starts_with("check_matrix") ? 1U : 0U);
  EXPECT_THAT(wrong[0].text, HasSubstr(fault.text));
}
INSTANTIATE_TEST_SUITE_P(SelfTest, Faults, ::testing::ValuesIn(kFaults),
                         [](const auto& row) { return std::to_string(row.index); });

// What Vulkan allows is no fault.
TEST(SelfTest, AllowsWhatVulkanAllows) {
  const auto findings = findings_of(device(), [](const Task& task, Words& output) {
    const bool flushes = task.kernel.ends_with(".halves_u32") || task.kernel.ends_with("float_denormals_u32");
    if (!flushes) return;
    for (size_t i = 0; i < output.size(); ++i) {
      const bool is_pair = task.kernel.ends_with(".halves_u32") && i % 3 == 2;
      const uint32_t least = task.kernel.ends_with(".halves_u32") ? 0x38800000U : 0x00800000U;
      if (!is_pair && (output[i] & 0x7fffffffU) < least) output[i] &= 0x80000000U;
    }
  });
  EXPECT_TRUE(wrong_of(findings).empty()) << to_text(wrong_of(findings));
  const auto text = to_text(findings);
  EXPECT_THAT(text, HasSubstr("f16 in words                  flushes subnormal halves\n"));
  EXPECT_THAT(text, HasSubstr("rounding to f16               to nearest, ties to even\n"));
}

TEST(SelfTest, AFailingKernelIsWrongAndALackIsNone) {
  const auto findings = check_all(device(), [](const Task& task) -> Expected<Words> {
    if (task.kernel.starts_with("check_feature.int8")) return Error{Error::Kind::device, "the device is lost", ""};
    if (task.kernel.starts_with("check_feature.int64"))
      return Error{Error::Kind::unsupported, "needs shader_int64", ""};
    return ideal(device(), task);
  });
  const auto wrong = wrong_of(findings);
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_EQ(wrong[0].features, bit(Feature::shader_int8));
  EXPECT_EQ(wrong[0].text, "the device is lost");
  EXPECT_THAT(to_text(findings), HasSubstr("  not there  shader_int64                  needs shader_int64\n"));
}

TEST(SelfTest, AWrongFeatureIsNotInTheProfile) {
  const auto findings = findings_of(device(), [](const Task& task, Words& output) {
    if (task.kernel.starts_with("check_feature.dot_products") || task.kernel.starts_with("check_matrix.i8"))
      output[0] ^= 1U;
  });
  const DeviceProfile left = without_wrong(device(), findings);
  EXPECT_EQ(left.distrusted, bit(Feature::integer_dot_product));
  EXPECT_EQ(left.features, ~FeatureMask{0} & ~bit(Feature::integer_dot_product));
  EXPECT_EQ(left.cooperative_matrices.size(), 2U);
}

TEST(SelfTest, ForPrograms) {
  EXPECT_TEXT(to_json({{Verdict::wrong, "shader_int8", "0x80: result 1 is 0x80, not 0xffffff80"},
                       {Verdict::missing, "shader_int64", "needs shader_int64, which the device lacks"}}),
              R"([
  {"verdict": "wrong", "name": "shader_int8", "text": "0x80: result 1 is 0x80, not 0xffffff80"},
  {"verdict": "not there", "name": "shader_int64", "text": "needs shader_int64, which the device lacks"}
])");
}

}  // namespace
}  // namespace qgen::self_test
