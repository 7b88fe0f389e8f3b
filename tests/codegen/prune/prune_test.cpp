// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small families and made-up times: which variants stay. A kernel's words are what its id says, so that the examples
// can be read: `scale` copies with and without vectors, in f32 and f16; `total` is a recipe of two steps of `part`.
#include "codegen/prune/prune.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/prune/stands_in.h"
#include "codegen/spec/parse_spec.h"
#include "runtime/library/blob_format.h"
#include "vocabulary/features.h"

namespace qgen::prune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kScale = R"(operator: scale
template: scale.comp
operands:
  input:  {access: read,  dtype: $dtype}
  output: {access: write, dtype: $dtype}
problem: {numel: u32, width: u32}
parameters:
  dtype: [f32, f16]
  vec: [1, 2, 4]
  fast: [true, false]
specialization: {workgroup: [64, 256]}
applies_when: [numel % vec == 0, not fast or width >= 64]
require_device: [workgroup <= device.max_workgroup_invocations]
grid: [1, 1, 1]
)";
constexpr std::string_view kPart = R"(kernel: part
template: part.comp
operands:
  input: {access: read, dtype: f32}
  sums: {access: write, dtype: f32}
problem: {numel: u32}
parameters:
  stage: [first, last]
  vec: [1, 4]
applies_when: [numel % vec == 0]
grid: [1, 1, 1]
)";
constexpr std::string_view kTotal = R"(operator: total
operands:
  input: {access: read, dtype: f32}
  output: {access: write, dtype: f32}
problem: {numel: u32}
recipes:
  two_pass:
    scratch: {sums: {dtype: f32, elements: numel}}
    steps:
      - {kernel: part, with: {stage: first}}
      - {kernel: part, operands: {input: sums, sums: output}, with: {stage: last}}
)";

class Prune : public testing::Test {
 protected:
  Prune() {
    for (const auto& [name, yaml] : {std::pair("part", kPart), {"scale", kScale}, {"total", kTotal}}) {
      auto spec = spec::parse_spec(yaml, fmt::format("{}.yaml", name));
      if (!spec) ADD_FAILURE() << to_text(spec.error(), {});
      specs_.push_back(*std::move(spec));
    }
    for (const spec::Spec& spec : specs_) families_.push_back(family_of(spec));
  }

  static emit::Family family_of(const spec::Spec& spec) {
    emit::Family family{&spec, spec.file, {}};
    if (!spec.template_path) return family;
    const auto variants = expand::expand(spec, 1000);
    for (const expand::Variant& variant : *variants) {
      emit::Kernel kernel;
      kernel.variant = variant;
      const bool is_f16 = variant.id.find("f16") != std::string::npos;
      if (is_f16) kernel.interface.needs = bit(Feature::shader_float16);
      for (const auto& row : emit::specialization_rows(spec)) {
        kernel.resources.push_back({{row.empty() ? 64 : row[0], 1, 1}, 0, {}});
      }
      kernel.module_digest = std::hash<std::string>()(variant.id);
      kernel.module_bytes = static_cast<uint32_t>(100 * variant.id.size());
      family.kernels.push_back(std::move(kernel));
    }
    return family;
  }

  emit::Kernel& kernel(std::string_view id) {
    for (emit::Family& family : families_) {
      for (emit::Kernel& kernel : family.kernels) {
        if (kernel.variant.id == id) return kernel;
      }
    }
    ADD_FAILURE() << id;
    return families_[0].kernels[0];
  }

  // "scale.f32.vec4.fast/workgroup64"
  void measure(std::string problem, std::string choice, double us, size_t device = 0) {
    files_.resize(std::max(files_.size(), device + 1));
    files_[device].rows.push_back({std::move(problem), choice, digest_of(choice), us, us, us, "2026-11-23", ""});
  }
  uint64_t digest_of(const std::string& choice) {
    const size_t begin = choice.find('(');
    if (begin == choice.npos) return kernel(choice.substr(0, choice.find('/'))).module_digest;
    const size_t comma = choice.find(", ");
    const uint64_t digests[] = {kernel(choice.substr(begin + 1, comma - begin - 1)).module_digest,
                                kernel(choice.substr(comma + 2, choice.size() - comma - 3)).module_digest};
    return blob_format::checksum(std::as_bytes(std::span(digests)));
  }

