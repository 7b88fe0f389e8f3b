// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small families and made-up times: which variants stay. A kernel's words are those of its id, so that the examples are
// readable: `scale` copies with and without vectors, in f32 and f16; `total` is a recipe of two steps of `part`;
// `layer` is two recipes for one weight in two forms.
#include "codegen/prune/prune.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/prune/alternatives.h"
#include "codegen/spec/parse_spec.h"
#include "runtime/engine/library/blob_format.h"
#include "runtime/engine/selector/force.h"
#include "tests/support/expected_text.h"
#include "vocabulary/features.h"

namespace qgen::prune {
namespace {

using testing::ElementsAre;

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

constexpr std::string_view kSlow = R"(kernel: slow
template: slow.comp
operands:
  input:  {access: read, dtype: i8}
  weight: {access: read, dtype: i8, layout: weight_q8_4k4n}
  output: {access: write, dtype: i32, layout: strided}
problem: {k: u32, words: u32}
applies_when: [k <= 1000000 or not device.is_cpu, words <= 4294901760]
grid: [1, 1, 1]
)";
constexpr std::string_view kFast = R"(kernel: fast
template: fast.comp
operands:
  input:  {access: read, dtype: i8}
  weight: {access: read, dtype: i8, layout: weight_q8_rows}
  output: {access: write, dtype: i32}
problem: {units: u32}
parameters: {step: [16, 64]}
applies_when: [units % step == 0, 4 * units <= 65536]
grid: [1, 1, 1]
)";
constexpr std::string_view kLayer = R"(operator: layer
operands:
  input:  {access: read, dtype: i8, shape: [K]}
  weight: {access: read, dtype: i8, layout: $form, shape: [N, K], weight: true}
  output: {access: write, dtype: i32, shape: [N]}
problem: {n: u32, k: u32}
parameters: {form: [weight_q8_4k4n, weight_q8_rows]}
recipes:
  slow: {steps: [{kernel: slow, problem: {words: n}}]}
  fast: {steps: [{kernel: fast, problem: {units: k}}]}
)";

