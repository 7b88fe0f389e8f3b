// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Reading and writing visit the profile in the same order, that of the struct.
#include "runtime/engine/profiles/device_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "common/files.h"
#include "common/number.h"
#include "common/text.h"
#include "common/yaml/reader.h"
#include "runtime/engine/device/architecture.h"
#include "runtime/engine/device/estimates.h"
#include "runtime/engine/device/limits.h"
#include "runtime/engine/profiles/matrix_fields.h"
#include "runtime/engine/profiles/numbers.h"

namespace qgen::profiles {
namespace {

using yaml::Reader;
using Node = YAML::Node;

constexpr size_t kMostBytes = size_t{1} << 20;
constexpr double kMostOfANumber = 1e15;

struct KindRow {
  DeviceProfile::Kind kind;
  std::string_view name;
};
constexpr KindRow kKinds[] = {
    {DeviceProfile::Kind::other, "other"},       {DeviceProfile::Kind::integrated, "integrated"},
    {DeviceProfile::Kind::discrete, "discrete"}, {DeviceProfile::Kind::virtual_gpu, "virtual"},
    {DeviceProfile::Kind::cpu, "cpu"},
};

// ---- reading --------------------------------------------------------------------------------------------------------

class DeviceReader {
 public:
  explicit DeviceReader(Reader& reader) : reader_(reader) {}

  DeviceProfile read(const Node& map) {
    Node numbers, sources;
    bool has_architecture = false;
    reader_.fields(
        map, "a device",
        {{"name", true, [&](const Node& node) { read_name(node); }},
         {"kind", true, [&](const Node& node) { read_kind(node); }},
         {"vendor_id", true, [&](const Node& node) { identifier(node, "vendor_id", device_.vendor_id); }},
         {"device_id", false, [&](const Node& node) { identifier(node, "device_id", device_.device_id); }},
         {"architecture", false,
          [&](const Node& node) {
            has_architecture = true;
            reader_.text(node, "architecture", device_.architecture);
          }},
         {"vulkan", false, [&](const Node& node) { read_version(node); }},
         {"driver", false, [&](const Node& node) { read_driver(node); }},
         {"uuid", false, [&](const Node& node) { read_uuid(node, device_.device_uuid); }},
         {"subgroup", false, [&](const Node& node) { read_subgroup(node); }},
         {"limits", false, [&](const Node& node) { read_limits(node); }},
         {"memory_bytes", false,
          [&](const Node& node) { unsigned_integer(node, "memory_bytes", device_.device_memory_bytes); }},
         {"timestamp_period_ns", false,
          [&](const Node& node) { reader_.number(node, "timestamp_period_ns", 0, 1e9, device_.timestamp_period_ns); }},
         {"has_fast_integer_dot", false,
          [&](const Node& node) { reader_.boolean(node, "has_fast_integer_dot", device_.has_fast_integer_dot); }},
         {"features", false, [&](const Node& node) { read_features(node); }},
         {"cooperative_matrices", false,
          [&](const Node& node) {
            read_matrices(node, "cooperative_matrices", device_.cooperative_matrices, &device_.matrix_rates);
          }},
         {"flexible_cooperative_matrices", false,
          [&](const Node& node) {
            read_matrices(node, "flexible_cooperative_matrices", device_.flexible_cooperative_matrices, nullptr);
          }},
         {"numbers", false, [&](const Node& node) { numbers.reset(node); }},
         {"sources", false, [&](const Node& node) { sources.reset(node); }}});
    if (!has_architecture) device_.architecture = architecture_of(device_.vendor_id, device_.device_id);
    device_.numbers.max_workgroup_size_x = device_.max_workgroup_size[0];
    device_.numbers.is_cpu = device_.kind == DeviceProfile::Kind::cpu;
    device_.numbers.is_integrated = device_.kind == DeviceProfile::Kind::integrated;
    read_numbers(numbers);
    if (sources.IsDefined() && !sources.IsNull()) read_sources(sources);
    return std::move(device_);
  }

 private:
  template <typename Integer>
  void unsigned_integer(const Node& node, std::string_view what, Integer& value) {
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<Integer>::max());
    constexpr auto kMostRead = static_cast<int64_t>(std::min<uint64_t>(kMost, std::numeric_limits<int64_t>::max()));
    auto read = static_cast<int64_t>(value);
    reader_.integer(node, what, 0, kMostRead, read);
    value = static_cast<Integer>(read);
  }

