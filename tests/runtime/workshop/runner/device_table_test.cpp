// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Which shipped operators the devices of devices/*.yaml, and devices with fewer features, can run. docs/device_table.md
// is the first part as a page; with QGEN_UPDATE_EXPECTED=1 in the environment, this test writes it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "common/files.h"
#include "registry.h"
#include "runtime/engine/device/device_mask.h"
#include "runtime/engine/selector/coverage.h"
#include "tests/support/shipped_devices.h"

namespace qgen::runner {
namespace {

constexpr std::string_view kHead = R"(# Devices and operators

<!-- written by tests/runtime/workshop/runner/device_table_test.cpp -->

For people who want to know which operators run on a device. Afterwards you know it for each
[device file](../devices/README.md), which has a column in the table. A cell is the number of variants and recipes of an
operator that the device can run. Each variant may be several kernels, with different workgroup sizes. Operators with
equal numbers share a row.

A cell has a second number if the device has no kernel for some [formats](glossary.md#tensors-and-numbers) of the
operands that a kernel on another device accepts. It counts combinations of formats, or for recipes the formats of each
operand.

This command prints, for one operator and one device, the reason why a kernel does not run:

```sh
build/release/runtime/qgen-run q8ta_relu --shape input=2x3:i8=-8..7 --set input_scale=1 --set output_scale=1 \
  --explain --device-file devices/adreno-660.yaml
```

)";

constexpr std::string_view kReasons = R"(
## Formats without a kernel

For each device and operator: the number of formats without a kernel. The last column has the first of them, with the
reason why a kernel with this format does not run.

)";

std::string stem(const std::string& path) {
  const size_t begin = path.rfind('/') + 1;
  return path.substr(begin, path.rfind('.') - begin);
}

std::string cell(const Coverage& coverage) {
  if (coverage.missing.empty()) return fmt::format("{}", coverage.kernels);
  return fmt::format("{}, {} formats missing", coverage.kernels, coverage.missing.size());
}

// Operators that the same kernels compute have equal rows, which become one.
std::string rows_text(const std::vector<std::pair<std::string, std::vector<std::string>>>& rows) {
  std::map<std::vector<std::string>, std::vector<std::string>> names;
  for (const auto& [name, cells] : rows) names[cells].push_back(fmt::format("`{}`", name));
  std::vector<std::string> lines;
  for (const auto& [cells, of_cells] : names) {
    lines.push_back(fmt::format("| {} | {} |\n", fmt::join(of_cells, " "), fmt::join(cells, " | ")));
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, ""));
}

// The least that Vulkan allows: no feature, and the limits that DeviceProfile begins with. Only of buffers it has more
// than four: of the devices in devices/, none has fewer than 30.
DeviceProfile least_device() {
  DeviceProfile device;
  device.name = "the least device";
  device.max_storage_buffers_per_stage = 30;
  device.numbers.subgroup_size = 4;
  return device;
}

constexpr uint64_t kGuaranteedBuffers = 4;  // by Vulkan
constexpr std::string_view kBuffers = R"(
## Storage buffers

Vulkan guarantees that a kernel can bind 4 storage buffers. Many kernels bind more: each tensor is a buffer, and so are
scales, zero points, sums of weights and biases. If a device allows fewer buffers than a kernel binds, the selector
refuses the kernel: "binds 6 storage buffers, and the device allows 4". Each device in the table above allows 30 or
more. `--limit storage_buffers_per_stage=4` tries such a device.

This table shows how many storage buffers a device must allow, so that the operator has a kernel for every combination
of formats in buffers. Some sizes of a problem may need a kernel that binds more.

| storage buffers | operators |
|---|---|
)";

// The device, allowing so many storage buffers, as `--limit storage_buffers_per_stage=COUNT` does.
DeviceProfile with_buffers(const DeviceProfile& device, uint64_t count) {
  const LimitRow* row = std::ranges::find(kLimits, std::string_view("storage_buffers_per_stage"), &LimitRow::name);
  return masked(device, DeviceMask{.limits = {{row, {count, count, count}}}});
}

