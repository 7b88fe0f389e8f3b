// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The checks on a device: each kernel runs alone, so that one that fails leaves the others.
#include "runtime/engine/self_test/self_test.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/date.h"
#include "common/json/write.h"
#include "runtime/engine/dispatch/executor.h"
#include "runtime/engine/profiles/verdict.h"
#include "runtime/engine/selector/problem.h"
#include "runtime/engine/self_test/checks.h"

namespace qgen::self_test {
namespace {

using Verdict = Finding::Verdict;

constexpr uint8_t kPoison = 0xa5;

// Elements of 8 and 16 bits become bytes of a tensor, and back.
HostTensor tensor_of(DType dtype, const std::vector<uint32_t>& elements) {
  HostTensor tensor = zeros(dtype, {static_cast<int64_t>(elements.size())});
  for (size_t i = 0; i < elements.size(); ++i) set_element(tensor, static_cast<int64_t>(i), elements[i]);
  return tensor;
}

std::vector<uint32_t> elements_of(const HostTensor& tensor) {
  std::vector<uint32_t> elements(static_cast<size_t>(element_count(tensor.shape)));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<uint32_t>(element(tensor, static_cast<int64_t>(i)));
  }
  return elements;
}

class OnDevice {
 public:
  OnDevice(const DeviceProfile& profile, const KernelLibrary& library, Executor& executor)
      : profile_(profile), library_(library), executor_(executor) {}

  Expected<std::vector<uint32_t>> operator()(const Task& task) {
    const auto input = executor_.upload(tensor_of(task.dtype, task.input), Storage::buffer);
    if (!input) return input.error();
    const Shape shape = {static_cast<int64_t>(task.outputs)};
    const auto output = executor_.allocate(task.dtype, shape, Storage::buffer);
    if (!output) return output.error();
    if (Done filled = executor_.fill(*output, kPoison); !filled) return filled.error();
    if (Done ran = run(task, *input, *output); !ran) return ran.error();
    const auto result = executor_.download(*output);
    if (!result) return result.error();
    return elements_of(*result);
  }

 private:
  Done run(const Task& task, const DeviceTensor& input, const DeviceTensor& output) {
    const std::string family = task.kernel.substr(0, task.kernel.find('.'));
    const Problem problem =
        make_problem(*library_.find(family), std::as_bytes(std::span(&task.items, 1)), {input.desc(), output.desc()});
    const Selection selection = select(problem, profile_, library_, {.force = task.kernel});
    if (selection.ranked.empty()) {
      const std::string reason = selection.rejected.empty() ? "no kernel" : selection.rejected.front().reason;
      return Error{Error::Kind::unsupported, reason, ""};
    }
    auto recording = executor_.record(std::vector<Work>{{&selection.ranked.front(), {&input, &output}}});
    if (!recording) return failed(recording.error());
    if (Done ran = executor_.run(*recording); !ran) return failed(ran.error());
    return std::monostate{};
  }

  // The device says that it can run the kernel, so whatever is in the way is wrong, not missing.
  static Error failed(Error error) {
    error.kind = Error::Kind::device;
    error.message = "it does not run: " + error.message;
    return error;
  }

  const DeviceProfile& profile_;
  const KernelLibrary& library_;
  Executor& executor_;
};

Done check_library(const KernelLibrary& library) {
  for (const std::string_view name : {"check_feature", "check_matrix"}) {
    const OperatorInfo* const family = library.find(name);
    if (family && family->problem_bytes == sizeof(Task::items)) continue;
    return Error{Error::Kind::unsupported, fmt::format("the library has no kernels of '{}'", name),
                 "qgen_add_operators(... OPERATORS check_feature check_matrix) adds them"};
  }
  return std::monostate{};
}

profiles::Verdict verdict_of(const std::vector<Finding>& findings) {
  profiles::Verdict verdict{.date = today(), .wrong = {}};
  for (const Finding& finding : findings) {
    for (const FeatureRow& row : feature_table()) {
      if (finding.features & bit(row.feature)) verdict.wrong.push_back({row.feature, std::nullopt, finding.text});
    }
    for (const CooperativeMatrixShape& shape : finding.shapes) {
      verdict.wrong.push_back({std::nullopt, shape, finding.text});
    }
  }
  return verdict;
}

std::string_view word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::works: return "works";
    case Verdict::wrong: return "WRONG";
    case Verdict::missing: return "not there";
  }
  return "";
}

}  // namespace

Expected<std::vector<Finding>> run(const Device& device, const KernelLibrary& library) {
  if (Done has_kernels = check_library(library); !has_kernels) return has_kernels.error();
  auto executor = Executor::create(device, library, {.timeout_ms = 60'000});
  if (!executor) return executor.error();
  return check_all(device.profile(), OnDevice(device.profile(), library, *executor));
}

DeviceProfile without_wrong(const DeviceProfile& profile, const std::vector<Finding>& findings) {
  return profiles::with_verdict(profile, verdict_of(findings));
}

Expected<std::vector<Finding>> run_and_store(const Device& device, const KernelLibrary& library) {
  auto findings = run(device, library);
  if (!findings) return findings;
  if (Done stored = profiles::store_verdict(device.profile(), verdict_of(*findings)); !stored) return stored.error();
  return findings;
}

Expected<Checked> checked_profile(const Device& device, const KernelLibrary& library) {
  const profiles::StoredVerdict stored = profiles::stored_verdict(device.profile());
  if (stored.verdict) return Checked{profiles::with_verdict(device.profile(), *stored.verdict), true, ""};
  const auto findings = run(device, library);
  if (!findings) return findings.error();
  Checked checked{without_wrong(device.profile(), *findings), false, stored.warning};
  const Done kept = profiles::store_verdict(device.profile(), verdict_of(*findings));
  if (!kept) checked.warning = kept.error().message;
  return checked;
}

std::string to_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("  {:<9}  {:<28}  {}", word_of(finding.verdict), finding.name, finding.text);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string to_json(const std::vector<Finding>& findings) {
  auto list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    const std::string_view verdict = finding.verdict == Verdict::wrong ? "wrong" : word_of(finding.verdict);
    list.push_back({{"verdict", verdict}, {"name", finding.name}, {"text", finding.text}});
  }
  return json::to_text(list);
}

}  // namespace qgen::self_test
