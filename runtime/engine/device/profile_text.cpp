// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A profile's two printed forms. Both visit the profile once, in the struct's order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/json/write.h"
#include "common/text.h"
#include "common/time_text.h"
#include "runtime/engine/device/device_profile.h"
#include "runtime/engine/device/quirks.h"
#include "runtime/engine/device/vulkan_api.h"

namespace qgen {
namespace {

std::string_view name(DeviceProfile::Kind kind) {
  switch (kind) {
    case DeviceProfile::Kind::other: return "other";
    case DeviceProfile::Kind::integrated: return "integrated";
    case DeviceProfile::Kind::discrete: return "discrete";
    case DeviceProfile::Kind::virtual_gpu: return "virtual";
    case DeviceProfile::Kind::cpu: return "cpu";
  }
  return "other";
}

std::string version(uint32_t packed) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(packed), VK_API_VERSION_MINOR(packed),
                     VK_API_VERSION_PATCH(packed));
}

std::string dtypes(const CooperativeMatrixShape& shape) {
  return fmt::format("{} x {} + {} -> {}", qgen::name(shape.a), qgen::name(shape.b), qgen::name(shape.c),
                     qgen::name(shape.result));
}

std::string_view scope(const CooperativeMatrixShape& shape) { return shape.workgroup_scope ? "workgroup" : "subgroup"; }

// ---- units of rates, which vocabulary/device_number_rows.inc names -----------------------------------------------------

std::string count(int64_t number) { return fmt::format("{}", number); }
std::string mebibytes(int64_t bytes) { return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (1 << 20)); }
std::string gigabytes_per_second(double bytes_per_us) { return fmt::format("{:.4g} GB/s", bytes_per_us / 1e3); }
std::string tera_flops(double ops_per_us) { return fmt::format("{:.4g} TFLOP/s", ops_per_us / 1e6); }
std::string tera_ops(double ops_per_us) { return fmt::format("{:.4g} TOP/s", ops_per_us / 1e6); }
std::string microseconds(double us) { return us_text(us) + " us"; }

// ---- for people -----------------------------------------------------------------------------------------------------

class Listing {
 public:
  template <typename... Args>
  void row(std::string_view label, fmt::format_string<Args...> value, Args&&... args) {
    constexpr size_t kIndent = 25;
    fmt::format_to(std::back_inserter(text_), "  {:<22} {}\n", label,
                   wrapped(fmt::format(value, std::forward<Args>(args)...), kIndent));
  }
  void matrices(std::string_view label, const std::vector<CooperativeMatrixShape>& shapes,
                const std::vector<MatrixRate>& rates) {
    for (const auto& shape : shapes) {
      const auto rate = std::ranges::find(rates, shape, &MatrixRate::shape);
      row(label, "{:>3} x {} x {}  {}, {} scope{}", shape.m, shape.n, shape.k, dtypes(shape), scope(shape),
          rate == rates.end() ? "" : fmt::format(", {:.4g} TOP/s", rate->ops_per_us / 1e6));
      label = "";
    }
  }
  void words(std::string_view label, const std::vector<std::string_view>& words) {
    row(label, "{}", words.empty() ? "none" : fmt::format("{}", fmt::join(words, " ")));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// ---- for programs ---------------------------------------------------------------------------------------------------

using Json = nlohmann::ordered_json;

Json list(const std::vector<CooperativeMatrixShape>& shapes, const std::vector<MatrixRate>& rates) {
  Json items = Json::array();
  for (const auto& s : shapes) {
    Json& item = items.emplace_back(Json{{"m", s.m},
                                         {"n", s.n},
                                         {"k", s.k},
                                         {"a", qgen::name(s.a)},
                                         {"b", qgen::name(s.b)},
                                         {"c", qgen::name(s.c)},
                                         {"result", qgen::name(s.result)},
                                         {"scope", scope(s)}});
    const auto rate = std::ranges::find(rates, s, &MatrixRate::shape);
    if (rate != rates.end()) item["ops_per_us"] = rate->ops_per_us;
  }
  return items;
}

// Whether something that the quirk distrusts is missing.
bool is_applied(const Quirk& quirk, const DeviceProfile& device) {
  if (quirk.distrusted & device.distrusted) return true;
  if (quirk.matrices && device.distrusted & bit(Feature::cooperative_matrix)) return true;
  const auto is_there = [&](const CooperativeMatrixShape& shape) { return fits(*quirk.matrices, shape); };
  if (quirk.matrices && std::ranges::none_of(device.cooperative_matrices, is_there)) return true;
  return !quirk.kernels.empty() && !device.distrusted_kernels.empty();
}

}  // namespace

std::string uuid_text(const std::array<uint8_t, 16>& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  }
  return text;
}