  Pruned pruned(double loss) {
    tunings_.clear();
    for (size_t i = 0; i < files_.size(); ++i) {
      std::ranges::sort(files_[i].rows, {}, [](const auto& row) { return std::tie(row.problem, row.us); });
      tunings_.push_back(emit::check_tuning(fmt::format("gpu{}", i), files_[i], families_));
      EXPECT_EQ(tunings_.back().rows.size(), files_[i].rows.size());
    }
    return prune(families_, tunings_, loss);
  }
  std::vector<std::string> kept(double loss, std::string_view family) { return kept(pruned(loss), family); }
  std::vector<std::string> kept(const Pruned& pruned, std::string_view family) const {
    std::vector<std::string> ids;
    for (size_t f = 0; f < families_.size(); ++f) {
      for (size_t k = 0; k < families_[f].kernels.size(); ++k) {
        const std::string& id = families_[f].kernels[k].variant.id;
        if (pruned.kept[f][k] && id.starts_with(family)) ids.push_back(id.substr(family.size() + 1));
      }
    }
    return ids;
  }

  std::vector<spec::Spec> specs_;
  std::vector<emit::Family> families_;
  std::vector<tuning::TuningFile> files_;
  std::vector<emit::CheckedTuning> tunings_;
};

constexpr const char* kFew = "scale numel=8 width=8";
constexpr const char* kMany = "scale numel=4096 width=4096";

// Each of the two forms of operands has one variant that takes all problems; it need not be the fast one.
TEST_F(Prune, KeepsWhatServesEveryProblemAndNoMore) {
  measure(kMany, "scale.f32.vec4.fast/workgroup64", 10);
  measure(kMany, "scale.f32.vec2.fast/workgroup64", 12);
  measure(kMany, "scale.f32.vec1.not_fast/workgroup64", 30);
  EXPECT_THAT(kept(0.03, "scale"), ElementsAre("f16.vec1.not_fast", "f32.vec1.not_fast", "f32.vec4.fast"));
  EXPECT_THAT(kept(0.10, "scale"), ElementsAre("f16.vec1.not_fast", "f32.vec1.not_fast", "f32.vec4.fast"));
  EXPECT_THAT(kept(2.00, "scale"), ElementsAre("f16.vec1.not_fast", "f32.vec1.not_fast"));
}

TEST_F(Prune, SharesVariantsAmongProblemsAndDevices) {
  measure(kFew, "scale.f32.vec4.not_fast/workgroup64", 10);
  measure(kFew, "scale.f32.vec2.not_fast/workgroup64", 10.2);
  measure(kMany, "scale.f32.vec4.fast/workgroup64", 10);
  measure(kMany, "scale.f32.vec2.not_fast/workgroup256", 10.2);
  measure(kMany, "scale.f32.vec2.not_fast/workgroup64", 10, 1);
  EXPECT_THAT(kept(0.03, "scale"), ElementsAre("f16.vec1.not_fast", "f32.vec1.not_fast", "f32.vec2.not_fast"));
  const Pruned exact = pruned(0);
  EXPECT_THAT(kept(exact, "scale"), ElementsAre("f16.vec1.not_fast", "f32.vec1.not_fast", "f32.vec2.not_fast",
                                                "f32.vec4.fast", "f32.vec4.not_fast"));
  EXPECT_EQ(exact.losses[0].worst, 0);
}

TEST_F(Prune, CountsTheStepsOfARecipe) {
  measure("total numel=1024", "total.two_pass(part.first.vec4, part.last.vec1)", 5);
  measure("total numel=1024", "total.two_pass(part.first.vec1, part.last.vec1)", 9);
  EXPECT_THAT(kept(0.03, "part"), ElementsAre("first.vec1", "first.vec4", "last.vec1"));
  EXPECT_THAT(kept(1.00, "part"), ElementsAre("first.vec1", "last.vec1"));
}

TEST_F(Prune, LeavesFamiliesWholeOfWhichNothingIsKnown) {
  measure("total numel=1024", "total.two_pass(part.first.vec1, part.last.vec1)", 5);
  const Pruned some = pruned(0.03);
  EXPECT_EQ(kept(some, "scale").size(), 12U);
  EXPECT_THAT(some.unmeasured, ElementsAre("scale"));
}