  // As Vulkan's ids are written, in hexadecimal: 0x10de.
  void identifier(const Node& node, std::string_view what, uint32_t& value) {
    if (!reader_.scalar(node, what)) return;
    const std::string_view text = node.Scalar();
    uint32_t read = 0;
    const bool is_hexadecimal = text.starts_with("0x") && text.size() > 2;
    const char* const end = text.data() + text.size();
    const auto parsed =
        is_hexadecimal ? std::from_chars(text.data() + 2, end, read, 16) : std::from_chars(text.data(), end, read);
    if (parsed.ec == std::errc() && parsed.ptr == end) {
      value = read;
    } else {
      reader_.fault(node, fmt::format("{} is '{}'", what, text), "a number of 32 bits, as 0x10de");
    }
  }

  void read_name(const Node& node) {
    reader_.text(node, "name", device_.name);
    if (node.IsScalar() && (device_.name.empty() || printable(device_.name) != device_.name))
      reader_.fault(node, fmt::format("name is '{}'", printable(device_.name)), "one line of printable text");
  }

  void read_kind(const Node& node) {
    if (const auto index = reader_.word(node, "kind", names_of(kKinds))) device_.kind = kKinds[*index].kind;
  }

  void read_version(const Node& node) {
    if (!reader_.scalar(node, "vulkan")) return;
    const auto version = profiles::read_version(node.Scalar());
    if (version && *version >> 22U <= 1) device_.api_version = *version;
    else reader_.fault(node, fmt::format("vulkan is '{}'", node.Scalar()), "a version, as 1.3.275");
  }

  void read_driver(const Node& map) {
    reader_.fields(map, "driver",
                   {{"name", false, [&](const Node& node) { reader_.text(node, "name", device_.driver_name); }},
                    {"info", false, [&](const Node& node) { reader_.text(node, "info", device_.driver_info); }},
                    {"version", false, [&](const Node& node) { identifier(node, "version", device_.driver_version); }},
                    {"uuid", false, [&](const Node& node) { read_uuid(node, device_.driver_uuid); }}});
  }

  void read_uuid(const Node& node, std::array<uint8_t, 16>& uuid) {
    if (!reader_.scalar(node, "uuid")) return;
    std::string digits = node.Scalar();
    std::erase(digits, '-');
    std::array<uint8_t, 16> read{};
    bool is_uuid = digits.size() == 2 * read.size();
    for (size_t i = 0; is_uuid && i < read.size(); ++i) {
      const char* const byte = digits.data() + 2 * i;
      is_uuid = std::from_chars(byte, byte + 2, read[i], 16).ptr == byte + 2;
    }
    if (!is_uuid) return reader_.fault(node, fmt::format("uuid is '{}'", node.Scalar()), "32 hexadecimal digits");
    uuid = read;
  }

  void read_subgroup(const Node& map) {
    reader_.fields(
        map, "subgroup",
        {{"size", true,
          [&](const Node& node) { reader_.integer(node, "size", 1, 128, device_.numbers.subgroup_size); }},
         {"least", false, [&](const Node& node) { unsigned_integer(node, "least", device_.min_subgroup_size); }},
         {"most", false, [&](const Node& node) { unsigned_integer(node, "most", device_.max_subgroup_size); }},
         {"is_selectable", false,
          [&](const Node& node) { reader_.boolean(node, "is_selectable", device_.has_subgroup_size_control); }}});
    check_subgroup(map);
  }

  // Drivers without the feature leave the least and the most size 0.
  void check_subgroup(const Node& map) {
    const auto size = static_cast<uint32_t>(device_.numbers.subgroup_size);
    const uint32_t least = device_.min_subgroup_size, most = device_.max_subgroup_size;
    if (!std::has_single_bit(size)) reader_.fault(map, fmt::format("the subgroup size is {}", size), "a power of two");
    else if (least != 0 && most != 0 && !(least <= size && size <= most))
      reader_.fault(map, fmt::format("the subgroup size {} is not in the range from {} to {}", size, least, most),
                    "least <= size <= most");
  }

  void read_extents(const Node& list, std::string_view what, std::array<uint32_t, 3>& extents) {
    std::vector<uint32_t> sides;
    reader_.items(list, what, [&](const Node& item) { unsigned_integer(item, what, sides.emplace_back()); });
    if (sides.size() == extents.size()) {
      std::ranges::copy(sides, extents.begin());
    } else if (list.IsSequence()) {
      reader_.fault(list, fmt::format("{} has {} sides", what, sides.size()), "[x, y, z]");
    }
  }

  void read_limits(const Node& map) {
    std::vector<yaml::Field> fields;
    for (const LimitRow& row : kLimits) {
      fields.push_back({row.name, false, [this, &row](const Node& node) { read_limit(node, row); }});
    }
    reader_.fields(map, "limits", fields);
  }

