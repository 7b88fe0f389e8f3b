// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/profiles/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "common/date.h"
#include "common/files.h"
#include "common/yaml/reader.h"
#include "runtime/engine/device/quirks.h"
#include "runtime/engine/profiles/matrix_fields.h"

namespace qgen::profiles {
namespace {

using yaml::Reader;
using Node = YAML::Node;

constexpr size_t kMostBytesOfAVerdict = size_t{1} << 20;

class VerdictReader {
 public:
  explicit VerdictReader(Reader& reader) : reader_(reader) {}

  Verdict read(const Node& root) {
    reader_.fields(root, "a verdict",
                   {{"checked", true, [&](const Node& node) { read_date(node); }},
                    {"wrong", true, [&](const Node& node) {
                       reader_.items(node, "wrong", [&](const Node& item) { read_wrong(item); });
                     }}});
    return std::move(verdict_);
  }

 private:
  void read_date(const Node& node) {
    reader_.text(node, "checked", verdict_.date);
    if (!is_date(verdict_.date)) reader_.fault(node, fmt::format("checked is '{}'", verdict_.date), "a date");
  }

  void read_wrong(const Node& item) {
    Verdict::Wrong& wrong = verdict_.wrong.emplace_back();
    reader_.fields(
        item, "an item of 'wrong'",
        {{"feature", false, [&](const Node& node) { read_feature(node, wrong); }},
         {"matrix", false,
          [&](const Node& node) { reader_.fields(node, "matrix", matrix_fields(reader_, wrong.shape.emplace())); }},
         {"found", true, [&](const Node& node) { reader_.text(node, "found", wrong.found); }}});
    if (wrong.feature.has_value() == wrong.shape.has_value()) {
      reader_.fault(item, "an item of 'wrong' has a feature or a matrix");
    }
  }

  void read_feature(const Node& node, Verdict::Wrong& wrong) {
    std::vector<std::string_view> words;
    for (const FeatureRow& row : feature_table()) words.push_back(row.name);
    if (const auto index = reader_.word(node, "feature", words)) wrong.feature = feature_table()[*index].feature;
  }

  Reader& reader_;
  Verdict verdict_;
};

MatrixPattern exactly(const CooperativeMatrixShape& shape) {
  return {shape.m, shape.n, shape.k, shape.a, shape.b, shape.c, shape.result, shape.workgroup_scope};
}

}  // namespace

DeviceProfile with_verdict(const DeviceProfile& profile, const Verdict& verdict) {
  DeviceProfile device = profile;
  FeatureMask features = 0;
  for (const Verdict::Wrong& wrong : verdict.wrong) {
    if (wrong.feature) features |= bit(*wrong.feature);
    if (wrong.shape) distrust_matrices(exactly(*wrong.shape), device);
  }
  distrust_features(features, device);
  return device;
}

std::string verdict_path(const DeviceProfile& profile) {
  const auto folder = user_cache_folder();
  if (!folder) return "";
  return fmt::format("{}/checks/{}-{:x}.yaml", *folder, uuid_text(profile.device_uuid), profile.driver_version);
}

StoredVerdict stored_verdict(const DeviceProfile& profile) {
  const std::string path = verdict_path(profile);
  std::error_code failure;
  if (path.empty() || !std::filesystem::exists(path, failure)) return {};
  const auto text = read_file(path, kMostBytesOfAVerdict);
  auto verdict = text ? read_verdict(*text, path) : Expected<Verdict>(text.error());
  if (verdict) return {*std::move(verdict), ""};
  const std::string& message = verdict.error().message;
  return {std::nullopt, fmt::format("the verdict on '{}' is not used: {}; qgen-info --check makes it anew",
                                    profile.name, message.substr(0, message.find('\n')))};
}

DeviceProfile with_stored_verdict(const DeviceProfile& profile, std::string& warning) {
  StoredVerdict stored = stored_verdict(profile);
  warning = std::move(stored.warning);
  return stored.verdict ? with_verdict(profile, *stored.verdict) : profile;
}

Done store_verdict(const DeviceProfile& profile, const Verdict& verdict) {
  const std::string path = verdict_path(profile);
  if (path.empty()) {
    return Error{Error::Kind::system, "there is no folder to keep the verdict in", "set HOME or XDG_CACHE_HOME"};
  }
  Outputs outputs;
  const std::string head = fmt::format("# What qgen-info --check found on {}.\n", yaml::scalar_text(profile.name));
  if (const Done added = outputs.add(path, head + to_yaml(verdict), Outputs::Folder::is_made); !added) return added;
  return outputs.commit();
}

std::string to_yaml(const Verdict& verdict) {
  std::string text = fmt::format("checked: {}\nwrong:{}\n", verdict.date, verdict.wrong.empty() ? " []" : "");
  for (const Verdict::Wrong& wrong : verdict.wrong) {
    const std::string what = wrong.feature ? fmt::format("feature: {}", name(*wrong.feature))
                                           : fmt::format("matrix: {{{}}}", matrix_text(*wrong.shape));
    text += fmt::format("- {}\n  found: {}\n", what, yaml::scalar_text(wrong.found));
  }
  return text;
}

Expected<Verdict> read_verdict(std::string_view yaml, const std::string& file) {
  Reader reader(file);
  Verdict verdict;
  const Done done = reader.run(yaml, [&](const Node& root) { verdict = VerdictReader(reader).read(root); });
  if (!done) return done.error();
  return verdict;
}

}  // namespace qgen::profiles
