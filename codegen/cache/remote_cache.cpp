// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/cache/remote_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/cache/http.h"
#include "codegen/cache/sha256.h"
#include "common/text.h"

namespace qgen::cache {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kSeal = "QGENNET1";
constexpr milliseconds kSilence{200};
constexpr milliseconds kLeastTotal{250};
constexpr long kOk = 200, kMultipleChoices = 300, kNotFound = 404, kGone = 410;

HttpLimits limits_for(milliseconds compiling) { return {.silence = kSilence, .total = kLeastTotal + compiling / 10}; }

std::string checksum_of(const std::string& name, std::string_view pack) {
  const Sha256 digest = sha256_of(fmt::format("{}\n{}", name, pack));
  return {digest.begin(), digest.end()};
}

}  // namespace

std::string sealed(const std::string& name, const std::string& pack) {
  return std::string(kSeal) + checksum_of(name, pack) + pack;
}

std::optional<std::string> unsealed(const std::string& name, const std::string& bytes) {
  const size_t head = kSeal.size() + sizeof(Sha256);
  if (bytes.size() < head || !bytes.starts_with(kSeal)) return std::nullopt;
  std::string pack = bytes.substr(head);
  if (bytes.substr(kSeal.size(), sizeof(Sha256)) != checksum_of(name, pack)) return std::nullopt;
  return pack;
}

std::string without_user(const std::string& url) {
  const size_t begin = url.find("://");
  if (begin == url.npos) return url;
  const size_t host = begin + 3, end = std::min(url.find('/', host), url.size());
  const size_t at = url.rfind('@', end);
  return at == url.npos || at < host ? url : url.substr(0, host) + url.substr(at + 1);
}

RemoteCache::RemoteCache(const std::string& url, const std::string& compilers)
    : url_(url.substr(0, url.find_last_not_of('/') + 1)), folder_(url_ + "/" + compilers.substr(0, 16)) {}

std::string RemoteCache::fault_of(const std::string& url) {
  std::string scheme = url.substr(0, url.find(':'));
  std::ranges::transform(scheme, scheme.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool has_scheme = (scheme == "http" || scheme == "https") && url.substr(scheme.size()).starts_with("://");
  const auto is_plain = [](char c) { return c > ' ' && c < '\x7f'; };
  if (has_scheme && std::ranges::all_of(url, is_plain) && url.find_first_of("?#") == url.npos &&
      url.find_first_not_of('/', url.find(':') + 1) != url.npos)
    return "";
  return "is no URL of a folder, such as http://cache.example:8080/qgen";
}

std::vector<SpecPack> RemoteCache::fetch(std::span<const std::string> specs, milliseconds compiling) {
  std::vector<SpecPack> packs(specs.size());
  if (is_off_ || specs.empty()) return packs;
  std::vector<HttpRequest> requests;
  for (const std::string& spec : specs) requests.push_back({url_of(spec)});
  const std::vector<HttpAnswer> answers = transfer(requests, limits_for(compiling));
  for (size_t i = 0; i < specs.size(); ++i) {
    const HttpAnswer& answer = answers[i];
    if (answer.status == kNotFound || answer.status == kGone) continue;
    if (answer.status != kOk) {
      is_off_ = true;
      warn(fmt::format("the remote cache {} is not used: {}", printable(without_user(url_)),
                       answer.status ? fmt::format("it answers {}", answer.status) : printable(answer.fault)));
      continue;
    }
    const auto bytes = unsealed(folder_.substr(url_.size()) + "/" + specs[i], answer.body);
    if (bytes) packs[i] = SpecPack::from_bytes(*bytes);
    if (bytes && !packs[i].is_empty() && packs[i].is_sound()) continue;
    packs[i] = {};
    warn(fmt::format("the remote cache {} has wrong bytes for '{}', which are ignored", printable(without_user(url_)),
                     specs[i]));
  }
  return packs;
}

void RemoteCache::store(std::vector<Upload> uploads, milliseconds compiling) {
  if (is_off_ || uploads.empty()) return;
  std::vector<HttpRequest> requests;
  for (Upload& upload : uploads)
    requests.push_back({url_of(upload.spec), sealed(folder_.substr(url_.size()) + "/" + upload.spec, upload.pack)});
  const auto is_stored = [](const HttpAnswer& answer) {
    return answer.status >= kOk && answer.status < kMultipleChoices;
  };
  // One goes first: a server that stores nothing is not sent everything.
  const auto begin = std::chrono::steady_clock::now();
  HttpLimits limits = limits_for(compiling);
  const std::span<const HttpRequest> all = requests;
  if (!is_stored(transfer(all.first(1), limits).front())) {
    is_off_ = true;
    return;
  }
  limits.total -= std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
  if (all.size() > 1) transfer(all.subspan(1), limits);
}

}  // namespace qgen::cache