// The number of storage buffers with which the least device covers as many formats as with 30.
uint64_t buffers_needed(const SignatureInfo& signature) {
  const size_t all = coverage_of(signature, least_device()).formats;
  uint64_t count = kGuaranteedBuffers;
  while (coverage_of(signature, with_buffers(least_device(), count)).formats < all) ++count;
  return count;
}

std::string buffers_text() {
  std::map<uint64_t, std::vector<std::string>> names;
  for (const SignatureInfo* signature : generated::library().signatures) {
    names[buffers_needed(*signature)].push_back(fmt::format("`{}`", signature->name));
  }
  std::string text(kBuffers);
  for (const auto& [count, of_count] : names) text += fmt::format("| {} | {} |\n", count, fmt::join(of_count, " "));
  return text;
}

std::string page() {
  const std::vector<std::string> files = tests::shipped_device_files();
  std::vector<std::string> columns;
  for (const std::string& file : files) columns.push_back(stem(file));
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
  std::string reasons;
  for (const SignatureInfo* signature : generated::library().signatures)
    rows.push_back({std::string(signature->name), {}});
  for (const std::string& file : files) {
    const auto device = profiles::load_device(file);
    if (!device) continue;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Coverage coverage = coverage_of(*generated::library().signatures[i], *device);
      rows[i].second.push_back(cell(coverage));
      if (coverage.missing.empty()) continue;
      reasons += fmt::format("| {} | `{}` | {} | {} |\n", stem(file), rows[i].first, coverage.missing.size(),
                             coverage.missing.front());
    }
  }
  std::string text(kHead);
  text += fmt::format("| operator | {} |\n|---|", fmt::join(columns, " | "));
  for (size_t i = 0; i < columns.size(); ++i) text += "---|";
  text += fmt::format("\n{}", rows_text(rows));
  if (reasons.empty()) {
    constexpr std::string_view kNone =
        "No cell has a second number: each of these devices has a kernel for every listed format of every operator.";
    return fmt::format("{}\n{}\n{}", text, kNone, buffers_text());
  }
  return fmt::format("{}{}| device | operator | formats | the first one |\n|---|---|---|---|\n{}{}", text, kReasons,
                     reasons, buffers_text());
}

TEST(DeviceTable, IsThePage) {
  const std::string path = tests::source_folder() + "/docs/device_table.md";
  const std::string made = page();
  const auto written = read_file(path);
  if (written && *written == made) return;
  if (std::getenv("QGEN_UPDATE_EXPECTED")) {
    EXPECT_TRUE(write_file(path, made));
    return;
  }
  FAIL() << path << " is not current: run this test with QGEN_UPDATE_EXPECTED=1";
}

// ---- devices with less ----------------------------------------------------------------------------------------------

// Formats that no kernel can have without a feature: images of formats that devices need not have, for one.
bool is_of_buffers(const std::string& missing) { return missing.find("texture3d") == missing.npos; }

std::vector<std::string> missing_on(const DeviceProfile& device) {
  std::vector<std::string> missing;
  for (const SignatureInfo* signature : generated::library().signatures) {
    for (const std::string& line : coverage_of(*signature, device).missing) {
      if (is_of_buffers(line)) missing.push_back(fmt::format("{}: {}", signature->name, line));
    }
  }
  return missing;
}

TEST(DeviceTable, TheLeastDeviceRunsEveryOperator) {
  for (const SignatureInfo* signature : generated::library().signatures) {
    EXPECT_GT(coverage_of(*signature, least_device()).formats, 0u) << signature->name;
  }
}

// Except for floating-point and mixed products, whose workgroups have 256 invocations, which every device in devices/
// supports.
TEST(DeviceTable, TheLeastDeviceRunsEveryFormatOfBuffers) {
  std::vector<std::string> missing = missing_on(least_device());
  std::erase_if(missing, [](const std::string& line) { return line.starts_with("fused_bmm: "); });
  EXPECT_TRUE(missing.empty()) << fmt::format("{}", fmt::join(missing, "\n"));
}