  void read_limit(const Node& node, const LimitRow& row) {
    if (const auto* sides = std::get_if<std::array<uint32_t, 3> DeviceProfile::*>(&row.member)) {
      read_extents(node, row.name, device_.**sides);
    } else if (const auto* number = std::get_if<int64_t DeviceNumbers::*>(&row.member)) {
      unsigned_integer(node, row.name, device_.numbers.**number);
    } else {
      unsigned_integer(node, row.name, device_.*std::get<uint32_t DeviceProfile::*>(row.member));
    }
    if (!row.can_be(row.of(device_))) {
      reader_.fault(node, fmt::format("{} is {}", row.name, fmt::join(row.of(device_), ", ")),
                    row.is_alignment ? "a power of two" : "at least 1");
    }
  }

  void read_features(const Node& list) {
    std::vector<std::string_view> words;
    for (const FeatureRow& row : feature_table()) words.push_back(row.name);
    reader_.items(list, "features", [&](const Node& item) {
      if (const auto index = reader_.word(item, "feature", words))
        device_.features |= bit(feature_table()[*index].feature);
    });
  }

  // `rates`: of those that were measured; null: of such a list none are.
  void read_matrices(const Node& list, std::string_view what, std::vector<CooperativeMatrixShape>& shapes,
                     std::vector<MatrixRate>* rates) {
    reader_.items(list, what, [&](const Node& item) {
      MatrixRate row{};
      CooperativeMatrixShape& shape = row.shape;
      std::vector<yaml::Field> fields = matrix_fields(reader_, shape);
      if (rates) {
        fields.push_back({"ops_per_us", false, [&](const Node& node) {
                            reader_.number(node, "ops_per_us", 1e-6, kMostOfANumber, row.ops_per_us);
                          }});
      }
      reader_.fields(item, "a cooperative matrix", fields);
      shapes.push_back(shape);
      if (rates && row.ops_per_us > 0) rates->push_back(row);
    });
  }

  // The units first: estimates of the others are made of them.
  void read_numbers(const Node& map) {
    const bool has_numbers = map.IsDefined() && !map.IsNull();
    EstimateInput input = estimate_input(device_);
    if (has_numbers && map.IsMap() && map["compute_units"] && map["compute_units"].IsScalar()) {
      input.reported_compute_units = qgen::read_number<int64_t>(map["compute_units"].Scalar()).value_or(0);
    }
    estimate(input, device_.numbers);
    if (!has_numbers) return;
    std::vector<yaml::Field> fields;
    for (const NumberRow& row : kNumbers) {
      fields.push_back({row.name, false, [this, &row](const Node& node) { read_number(node, row); }});
    }
    reader_.fields(map, "numbers", fields);
  }

  void read_number(const Node& node, const NumberRow& row) {
    if (const auto* real = std::get_if<double DeviceNumbers::*>(&row.member)) {
      reader_.number(node, row.name, 1e-6, kMostOfANumber, device_.numbers.**real);
    } else {
      constexpr int64_t kMost = int64_t{1} << 50;
      reader_.integer(node, row.name, 1, kMost, device_.numbers.*std::get<int64_t DeviceNumbers::*>(row.member));
    }
  }

  void read_sources(const Node& map) {
    std::vector<yaml::Field> fields;
    for (const NumberRow& row : kNumbers) {
      fields.push_back({row.name, false, [this, &row](const Node& node) {
                          reader_.text(node, row.name, device_.sources[std::string(row.name)]);
                        }});
    }
    reader_.fields(map, "sources", fields);
  }

  Reader& reader_;
  DeviceProfile device_;
};

// ---- writing --------------------------------------------------------------------------------------------------------

// The shortest that reads back as the same, as a whole number where it is a small one.
std::string real_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e6) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string number_text(const DeviceNumbers& numbers, const NumberRow& row) {
  if (const auto* real = std::get_if<double DeviceNumbers::*>(&row.member)) return real_text(numbers.**real);
  return fmt::format("{}", numbers.*std::get<int64_t DeviceNumbers::*>(row.member));
}

class DeviceWriter {
 public:
  DeviceWriter(const DeviceProfile& profile, int indent)
      : device_(profile), indent_(static_cast<size_t>(indent), ' ') {}