TEST_F(Prune, TellsWhatGoesAndWhatIsLost) {
  measure(kFew, "scale.f32.vec4.not_fast/workgroup64", 10);
  measure(kFew, "scale.f32.vec1.not_fast/workgroup64", 10.2);
  measure(kMany, "scale.f32.vec1.not_fast/workgroup64", 10);
  EXPECT_EQ(to_text(pruned(0.03), families_, 0.03, false),
            "pruned at 3 %: 6 of 16 variants stay, SPIR-V 0.01 MB of 0.03 MB\n"
            "  scale: 2 of 12 stay, 0.00 MB of 0.03 MB\n"
            "  predicted loss on gpu0: 1.00 % on average of 2 problems, 2.00 % at most\n"
            "  whole, since no problem of theirs was measured: part\n");
  EXPECT_THAT(to_text(pruned(0.03), families_, 0.03, true),
              testing::HasSubstr("MB; without\n    scale.f16.vec1.fast\n"));
}

// ---- what stands in for what ----------------------------------------------------------------------------------------

struct StandInCase {
  std::string_view name;
  std::string_view one, other;
  void (*change)(emit::Kernel& one);
  bool expected;
};

constexpr StandInCase kStandIns[] = {
    {"a condition that always holds", "f32.vec1.not_fast", "f32.vec4.fast", [](emit::Kernel&) {}, true},
    {"one that may fail", "f32.vec4.not_fast", "f32.vec1.not_fast", [](emit::Kernel&) {}, false},
    {"the same one", "f32.vec4.not_fast", "f32.vec4.fast", [](emit::Kernel&) {}, true},
    {"one more", "f32.vec4.fast", "f32.vec4.not_fast", [](emit::Kernel&) {}, false},
    {"other operands", "f32.vec1.not_fast", "f16.vec1.not_fast", [](emit::Kernel&) {}, false},
    {"a feature", "f32.vec1.not_fast", "f32.vec4.fast",
     [](emit::Kernel& k) { k.interface.needs = bit(Feature::shader_float16); }, false},
    {"what every device has", "f32.vec1.not_fast", "f32.vec4.fast",
     [](emit::Kernel& k) {
       k.resources[0].shared_bytes = 16384;
       k.interface.bindings.resize(4);
     },
     true},
    {"memory", "f32.vec1.not_fast", "f32.vec4.fast",
     [](emit::Kernel& k) {
       for (auto& row : k.resources) row.shared_bytes = 16385;
     },
     false},
    // 64 would serve, but that is no condition of the other's: `256 <= device.max_workgroup_invocations` is.
    {"memory of one workgroup", "f32.vec1.not_fast", "f32.vec4.fast",
     [](emit::Kernel& k) { k.resources[1].shared_bytes = 16385; }, false},
    {"a matrix", "f32.vec1.not_fast", "f32.vec4.fast",
     [](emit::Kernel& k) {
       for (auto& row : k.resources) row.cooperative_matrices.resize(1);
     },
     false},
    {"a subgroup size", "f32.vec1.not_fast", "f32.vec4.fast", [](emit::Kernel& k) { k.variant.subgroup_size = 32; },
     false},
    {"a buffer", "f32.vec1.not_fast", "f32.vec4.fast", [](emit::Kernel& k) { k.interface.bindings.resize(5); }, false},
    {"push constants", "f32.vec1.not_fast", "f32.vec4.fast",
     [](emit::Kernel& k) { k.interface.push_constants_bytes = 129; }, false},
};

TEST_F(Prune, ProvesWhatStandsIn) {
  for (const StandInCase& row : kStandIns) {
    emit::Family family = families_[1];
    const auto place = [&](std::string_view id) {
      const auto found = std::ranges::find_if(
          family.kernels, [&](const emit::Kernel& kernel) { return kernel.variant.id == fmt::format("scale.{}", id); });
      return static_cast<size_t>(found - family.kernels.begin());
    };
    row.change(family.kernels[place(row.one)]);
    EXPECT_EQ(stand_ins(family, families_)[place(row.one)][place(row.other)], row.expected) << row.name;
  }
}

TEST_F(Prune, StepsTakeWhatTheySay) {
  const auto stands_in = stand_ins(families_[0], families_);  // first.vec1, first.vec4, last.vec1, last.vec4
  EXPECT_THAT(stands_in[0], ElementsAre(true, true, false, false));
  EXPECT_THAT(stands_in[2], ElementsAre(false, false, true, true));
}

}  // namespace
}  // namespace qgen::prune
