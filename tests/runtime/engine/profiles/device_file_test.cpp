// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Device files: a file that is read is written back unchanged; a fault is reported with its location.
#include "runtime/engine/profiles/device_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/files.h"
#include "runtime/engine/device/estimates.h"
#include "runtime/engine/profiles/numbers.h"
#include "tests/support/expected_text.h"

namespace qgen::profiles {
namespace {

constexpr std::string_view kLeast = "name: Example GPU 1\nkind: discrete\nvendor_id: 0x10de\n";

DeviceProfile read(std::string_view yaml) {
  const auto device = read_device(yaml, "device.yaml");
  EXPECT_TRUE(device) << (device ? "" : to_text(device.error()));
  return device ? *device : DeviceProfile();
}

std::string fault_of(std::string_view yaml) {
  const auto device = read_device(yaml, "device.yaml");
  return device ? "" : device.error().message;
}

TEST(DeviceFile, LeavesOutWhatNobodyKnows) {
  DeviceProfile expected;
  expected.name = "Example GPU 1";
  expected.kind = DeviceProfile::Kind::discrete;
  expected.vendor_id = 0x10de;
  estimate(estimate_input(expected), expected.numbers);
  EXPECT_EQ(read(kLeast), expected);
}

TEST(DeviceFile, EstimatesFromWhatIsSaid) {
  const DeviceProfile device = read(std::string(kLeast) + "numbers: {compute_units: 10, launch_us: 2.5}\n");
  DeviceNumbers ten;
  estimate({.kind = DeviceProfile::Kind::discrete, .vendor_id = 0x10de, .reported_compute_units = 10}, ten);
  EXPECT_EQ(device.numbers.compute_units, 10);
  EXPECT_EQ(device.numbers.launch_us, 2.5);
  EXPECT_EQ(device.numbers.bytes_per_us, ten.bytes_per_us);
}

TEST(DeviceFile, KnowsArchitecturesByDeviceId) {
  EXPECT_EQ(read(std::string(kLeast) + "device_id: 0x2335\n").architecture, "hopper");
  EXPECT_EQ(read(std::string(kLeast) + "device_id: 0x2335\narchitecture: \"\"\n").architecture, "");
  EXPECT_EQ(read(std::string(kLeast) + "architecture: own\n").architecture, "own");
  EXPECT_EQ(read(kLeast).architecture, "");
}

// Every member differs from a default profile's.
DeviceProfile full() {
  DeviceProfile d;
  d.name = "Example \"GPU\" 1: \\ #";
  d.driver_name = "null";
  d.driver_info = "535.1 (a, b)";
  d.vendor_id = 0x10de;
  d.device_id = 0x2684;
  d.architecture = "ada";
  d.api_version = 1u << 22 | 3u << 12 | 275u;
  d.driver_version = 0xfffffff0;
  for (uint8_t i = 0; i < 16; ++i) d.device_uuid[i] = static_cast<uint8_t>(16 * i + 1), d.driver_uuid[i] = i;
  d.kind = DeviceProfile::Kind::cpu;
  d.numbers.is_cpu = true;
  d.numbers.subgroup_size = 8;
  d.numbers.max_workgroup_invocations = 512;
  d.max_workgroup_size = {512, 256, 32};
  d.numbers.max_workgroup_size_x = 512;
  d.max_workgroup_count = {2147483647, 7, 9};
  d.numbers.shared_memory_bytes = 1;
  d.numbers.max_storage_buffer_bytes = 4294967295;
  d.numbers.max_image_extent = 2048;
  d.features = ~FeatureMask{0} >> (64 - static_cast<unsigned>(Feature::count_));
  d.cooperative_matrices = {{16, 16, 32, DType::i8, DType::i8, DType::i32, DType::i32, false},
                            {16, 16, 16, DType::f16, DType::f16, DType::f32, DType::f32, true}};
  d.matrix_rates = {{d.cooperative_matrices[1], 1.25e8}};
  d.flexible_cooperative_matrices = {d.cooperative_matrices[1],
                                     {8, 8, 8, DType::bf16, DType::bf16, DType::f32, DType::f32, true}};
  d.min_subgroup_size = 4;
  d.max_subgroup_size = 64;
  d.has_subgroup_size_control = d.has_fast_integer_dot = true;
  d.max_push_constants_bytes = 200;
  d.max_bound_sets = 9;
  d.max_storage_buffers_per_stage = 11;
  d.max_storage_images_per_stage = 12;
  d.storage_buffer_alignment_bytes = 64;
  d.device_memory_bytes = uint64_t{3} << 40;
  d.timestamp_period_ns = 1.0 / 3;
  double next = 1.0 / 7;
  for (const NumberRow& row : kNumbers) {
    next *= 13;
    if (const auto* real = std::get_if<double DeviceNumbers::*>(&row.member)) d.numbers.** real = next;
    else d.numbers.*std::get<int64_t DeviceNumbers::*>(row.member) = static_cast<int64_t>(next) + 1;
    d.sources[std::string(row.name)] = fmt::format("data sheet: {}, #3", row.name);
  }
  return d;
}

TEST(DeviceFile, ReadsBackWhatItWrote) {
  const DeviceProfile device = full();
  EXPECT_EQ(read(to_yaml(device)), device) << to_yaml(device);
  EXPECT_EQ(to_yaml(read(to_yaml(device))), to_yaml(device));
}

TEST(DeviceFile, ReadsBackNumbersWithoutSource) {
  DeviceProfile device = full();
  device.sources.clear();
  EXPECT_EQ(read(to_yaml(device)), device) << to_yaml(device);
  const DeviceProfile estimated = read(kLeast);
  EXPECT_EQ(read(to_yaml(estimated)), estimated) << to_yaml(estimated);
  EXPECT_EQ(to_yaml(estimated).find("bytes_per_us"), std::string::npos) << to_yaml(estimated);
}

TEST(DeviceFile, IsWrittenInsideAnother) {
  const std::string text = to_yaml(read(kLeast), 2);
  EXPECT_TRUE(text.starts_with("  name: \"Example GPU 1\"\n  kind: discrete\n")) << text;
}

TEST(DeviceFile, TellsEveryFaultWithItsPlace) {
  EXPECT_TEXT(fault_of(R"(name: [a]
kind: big
vendor_id: 0xgg
vulkan: one
subgroup: {least: 8}
limits: {workgroup_size: [1, 2], shared_memory_byte: 3}
cooperative_matrices: [{m: 70000, n: 16, k: 32, a: i8, b: i8, c: i32, result: int, scope: subgroup}]
numbers: {launch_us: -1, compute_units: many}
sources: {launch: me}
name: b
)"),
              R"(device.yaml:1:7: error: name must be a single value
    1 | name: [a]
      |       ^
device.yaml:2:7: error: unknown kind 'big'
    2 | kind: big
      |       ^~~
  expected: one of other, integrated, discrete, virtual, cpu
device.yaml:3:12: error: vendor_id is '0xgg'
    3 | vendor_id: 0xgg
      |            ^~~~
  expected: a number of 32 bits, as 0x10de
device.yaml:4:9: error: vulkan is 'one'
    4 | vulkan: one
      |         ^~~
  expected: a version, as 1.3.275
device.yaml:5:11: error: subgroup lacks 'size'
    5 | subgroup: {least: 8}
      |           ^
device.yaml:6:26: error: workgroup_size has 2 sides
    6 | limits: {workgroup_size: [1, 2], shared_memory_byte: 3}
      |                          ^
  expected: [x, y, z]
device.yaml:6:34: error: unknown key 'shared_memory_byte' in limits
    6 | limits: {workgroup_size: [1, 2], shared_memory_byte: 3}
      |                                  ^~~~~~~~~~~~~~~~~~
  expected: one of workgroup_invocations, workgroup_size, workgroup_count, shared_memory_bytes, storage_buffer_bytes, image_extent, push_constants_bytes, bound_sets, storage_buffers_per_stage, storage_images_per_stage, storage_buffer_alignment_bytes
  hint: did you mean 'shared_memory_bytes'?
device.yaml:7:28: error: m is '70000'
    7 | cooperative_matrices: [{m: 70000, n: 16, k: 32, a: i8, b: i8, c: i32, result: int, scope: subgroup}]
      |                            ^~~~~
  expected: a whole number from 0 to 65535
device.yaml:7:79: error: unknown dtype 'int'
    7 | cooperative_matrices: [{m: 70000, n: 16, k: 32, a: i8, b: i8, c: i32, result: int, scope: subgroup}]
      |                                                                               ^~~
  expected: one of f32, f16, bf16, i8, u8, i16, u16, i32, u32
device.yaml:8:22: error: launch_us is '-1'
    8 | numbers: {launch_us: -1, compute_units: many}
      |                      ^~
  expected: a number from 1e-06 to 1e+15
device.yaml:8:41: error: compute_units is 'many'
    8 | numbers: {launch_us: -1, compute_units: many}
      |                                         ^~~~
  expected: a whole number from 1 to 1125899906842624
device.yaml:9:11: error: unknown key 'launch' in sources
    9 | sources: {launch: me}
      |           ^~~~~~
  expected: one of compute_units, bytes_per_us, cache_bytes, cache_bytes_per_us, f32_ops_per_us, f16_ops_per_us, int8_ops_per_us, int8_matrix_ops_per_us, f16_matrix_ops_per_us, launch_us, barrier_us
device.yaml:10:1: error: 'name' is given twice
   10 | name: b
      | ^~~~
  hint: first in line 1)");
}

TEST(DeviceFile, RefusesLimitsThatNoDeviceHas) {
  for (const auto& [lines, fault] : {
           std::pair("subgroup: {size: 7}", "the subgroup size is 7"),
           {"subgroup: {size: 32, least: 64, most: 128}", "the subgroup size 32 is not in the range from 64 to 128"},
           {"subgroup: {size: 32, least: 64, most: 8}", "the subgroup size 32 is not in the range from 64 to 8"},
           {"limits: {storage_buffer_alignment_bytes: 3}", "storage_buffer_alignment_bytes is 3"},
           {"limits: {push_constants_bytes: 0}", "push_constants_bytes is 0"},
           {"limits: {workgroup_size: [0, 1, 1]}", "workgroup_size is 0, 1, 1"},
           {"vulkan: 9.9.9", "vulkan is '9.9.9'"},
       }) {
    EXPECT_NE(fault_of(std::string(kLeast) + lines + "\n").find(fault), std::string::npos) << lines;
  }
  EXPECT_EQ(fault_of(std::string(kLeast) + "subgroup: {size: 16, least: 8, most: 32}\n"), "");
  EXPECT_NE(fault_of("name: \"\"\nkind: cpu\nvendor_id: 1\n").find("name is ''"), std::string::npos);
  EXPECT_NE(fault_of("name: \"a\\nb\"\nkind: cpu\nvendor_id: 1\n").find("name is 'a\\nb'"), std::string::npos);
}

TEST(DeviceFile, KnowsTheFeatures) {
  const std::string fault = fault_of(std::string(kLeast) + "features: [shader_int8, shader_int9]\n");
  EXPECT_TRUE(fault.starts_with("device.yaml:4:25: error: unknown feature 'shader_int9'\n")) << fault;
  EXPECT_TRUE(fault.ends_with("hint: did you mean 'shader_int8'?")) << fault;
}

TEST(DeviceFile, RefusesWhatIsNoDevice) {
  EXPECT_TEXT(fault_of(""), "device.yaml: error: the file is empty");
  EXPECT_TEXT(fault_of(std::string(kLeast) + "---\n"),
              "device.yaml: error: the file has 2 YAML documents, and can have one");
  EXPECT_TRUE(fault_of("a: [1").starts_with("device.yaml:1:1: error: this is not YAML: "));
  EXPECT_TRUE(fault_of("[]").starts_with("device.yaml:1:1: error: a device must be a map\n"));
  EXPECT_TRUE(fault_of("name: a\nkind: cpu").starts_with("device.yaml:1:1: error: a device lacks 'vendor_id'\n"));
  EXPECT_TRUE(fault_of(std::string(kLeast) + "architecture: \"\\e[31m\"").find("architecture contains") !=
              std::string::npos);
}

TEST(DeviceFile, RefusesHugeFiles) {
  const std::string path = testing::TempDir() + "huge_device.yaml";
  ASSERT_TRUE(write_file(path, std::string(kLeast) + std::string(2 << 20, '\n')));
  const auto device = load_device(path);
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().message.find(path), std::string::npos) << device.error().message;
}

}  // namespace
}  // namespace qgen::profiles