// With four storage buffers, an operator that needs more has a kernel for no format, and the reason is the number.
TEST(DeviceTable, FewStorageBuffersAreAReason) {
  const auto named = [](const SignatureInfo* signature) { return signature->name == "attention"; };
  const SignatureInfo& attention = **std::ranges::find_if(generated::library().signatures, named);
  const Coverage coverage = coverage_of(attention, with_buffers(least_device(), kGuaranteedBuffers));
  EXPECT_EQ(coverage.formats, 0u);
  ASSERT_FALSE(coverage.missing.empty());
  const auto is_about_buffers = [](const std::string& line) {
    return line.ends_with("binds 6 storage buffers, and the device allows 4");
  };
  EXPECT_TRUE(std::ranges::any_of(coverage.missing, is_about_buffers)) << coverage.missing.front();
}

constexpr FeatureMask kSubgroups = bit(Feature::subgroup_basic) | bit(Feature::subgroup_vote) |
                                   bit(Feature::subgroup_arithmetic) | bit(Feature::subgroup_ballot) |
                                   bit(Feature::subgroup_shuffle) | bit(Feature::subgroup_shuffle_relative) |
                                   bit(Feature::subgroup_clustered) | bit(Feature::subgroup_quad) |
                                   bit(Feature::subgroup_rotate) | bit(Feature::subgroup_extended_types);

// One lack at a time, of a device that has all.
TEST(DeviceTable, EveryOperatorRunsWhateverADeviceLacks) {
  DeviceProfile whole = least_device();
  whole.features = ~FeatureMask{0};
  whole.numbers.max_workgroup_invocations = 1024;
  whole.numbers.max_workgroup_size_x = 1024;
  whole.max_workgroup_size = {1024, 1024, 1024};
  whole.numbers.shared_memory_bytes = 65536;
  whole.numbers.max_storage_buffer_bytes = int64_t{1} << 31;
  whole.max_workgroup_count = {2147483647, 65535, 65535};
  std::vector<DeviceProfile> devices;
  const auto without = [&](std::string name, FeatureMask features) {
    DeviceProfile device = masked(whole, DeviceMask{.without = features, .limits = {}, .as = {}});
    device.name = std::move(name);
    devices.push_back(std::move(device));
  };
  without("no integer dot product", bit(Feature::integer_dot_product));
  without("no int64", bit(Feature::shader_int64));
  without("no subgroup arithmetic", bit(Feature::subgroup_arithmetic));
  without("no 8-bit storage", bit(Feature::storage_buffer_8bit));
  without("no 16-bit storage", bit(Feature::storage_buffer_16bit));
  const auto with = [&](std::string name, auto change) {
    devices.push_back(whole);
    devices.back().name = std::move(name);
    change(devices.back());
  };
  // Nothing of subgroups can be relied on, not even their size.
  without("subgroups of unknown size", kSubgroups);
  devices.back().numbers.subgroup_size = 1;
  with("16 KiB of shared memory", [](DeviceProfile& d) { d.numbers.shared_memory_bytes = 16384; });
  with("128 invocations", [](DeviceProfile& d) {
    d.numbers.max_workgroup_invocations = d.numbers.max_workgroup_size_x = 128;
    d.max_workgroup_size = {128, 128, 64};
  });
  with("128 MiB of a storage buffer",
       [](DeviceProfile& d) { d.numbers.max_storage_buffer_bytes = int64_t{128} << 20; });
  with("65,535 workgroups", [](DeviceProfile& d) { d.max_workgroup_count = {65535, 65535, 65535}; });
  for (const int64_t size : {4, 8, 16, 32, 64, 128}) {
    with(fmt::format("subgroups of {}", size), [&](DeviceProfile& d) { d.numbers.subgroup_size = size; });
  }
  for (const DeviceProfile& device : devices) {
    for (const SignatureInfo* signature : generated::library().signatures) {
      EXPECT_GT(coverage_of(*signature, device).formats, 0u) << signature->name << " on a device with " << device.name;
    }
  }
}

}  // namespace
}  // namespace qgen::runner
