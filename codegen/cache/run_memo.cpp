// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/cache/run_memo.h"

#include <algorithm>

#include "codegen/support/byte_stream.h"
#include "common/files.h"

namespace qgen {
template <typename Stream>
void fields(Stream& s, Figures& f) {
  s(f.specs, f.variants, f.modules, f.compiled, f.from_cache, f.from_remote, f.raw_bytes, f.blob_bytes, f.cpp_bytes,
    f.tuning_bytes);
}
}  // namespace qgen

namespace qgen::cache {

template <typename Stream>
void fields(Stream& s, RunMemo::Output& o) {
  s(o.path, o.bytes, o.content);
}
template <typename Stream>
void fields(Stream& s, FileStamp& f) {
  s(f.path, f.device, f.inode, f.bytes, f.modified_ns, f.changed_ns);
}
template <typename Stream>
void fields(Stream& s, RunMemo& m) {
  s(m.inputs, m.outputs, m.files_read, m.figures, m.request, m.stamps);
}

namespace {

constexpr size_t kDigestBytes = 16;
}  // namespace

// The digest of the rest stands first.
std::optional<RunMemo> load_memo(const std::string& path) {
  const auto file = read_file(path);
  if (!file || file->size() < kDigestBytes) return std::nullopt;
  const std::string body = file->substr(kDigestBytes);
  if (file->substr(0, kDigestBytes) != to_bytes(digest_of(body))) return std::nullopt;
  return from_bytes<RunMemo>(body);
}

Done store_memo(const std::string& path, const RunMemo& memo) {
  const std::string body = to_bytes(memo);
  return write_file(path, to_bytes(digest_of(body)) + body);
}

bool has_all_outputs(const RunMemo& memo, const std::string& folder) {
  return std::all_of(memo.outputs.begin(), memo.outputs.end(), [&](const RunMemo::Output& output) {
    const auto content = read_file(folder + "/" + output.path);
    return content && digest_of(*content) == output.content;
  });
}

}  // namespace qgen::cache