  std::string write() {
    const DeviceProfile& d = device_;
    line("name: {}", yaml::scalar_text(d.name));
    line("kind: {}", std::ranges::find(kKinds, d.kind, &KindRow::kind)->name);
    line("vendor_id: {:#06x}", d.vendor_id);
    line("device_id: {:#06x}", d.device_id);
    if (d.architecture != architecture_of(d.vendor_id, d.device_id) || !d.architecture.empty()) {
      line("architecture: {}", yaml::scalar_text(d.architecture));
    }
    line("vulkan: {}.{}.{}", d.api_version >> 22U & 0x7fU, d.api_version >> 12U & 0x3ffU, d.api_version & 0xfffU);
    line("driver:");
    line("  name: {}", yaml::scalar_text(d.driver_name));
    line("  info: {}", yaml::scalar_text(d.driver_info));
    line("  version: {:#x}", d.driver_version);
    line("  uuid: {}", yaml::scalar_text(hexadecimal(d.driver_uuid)));
    line("uuid: {}", yaml::scalar_text(hexadecimal(d.device_uuid)));
    line("subgroup: {{size: {}, least: {}, most: {}, is_selectable: {}}}", d.numbers.subgroup_size, d.min_subgroup_size,
         d.max_subgroup_size, d.has_subgroup_size_control);
    write_limits();
    line("memory_bytes: {}", d.device_memory_bytes);
    line("timestamp_period_ns: {}", real_text(d.timestamp_period_ns));
    line("has_fast_integer_dot: {}", d.has_fast_integer_dot);
    write_features();
    write_matrices("cooperative_matrices", d.cooperative_matrices, d.matrix_rates);
    write_matrices("flexible_cooperative_matrices", d.flexible_cooperative_matrices, {});
    write_numbers();
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += indent_ + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void write_limits() {
    line("limits:");
    for (const LimitRow& row : kLimits) {
      const LimitValue value = row.of(device_);
      if (row.has_sides()) line("  {}: [{}]", row.name, fmt::join(value, ", "));
      else line("  {}: {}", row.name, value[0]);
    }
  }

  void write_features() {
    const auto words = names(device_.features);
    line("features: {}", words.empty() ? "[]" : "");
    if (words.empty()) return;
    text_.erase(text_.size() - 2, 1);  // the space after the colon
    for (const std::string_view word : words) line("- {}", word);
  }

  void write_matrices(std::string_view key, const std::vector<CooperativeMatrixShape>& shapes,
                      std::span<const MatrixRate> rates) {
    if (shapes.empty()) return;
    line("{}:", key);
    for (const CooperativeMatrixShape& s : shapes) {
      const auto rate = std::ranges::find(rates, s, &MatrixRate::shape);
      line("- {{{}{}}}", matrix_text(s),
           rate == rates.end() ? "" : fmt::format(", ops_per_us: {}", real_text(rate->ops_per_us)));
    }
  }

  void write_numbers() {
    EstimateInput input = estimate_input(device_);
    input.reported_compute_units = device_.numbers.compute_units;
    DeviceNumbers estimated = device_.numbers;
    estimate(input, estimated);
    line("numbers:");
    for (const NumberRow& row : kNumbers) {
      const bool is_told = device_.sources.contains(row.name) || row.name == kNumbers[0].name;
      const std::string number = number_text(device_.numbers, row);
      if (is_told || number != number_text(estimated, row)) line("  {}: {}", row.name, number);
    }
    if (device_.sources.empty()) return;
    line("sources:");
    for (const NumberRow& row : kNumbers) {
      const auto source = device_.sources.find(row.name);
      if (source != device_.sources.end()) line("  {}: {}", row.name, yaml::scalar_text(source->second));
    }
  }

  const DeviceProfile& device_;
  std::string indent_;
  std::string text_;
};

}  // namespace

std::optional<uint32_t> read_version(std::string_view text) {
  std::array<uint32_t, 3> parts{};
  size_t count = 0;
  for (bool ends = false; !ends; ++count) {
    const size_t dot = std::min(text.find('.'), text.size());
    const auto part = read_number<uint32_t>(text.substr(0, dot));
    if (count == parts.size() || !part || *part > 1023) return std::nullopt;
    parts[count] = *part;
    ends = dot == text.size();
    text.remove_prefix(ends ? dot : dot + 1);
  }
  if (count < 2) return std::nullopt;
  return parts[0] << 22U | parts[1] << 12U | parts[2];
}

DeviceProfile read_device(Reader& reader, const Node& map) { return DeviceReader(reader).read(map); }

Expected<DeviceProfile> read_device(std::string_view yaml, const std::string& file) {
  Reader reader(file);
  DeviceProfile device;
  const Done done = reader.run(yaml, [&](const Node& root) { device = read_device(reader, root); });
  if (!done) return done.error();
  return device;
}

Expected<DeviceProfile> load_device(const std::string& path) {
  const auto text = read_file(path, kMostBytes);
  if (!text) return text.error();
  return read_device(*text, path);
}

std::string to_yaml(const DeviceProfile& profile, int indent) { return DeviceWriter(profile, indent).write(); }

}  // namespace qgen::profiles