class Prune : public testing::Test {
 protected:
  Prune() {
    for (const auto& [name, yaml] : {std::pair("fast", kFast),
                                     {"layer", kLayer},
                                     {"part", kPart},
                                     {"scale", kScale},
                                     {"slow", kSlow},
                                     {"total", kTotal}}) {
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
    std::vector<uint64_t> digests;
    for (const std::string& step : selector::step_ids(choice)) digests.push_back(kernel(step).module_digest);
    return blob_format::checksum(std::as_bytes(std::span(digests)));
  }

  Pruned pruned(double loss, bool keeps_unmeasured = false) {
    tunings_.clear();
    for (size_t i = 0; i < files_.size(); ++i) {
      std::ranges::sort(files_[i].rows, {}, [](const auto& row) { return std::tie(row.problem, row.us); });
      tunings_.push_back(emit::check_tuning(fmt::format("gpu{}", i), files_[i], families_));
      EXPECT_EQ(tunings_.back().rows.size(), files_[i].rows.size());
    }
    return prune(families_, tunings_, {loss, keeps_unmeasured});
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

constexpr const char* kFew = "scale numel=8 width=8 input=f32:strided output=f32:strided";
constexpr const char* kMany = "scale numel=4096 width=4096 input=f32:strided output=f32:strided";
constexpr const char* kTotalProblem = "total numel=1024 input=f32:strided output=f32:strided";

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
  measure(kTotalProblem, "total.two_pass(part.first.vec4, part.last.vec1)", 5);
  measure(kTotalProblem, "total.two_pass(part.first.vec1, part.last.vec1)", 9);
  EXPECT_THAT(kept(0.03, "part"), ElementsAre("first.vec1", "first.vec4", "last.vec1"));
  EXPECT_THAT(kept(1.00, "part"), ElementsAre("first.vec1", "last.vec1"));
}

// The other operators are reduced to the kernels that they run, or left whole.
TEST_F(Prune, KnowsOperatorsOfWhichNothingWasMeasured) {
  measure(kTotalProblem, "total.two_pass(part.first.vec1, part.last.vec1)", 5);
  const Pruned some = pruned(0.03);
  EXPECT_THAT(kept(some, "scale"), ElementsAre("f16.vec1.not_fast", "f32.vec1.not_fast"));
  EXPECT_THAT(some.unmeasured, ElementsAre("layer", "scale"));
  const Pruned whole = pruned(0.03, true);
  EXPECT_EQ(kept(whole, "scale").size(), 12U);
  EXPECT_EQ(kept(whole, "fast").size(), 2U);
  EXPECT_THAT(kept(whole, "part"), ElementsAre("first.vec1", "last.vec1"));
  EXPECT_THAT(whole.unmeasured, ElementsAre("layer", "scale"));
}

// One recipe replaces another if the weight can have its form; its family still keeps a variant.
TEST_F(Prune, LetsAnotherRecipeServe) {
  measure(kTotalProblem, "total.two_pass(part.first.vec1, part.last.vec1)", 5);
  const Pruned some = pruned(0.03);
  EXPECT_THAT(kept(some, "fast"), ElementsAre("step16"));
  measure("layer n=64 k=64 input=i8:strided weight=i8:weight_q8_4k4n|weight_q8_rows output=i32:strided",
          "layer.fast(fast.step64)", 5);
  EXPECT_THAT(kept(0.03, "fast"), ElementsAre("step64"));
}

// Modules that variants share cost nothing a second time.
TEST_F(Prune, CountsModulesOnce) {
  for (const char* id : {"scale.f32.vec2.fast", "scale.f32.vec2.not_fast"}) kernel(id).module_digest = 7;
  kernel("scale.f32.vec4.fast").module_bytes = 2000;
  kernel("scale.f32.vec2.fast").module_bytes = 2100;
  measure(kMany, "scale.f32.vec4.fast/workgroup64", 10);
  measure(kMany, "scale.f32.vec2.fast/workgroup64", 10);
  EXPECT_THAT(kept(0.03, "scale"), ElementsAre("f16.vec1.not_fast", "f32.vec1.not_fast", "f32.vec4.fast"));
  measure(kFew, "scale.f32.vec2.not_fast/workgroup64", 10);
  EXPECT_THAT(kept(0.03, "scale"),
              ElementsAre("f16.vec1.not_fast", "f32.vec1.not_fast", "f32.vec2.fast", "f32.vec2.not_fast"));
}

TEST_F(Prune, TellsWhatGoesAndWhatIsLost) {
  measure(kFew, "scale.f32.vec4.not_fast/workgroup64", 10);
  measure(kFew, "scale.f32.vec1.not_fast/workgroup64", 10.2);
  measure(kMany, "scale.f32.vec1.not_fast/workgroup64", 10);
  EXPECT_TEXT(to_text(pruned(0.03), families_, {.loss = 0.03}, false),
              "pruned at 3 %: 6 of 19 variants stay, 6 of 19 modules, SPIR-V 0.01 MB of 0.03 MB\n"
              "  fast: 1 of 2 variants stay, 1 of 2 modules, SPIR-V 0.00 MB of 0.00 MB\n"
              "  part: 2 of 4 variants stay, 2 of 4 modules, SPIR-V 0.00 MB of 0.01 MB\n"
              "  scale: 2 of 12 variants stay, 2 of 12 modules, SPIR-V 0.00 MB of 0.03 MB\n"
              "  predicted loss on gpu0: 1.00 % on average of 2 problems, 2.00 % at most\n"
              "  operators without a measured problem keep only variants without which they could not run: layer, "
              "total\n");
  const Options options{.loss = 0.03, .keeps_unmeasured = true};
  EXPECT_THAT(
      to_text(pruned(0.03, true), families_, options, true),
      testing::AllOf(testing::HasSubstr("MB; without\n    scale.f16.vec1.fast\n"),
                     testing::HasSubstr("  operators without a measured problem keep all variants: layer, total\n")));
}

// ---- what stands in for what ----------------------------------------------------------------------------------------

struct StandInCase {
  std::string_view name;
  std::string_view one, other;  // kernels of one form of operands
  void (*change)(emit::Kernel& one);
  bool expected;
};

constexpr StandInCase kStandIns[] = {
    {"a condition that always holds", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast", [](emit::Kernel&) {}, true},
    {"one that may fail", "scale.f32.vec4.not_fast", "scale.f32.vec1.not_fast", [](emit::Kernel&) {}, false},
    {"the same one", "scale.f32.vec4.not_fast", "scale.f32.vec4.fast", [](emit::Kernel&) {}, true},
    {"one that follows", "scale.f32.vec2.not_fast", "scale.f32.vec4.not_fast", [](emit::Kernel&) {}, true},
    {"one more", "scale.f32.vec4.fast", "scale.f32.vec4.not_fast", [](emit::Kernel&) {}, false},
    {"a feature", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast",
     [](emit::Kernel& k) { k.interface.needs = bit(Feature::shader_float16); }, false},
    {"what every device has", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast",
     [](emit::Kernel& k) {
       k.resources[0].shared_bytes = 16384;
       k.interface.bindings.resize(16);
     },
     true},
    {"memory", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast",
     [](emit::Kernel& k) {
       for (auto& row : k.resources) row.shared_bytes = 16385;
     },
     false},
    // 64 would serve, but that is no condition of the other's: `256 <= device.max_workgroup_invocations` is.
    {"memory of one workgroup", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast",
     [](emit::Kernel& k) { k.resources[1].shared_bytes = 16385; }, false},
    {"a matrix", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast",
     [](emit::Kernel& k) {
       for (auto& row : k.resources) row.cooperative_matrices.resize(1);
     },
     false},
    {"a subgroup size", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast",
     [](emit::Kernel& k) { k.variant.subgroup_size = 32; }, false},
    {"a buffer", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast",
     [](emit::Kernel& k) { k.interface.bindings.resize(17); }, false},
    {"push constants", "scale.f32.vec1.not_fast", "scale.f32.vec4.fast",
     [](emit::Kernel& k) { k.interface.push_constants_bytes = 129; }, false},
    {"another recipe, whose bounds follow", "slow", "fast.step16", [](emit::Kernel&) {}, true},
    {"another recipe, a condition that may fail", "fast.step16", "slow", [](emit::Kernel&) {}, false},
};

// Of two kernels alone: whether the first is all that has to stay.
TEST_F(Prune, ProvesWhatStandsIn) {
  const std::vector<emit::Family> all = families_;
  for (const StandInCase& row : kStandIns) {
    families_ = all;
    row.change(kernel(row.one));
    for (emit::Family& family : families_) {
      std::erase_if(family.kernels, [&](const emit::Kernel& kernel) {
        return kernel.variant.id != row.one && kernel.variant.id != row.other;
      });
    }
    std::vector<Demand> demands;
    for (const OperatorDemands& of_operator : demands_of_operators(families_)) {
      demands.insert(demands.end(), of_operator.demands.begin(), of_operator.demands.end());
    }
    const auto needs = [&](std::string_view id) {
      return std::ranges::any_of(demands, [&](const Demand& demand) {
        return std::ranges::all_of(demand, [&](const KernelSet& set) {
          return std::ranges::any_of(set, [&](const emit::KernelIndex& place) {
            return families_[place.family].kernels[place.kernel].variant.id == id;
          });
        });
      });
    };
    EXPECT_EQ(!needs(row.other), row.expected) << row.name;
  }
}

TEST_F(Prune, StepsTakeWhatTheySay) {
  const auto operators = demands_of_operators(families_);
  const auto total = std::ranges::find_if(operators, [&](const OperatorDemands& of_operator) {
    return families_[of_operator.family].spec->name.value == "total";
  });
  ASSERT_NE(total, operators.end());
  ASSERT_EQ(total->demands.size(), 1U);
  std::vector<std::string> ids;
  for (const emit::KernelIndex& place : total->demands[0].at(0)) {
    ids.push_back(families_[place.family].kernels[place.kernel].variant.id);
  }
  EXPECT_THAT(ids, ElementsAre("part.first.vec1", "part.last.vec1"));
}

}  // namespace
}  // namespace qgen::prune