std::string to_text(const DeviceProfile& p) {
  const DeviceNumbers& n = p.numbers;
  Listing out;
  out.row("kind", "{}", name(p.kind));
  out.row("driver", "{} {}", p.driver_name, p.driver_info);
  out.row("Vulkan", "{}", version(p.api_version));
  out.row("vendor, device", "{:#06x}, {:#06x}", p.vendor_id, p.device_id);
  out.row("architecture", "{}", p.architecture.empty() ? "not known" : p.architecture);
  out.row("device UUID", "{}", uuid_text(p.device_uuid));
  out.row("driver UUID", "{}", uuid_text(p.driver_uuid));
  out.row("memory", "{:.1f} GiB", static_cast<double>(p.device_memory_bytes) / (1 << 30));
  out.row("storage buffer", "up to {:.0f} MiB", static_cast<double>(n.max_storage_buffer_bytes) / (1 << 20));
  out.row("3-D image", "up to {} a side", n.max_image_extent);
  out.row("shared memory", "{} bytes", n.shared_memory_bytes);
  out.row("workgroup", "up to {} invocations, {} x {} x {}", n.max_workgroup_invocations, p.max_workgroup_size[0],
          p.max_workgroup_size[1], p.max_workgroup_size[2]);
  out.row("workgroups", "up to {} x {} x {}", p.max_workgroup_count[0], p.max_workgroup_count[1],
          p.max_workgroup_count[2]);
  out.row("subgroup", "{} ({} to {}{})", n.subgroup_size, p.min_subgroup_size, p.max_subgroup_size,
          p.has_subgroup_size_control ? ", selectable" : "");
  out.row("packed dot products", "{}", p.has_fast_integer_dot ? "accelerated" : "not accelerated");
  out.row("push constants", "{} bytes", p.max_push_constants_bytes);
  out.row("timestamps", "{}", p.timestamp_period_ns > 0 ? fmt::format("{} ns a tick", p.timestamp_period_ns) : "none");
  const auto rate = [&](std::string_view label, std::string_view name, const std::string& value) {
    const auto source = p.sources.find(name);
    out.row(label, "{:<16} {}", value, source == p.sources.end() ? "estimated" : source->second);
  };
#define QGEN_DEVICE_NUMBER(type, name, start)
#define QGEN_DEVICE_RATE(type, name, start, label, unit) rate(label, #name, unit(n.name));
#include "vocabulary/device_number_rows.inc"
  out.words("features", names(p.features));
  if (p.distrusted) out.words("distrusted", names(p.distrusted));
  for (const std::string& beginning : p.distrusted_kernels) out.row("distrusted", "kernels {}", beginning);
  for (const Quirk* quirk : quirks_of(p)) {
    if (quirk->matrices && is_applied(*quirk, p)) out.row("distrusted", "some shapes of cooperative matrices");
    if (is_applied(*quirk, p)) out.row("", "{}: {}", quirk->why, quirk->source);
  }
  out.matrices("cooperative matrices", p.cooperative_matrices, p.matrix_rates);
  out.matrices("  in steps of", p.flexible_cooperative_matrices, {});
  return p.name + "\n" + out.take();
}

std::string to_json(const DeviceProfile& p) {
  return json::to_text({{"name", p.name},
                        {"driver_name", p.driver_name},
                        {"driver_info", p.driver_info},
                        {"vendor_id", p.vendor_id},
                        {"device_id", p.device_id},
                        {"api_version", version(p.api_version)},
                        {"driver_version", p.driver_version},
                        {"architecture", p.architecture},
                        {"device_uuid", uuid_text(p.device_uuid)},
                        {"driver_uuid", uuid_text(p.driver_uuid)},
                        {"kind", name(p.kind)},
#define QGEN_DEVICE_NUMBER(type, name, start) {#name, p.numbers.name},
#include "vocabulary/device_number_rows.inc"
                        {"sources", p.sources},
                        {"features", names(p.features)},
                        {"distrusted", names(p.distrusted)},
                        {"distrusted_kernels", p.distrusted_kernels},
                        {"cooperative_matrices", list(p.cooperative_matrices, p.matrix_rates)},
                        {"flexible_cooperative_matrices", list(p.flexible_cooperative_matrices, {})},
                        {"max_workgroup_count", p.max_workgroup_count},
                        {"max_workgroup_size", p.max_workgroup_size},
                        {"min_subgroup_size", p.min_subgroup_size},
                        {"max_subgroup_size", p.max_subgroup_size},
                        {"has_subgroup_size_control", p.has_subgroup_size_control},
                        {"has_fast_integer_dot", p.has_fast_integer_dot},
                        {"max_push_constants_bytes", p.max_push_constants_bytes},
                        {"max_bound_sets", p.max_bound_sets},
                        {"max_storage_buffers_per_stage", p.max_storage_buffers_per_stage},
                        {"max_storage_images_per_stage", p.max_storage_images_per_stage},
                        {"storage_buffer_alignment_bytes", p.storage_buffer_alignment_bytes},
                        {"device_memory_bytes", p.device_memory_bytes},
                        {"timestamp_period_ns", p.timestamp_period_ns}});
}

}  // namespace qgen
