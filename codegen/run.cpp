// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Order matters for a run that is killed: outputs first, then the packs of modules, the memo last. The next run makes
// missing files again, and files that a memo lists are complete.
#include "codegen/run.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "codegen/c_files.h"
#include "codegen/cache/remote_cache.h"
#include "codegen/cache/run_memo.h"
#include "codegen/compilers_id.h"
#include "codegen/listing.h"
#include "codegen/spirv_files.h"
#include "codegen/support/build_id.h"
#include "common/count_text.h"
#include "common/files.h"
#include "common/json/write.h"
#include "common/log.h"
#include "common/progress.h"
#include "common/text.h"
#include "common/version.h"
#include "runtime/engine/profiles/device_file.h"

namespace qgen {

struct Repeated::State {
  std::unique_ptr<workers::ProcessPool> pool;  // of all runs; its workers stay
  Kept kept;
  std::optional<Digest> inputs;  // of the last run, or of the error that its inputs gave
  size_t runs = 0;

  // Whether these inputs are others than those of the last run.
  bool is_new(const Digest& now) {
    if (inputs == now) return false;
    inputs = now;
    ++runs;
    return true;
  }
};

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Verbosity = RunOptions::Verbosity;

// ---- answers --------------------------------------------------------------------------------------------------------

RunResult failed(ExitCode code, std::string text) { return {code, "", std::move(text)}; }

// Failures of the machine; a mistyped path is the input's fault.
RunResult failed(const Error& error) {
  const bool is_input = error.kind == Error::Kind::not_found || error.kind == Error::Kind::invalid_argument;
  const std::string text = to_text(error);
  const bool names_file = text.find(": error: ") != text.npos;  // "devices/mine.yaml:3:1: error: ..."
  return failed(is_input ? ExitCode::bad_input : ExitCode::bad_machine,
                fmt::format("qgen: {}{}\n", names_file ? "" : "error: ", text));
}

RunResult failed(const Diagnostics& errors, const SourceTexts& texts) {
  return failed(ExitCode::bad_input,
                fmt::format("{}{} error{}\n", to_text(errors, texts), errors.size(), errors.size() == 1 ? "" : "s"));
}

// ---- the session ----------------------------------------------------------------------------------------------------

class Session {
 public:
  // `repeated`: what earlier runs of this process left; null: this is the only run.
  explicit Session(const RunOptions& options, Repeated::State* repeated = nullptr)
      : options_(options), repeated_(repeated), progress_(::isatty(STDERR_FILENO) != 0), threads_(options.threads) {}

  RunResult run();
  bool has_same_inputs() const { return has_same_inputs_; }  // as the last run of `repeated`

 private:
  Done read_all();
  workers::ProcessPool& pool();
  RunResult do_task();
  RunResult store();
  RunResult compile_share();
  RunResult check();
  RunResult answer();
  RunResult translate();
  RunResult store_spirv(const Product& product);
  RunResult store_c(const Product& product);

  Result<Product> generate(Room last_room);
  void add_settings(DigestBuilder& builder, const Subset& subset) const;
  Digest inputs_digest() const;
  Digest request_digest() const;
  std::vector<std::string> input_paths() const;
  std::string memo_path() const;
  std::string pack_path(const std::string& spec) const {
    return fmt::format("{}/specs/{}.pack", *options_.cache, spec);
  }
  // The parts of a spec's pack that runs with --shard left in the cache, by name.
  std::vector<std::string> part_paths(const std::string& spec) const;
  cache::SpecPack load_pack(const std::string& spec) const;
  std::string output_path(const std::string& file) const { return options_.output + "/" + file; }
  std::vector<cache::SpecPack> fetch_packs(std::span<const std::string> specs, size_t modules);
  void share(const Product& product);
  bool uses_stamps() const { return options_.task == Task::store && options_.cache && !repeated_; }
  std::optional<RunResult> nothing_to_do();
  std::optional<RunResult> no_file_changed();
  RunResult unchanged(const cache::RunMemo& memo);
  Expected<size_t> add_files(Outputs& outputs, const std::vector<emit::File>& files) const;
  Expected<std::vector<std::string>> orphans(const std::vector<emit::File>& files) const;
  Done add_depfile(Outputs& outputs, const std::vector<std::string>& files_read) const;
  Done add_stats(Outputs& outputs, const Figures& figures, size_t written) const;
  cache::RunMemo memo_of(const Product& product) const;
  void remember(const Product& product, const cache::RunMemo& memo);
  std::string report(const cache::RunMemo& memo, const std::string& deeds) const;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_quiet() const { return options_.verbosity == Verbosity::quiet; }

  const RunOptions& options_;
  Repeated::State* repeated_;
  bool has_same_inputs_ = false;
  const Clock::time_point start_ = Clock::now();
  Progress progress_;
  ThreadPool threads_;
  std::unique_ptr<workers::ProcessPool> pool_;
  workers::ModuleTools tools_;
  Inputs inputs_;
  Subset subset_;  // with its devices
  std::optional<cache::RemoteCache> remote_;
  std::optional<std::vector<cache::FileStamp>> input_stamps_;  // from before the inputs were read
  std::string warnings_;
  mutable std::optional<std::vector<std::string>> parts_in_cache_;  // the files of all specs; listed once
};

Done Session::read_all() {
  auto inputs = read_inputs(options_.specs, options_.template_roots);
  if (!inputs) return inputs.error();
  inputs_ = *std::move(inputs);
  if (!options_.tuning.empty()) {
    auto tunings = read_tunings(options_.tuning);
    if (!tunings) return tunings.error();
    inputs_.tunings = *std::move(tunings);
  }
  subset_ = options_.settings.subset;
  for (const std::string& file : options_.device_files) {
    auto device = profiles::load_device(file);
    if (!device) return device.error();
    subset_.devices.push_back(*std::move(device));
  }
  return std::monostate{};
}

RunResult Session::run() {
  if (uses_stamps()) {
    if (auto result = no_file_changed()) return *std::move(result);
    input_stamps_ = cache::settled_stamps(input_paths());
  }
  const Done read = read_all();
  has_same_inputs_ = repeated_ && !repeated_->is_new(read ? inputs_digest() : qgen::digest_of(to_text(read.error())));
  if (has_same_inputs_) return {};
  if (!read) return failed(read.error());
  RunResult result = do_task();
  if (remote_ && !remote_->warning().empty()) warnings_ += fmt::format("qgen: warning: {}\n", remote_->warning());
  result.err = warnings_ + result.err;
  return result;
}

RunResult Session::do_task() {
  switch (options_.task) {
    case Task::store: return store();
    case Task::compile_share: return compile_share();
    case Task::check: return check();
    case Task::translate: return translate();
    case Task::list:
    case Task::explain:
    case Task::explain_cost:
    case Task::why_not:
    case Task::show_room: break;
  }
  return answer();
}

// A worker more than there are cores would only take memory.
workers::ProcessPool& Session::pool() {
  std::unique_ptr<workers::ProcessPool>& pool = repeated_ ? repeated_->pool : pool_;
  if (!pool) {
    pool = workers::make_pool(std::min<size_t>(threads_.size(), std::max(1u, std::thread::hardware_concurrency())),
                              options_.limits);
  }
  return *pool;
}

Result<Product> Session::generate(Room last_room) {
  Settings settings = options_.settings;
  settings.last_room = last_room;
  settings.subset = subset_;
  tools_ = workers::in_workers(pool());
  Machine machine{.threads = threads_, .tools = tools_, .compilers = std::string(compilers_id())};
  machine.kept = repeated_ ? &repeated_->kept : nullptr;
  if (options_.cache) {
    machine.load_pack = [this](const std::string& spec) { return load_pack(spec); };
  }
  if (!is_quiet()) {
    machine.progress = [this](Room room, size_t done, size_t total) { progress_.show(name(room), done, total); };
  }
  // The edits of --watch are on no other machine.
  if (options_.cache && !options_.remote_cache.empty() && !(repeated_ && repeated_->runs > 1)) {
    remote_.emplace(options_.remote_cache, std::string(compilers_id()));
    machine.fetch_packs = [this](std::span<const std::string> specs, size_t modules) {
      return fetch_packs(specs, modules);
    };
  }
  auto product = qgen::generate(inputs_, settings, machine);
  if (product)
    product->files_read.insert(product->files_read.end(), options_.device_files.begin(), options_.device_files.end());
  progress_.clear();
  return product;
}

// ---- the remote cache -----------------------------------------------------------------------------------------------

// The time that the compilers need: 10 ms of CPU time a module (docs/results_host.md).
std::vector<cache::SpecPack> Session::fetch_packs(std::span<const std::string> specs, size_t modules) {
  constexpr size_t kMsPerModule = 10;
  const std::chrono::milliseconds compiling(kMsPerModule * modules / std::max<size_t>(threads_.size(), 1));
  return remote_->fetch(specs, compiling);
}

// Packs with modules that this run compiled. A run for a part of the variants does not know which others to keep.
void Session::share(const Product& product) {
  const bool is_part = !options_.settings.filter.empty() || !subset_.is_everything() || product.is_pruned;
  if (!remote_ || !remote_->is_used() || is_part || product.figures.compiled == 0) return;
  std::vector<cache::RemoteCache::Upload> uploads;
  for (const SpecJob& job : product.jobs) {
    if (job.has_new_modules) uploads.push_back({job.spec.name.value, job.pack.to_bytes(job.keys)});
  }
  remote_->store(std::move(uploads), std::chrono::milliseconds(static_cast<int64_t>(seconds() * 1000)));
}

// ---- shares ---------------------------------------------------------------------------------------------------------

// "<cache>/specs/softmax.3-of-8.part"
std::vector<std::string> Session::part_paths(const std::string& spec) const {
  if (!parts_in_cache_) {
    parts_in_cache_.emplace();
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(*options_.cache + "/specs", code)) {
      std::string name = entry.path().filename().string();
      if (name.ends_with(".part")) parts_in_cache_->push_back(std::move(name));
    }
    std::ranges::sort(*parts_in_cache_);
  }
  std::vector<std::string> paths;
  const std::string begin = spec + ".";
  for (const std::string& name : *parts_in_cache_) {
    const bool is_part = name.starts_with(begin) &&
                         name.substr(begin.size()).find_first_not_of("0123456789-of.part") == std::string::npos;
    if (is_part) paths.push_back(fmt::format("{}/specs/{}", *options_.cache, name));
  }
  return paths;
}

cache::SpecPack Session::load_pack(const std::string& spec) const {
  cache::SpecPack pack = cache::SpecPack::load(pack_path(spec));
  for (const std::string& path : part_paths(spec)) pack.add_all(cache::SpecPack::load(path));
  return pack;
}

// Each share has files of its own in the cache, so that shares on several machines, with one folder or with folders that
// are copied together, do not write to the same file.
RunResult Session::compile_share() {
  const auto product = generate(Room::reflect);
  if (!product) return failed(product.error(), texts_of(inputs_));
  const Shard& shard = options_.settings.shard;
  std::error_code code;
  fs::create_directories(*options_.cache + "/specs", code);
  for (const SpecJob& job : product->jobs) {
    if (!job.pack_changed) continue;
    std::vector<Digest> keys;
    std::ranges::copy_if(job.keys, std::back_inserter(keys), [&](const Digest& key) { return shard.has(key.low); });
    const std::string path =
        fmt::format("{}/specs/{}.{}-of-{}.part", *options_.cache, job.spec.name.value, shard.index, shard.count);
    if (const auto done = job.pack.store(path, keys); !done) return failed(done.error());
  }
  RunResult result;
  if (!is_quiet()) {
    result.out = fmt::format("share {}: {} compiled, {} of {} variants in the cache, {:.2f} s\n", to_text(shard),
                             product->figures.compiled, product->figures.compiled + product->figures.from_cache,
                             product->figures.variants, seconds());
  }
  return result;
}

// ---- nothing changed ------------------------------------------------------------------------------------------------

void Session::add_settings(DigestBuilder& builder, const Subset& subset) const {
  const Settings& settings = options_.settings;
  builder.add(build_id()).add(version()).add(compile::versions());
  builder.add(static_cast<uint64_t>(settings.compile.optimization))
      .add(static_cast<uint64_t>(settings.compile.target))
      .add(settings.filter)
      .add(settings.max_variants);
  builder.add(uint64_t{settings.prune.has_value()});
  if (settings.prune)
    builder.add(fmt::format("{}", settings.prune->loss)).add(uint64_t{settings.prune->keeps_unmeasured});
  builder.add(to_text(subset)).add(uint64_t{settings.emit.is_one_source}).add(settings.emit.name_space);
}

Digest Session::inputs_digest() const {
  DigestBuilder builder;
  add_settings(builder, subset_);
  const Digest inputs = digest_of(inputs_);
  return builder.add(inputs.high).add(inputs.low).finish();
}

// All files and folders that a run reads, or looks for files in.
std::vector<std::string> Session::input_paths() const {
  const auto& roots = options_.template_roots;
  std::vector<std::string> paths = roots.empty() ? default_template_roots(options_.specs) : roots;
  std::error_code code;
  for (const std::string& spec : options_.specs) {
    paths.push_back(spec);
    const fs::path folder = fs::path(spec).parent_path();  // a cost file may appear in it
    if (!fs::is_directory(spec, code)) paths.push_back(folder.empty() ? "." : folder.string());
  }
  if (!options_.tuning.empty()) paths.push_back(options_.tuning);
  paths.insert(paths.end(), options_.device_files.begin(), options_.device_files.end());
  return paths;
}

// Of everything that says which files a run reads and what it makes of them.
Digest Session::request_digest() const {
  DigestBuilder builder;
  add_settings(builder, options_.settings.subset);
  std::error_code code;
  builder.add(fs::current_path(code).string()).add(options_.output).add(options_.tuning);
  for (const auto& list : {options_.specs, input_paths(), options_.device_files}) {
    builder.add(list.size());
    for (const std::string& path : list) builder.add(path);
  }
  return builder.finish();
}

// One memo for each output folder.
std::string Session::memo_path() const {
  std::error_code code;
  const std::string folder = fs::weakly_canonical(options_.output, code).generic_string();
  return fmt::format("{}/runs/{}.memo", *options_.cache, to_text(qgen::digest_of(folder)));
}

std::optional<RunResult> Session::nothing_to_do() {
  if (!options_.cache) return std::nullopt;
  const auto memo = cache::load_memo(memo_path());
  if (!memo || memo->inputs != inputs_digest()) return std::nullopt;
  std::vector<std::string> outputs;
  for (const auto& output : memo->outputs) outputs.push_back(output_path(output.path));
  const auto output_stamps = input_stamps_ ? cache::settled_stamps(outputs) : std::nullopt;  // before they are read
  if (!cache::has_all_outputs(*memo, options_.output)) return std::nullopt;
  if (output_stamps) {
    cache::RunMemo stamped = *memo;
    stamped.request = request_digest();
    stamped.stamps = *input_stamps_;
    stamped.stamps.insert(stamped.stamps.end(), output_stamps->begin(), output_stamps->end());
    static_cast<void>(cache::store_memo(memo_path(), stamped));  // without it, the next run reads the files again
  }
  return unchanged(*memo);
}

// As the run before found them; so no file is read.
std::optional<RunResult> Session::no_file_changed() {
  const auto memo = cache::load_memo(memo_path());
  if (!memo || memo->stamps.empty() || memo->request != request_digest()) return std::nullopt;
  if (!cache::are_unchanged(memo->stamps)) return std::nullopt;
  return unchanged(*memo);
}

RunResult Session::unchanged(const cache::RunMemo& memo) {
  Figures figures = memo.figures;
  figures.compiled = 0;
  figures.from_cache = figures.variants;
  figures.from_remote = 0;
  Outputs outputs;
  for (const auto& output : memo.outputs)
    outputs.keep(output_path(output.path), "another output of this command goes there");
  if (auto done = add_depfile(outputs, memo.files_read); !done) return failed(done.error());
  if (auto done = add_stats(outputs, figures, 0); !done) return failed(done.error());
  if (auto done = outputs.commit(); !done) return failed(done.error());
  return RunResult{ExitCode::done, report(memo, "nothing changed"), ""};
}

cache::RunMemo Session::memo_of(const Product& product) const {
  cache::RunMemo memo;
  memo.inputs = inputs_digest();
  for (const emit::File& file : product.files) {
    memo.outputs.push_back({file.path, file.text.size(), qgen::digest_of(file.text)});
  }
  memo.files_read = product.files_read;
  memo.figures = product.figures;
  return memo;
}

void Session::remember(const Product& product, const cache::RunMemo& memo) {
  if (!options_.cache) return;
  const auto warn = [&](const Done& done) {
    if (!done) warnings_ += fmt::format("qgen: warning: the cache was not written: {}\n", to_text(done.error()));
    return static_cast<bool>(done);
  };
  remove_abandoned_files(*options_.cache + "/specs");
  remove_abandoned_files(*options_.cache + "/runs");
  for (const SpecJob& job : product.jobs) {
    // A filtered or pruned run does not know which other entries are worth keeping.
    const bool is_part = !options_.settings.filter.empty() || !subset_.is_everything();
    const std::string& spec = job.spec.name.value;
    const std::vector<std::string> parts = part_paths(spec);
    if ((!job.pack_changed && parts.empty()) || is_part || product.is_pruned) continue;
    if (!warn(job.pack.store(pack_path(spec), job.keys))) return;
    std::error_code code;
    for (const std::string& part : parts) fs::remove(part, code);  // the pack has it now
  }
  warn(cache::store_memo(memo_path(), memo));
}

// ---- storing --------------------------------------------------------------------------------------------------------

bool is_written_by_qgen(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return false;
  const std::string_view first_line = std::string_view(*text).substr(0, text->find('\n'));
  return first_line.find(emit::kGeneratedMark) != first_line.npos;
}

// Files under cpp/ that qgen made once and makes no more.
Expected<std::vector<std::string>> Session::orphans(const std::vector<emit::File>& files) const {
  std::error_code code;
  if (!fs::is_directory(output_path("cpp"), code)) return std::vector<std::string>{};
  const auto present = list_files(output_path("cpp"));
  if (!present) return present.error();
  std::set<std::string> made;
  for (const emit::File& file : files) made.insert(file.path);
  std::vector<std::string> orphaned;
  for (const std::string& name : *present) {
    const std::string path = "cpp/" + name;
    if (made.count(path) == 0 && is_written_by_qgen(output_path(path))) orphaned.push_back(path);
  }
  return orphaned;
}

// How many differ from the existing files, and will be written.
Expected<size_t> Session::add_files(Outputs& outputs, const std::vector<emit::File>& files) const {
  size_t changed = 0;
  for (const emit::File& file : files) {
    const auto added = outputs.add_if_changed(output_path(file.path), file.text, Outputs::Folder::is_made);
    if (!added) return added.error();
    changed += *added ? 1 : 0;
  }
  return changed;
}

// Absolute, since ninja and make read it from another folder.
Done Session::add_depfile(Outputs& outputs, const std::vector<std::string>& files_read) const {
  if (options_.depfile.empty() && options_.stats_file.empty()) return Done(std::monostate{});
  for (const std::string& file : files_read) outputs.keep(file, "this command reads it");
  if (options_.depfile.empty()) return Done(std::monostate{});
  const auto absolute = [](const std::string& path) { return fs::absolute(path).lexically_normal().generic_string(); };
  std::vector<std::string> inputs;
  for (const std::string& file : files_read) inputs.push_back(absolute(file));
  std::sort(inputs.begin(), inputs.end());
  const auto done = outputs.add_if_changed(
      options_.depfile, emit::depfile(absolute(output_path("MANIFEST.tsv")), inputs), Outputs::Folder::is_made);
  if (!done) return done.error();
  return Done(std::monostate{});
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string summary(const Figures& figures) {
  const double part = figures.raw_bytes == 0
                          ? 0
                          : 100.0 * static_cast<double>(figures.blob_bytes) / static_cast<double>(figures.raw_bytes);
  return fmt::format("{}, {}, {}, SPIR-V {} in a blob of {} ({:.0f} %), C++ {}", count_text(figures.specs, "spec"),
                     count_text(figures.variants, "variant"), count_text(figures.modules, "module"),
                     bytes_text(figures.raw_bytes), bytes_text(figures.blob_bytes), part,
                     bytes_text(figures.cpp_bytes));
}

// The report of a run: the result, and the work for it; with -v every file.
std::string Session::report(const cache::RunMemo& memo, const std::string& deeds) const {
  if (is_quiet()) return "";
  if (repeated_ && repeated_->runs > 1) return fmt::format("{}, {:.3f} s\n", deeds, seconds());
  std::string text = fmt::format("{}\n{}, {:.2f} s\n", summary(memo.figures), deeds, seconds());
  if (options_.verbosity != Verbosity::verbose) return text;
  for (const auto& output : memo.outputs) text += fmt::format("  {:>9} {}\n", output.bytes, output_path(output.path));
  return text;
}

std::string stats_json(const Figures& f, size_t written, double seconds) {
  return json::to_text({{"specs", f.specs},
                        {"variants", f.variants},
                        {"modules", f.modules},
                        {"compiled", f.compiled},
                        {"from_cache", f.from_cache},
                        {"from_remote_cache", f.from_remote},
                        {"raw_bytes", f.raw_bytes},
                        {"blob_bytes", f.blob_bytes},
                        {"cpp_bytes", f.cpp_bytes},
                        {"tuning_bytes", f.tuning_bytes},
                        {"files_written", written},
                        {"seconds", std::round(seconds * 1000) / 1000}}) +
         "\n";
}

Done Session::add_stats(Outputs& outputs, const Figures& figures, size_t written) const {
  if (options_.stats_file.empty()) return Done(std::monostate{});
  return outputs.add(options_.stats_file, stats_json(figures, written, seconds()), Outputs::Folder::is_made);
}

// The work of a run, for its report.
std::string deeds(const Figures& figures, size_t written) {
  const std::string remote =
      figures.from_remote ? fmt::format(" ({} of them from the remote one)", figures.from_remote) : "";
  return fmt::format("{} compiled, {} from the cache{}, {} files written", figures.compiled, figures.from_cache, remote,
                     written);
}

RunResult Session::store() {
  if (auto result = nothing_to_do()) return *std::move(result);
  auto product = generate(Room::emit);
  if (!product) return failed(product.error(), texts_of(inputs_));

  Outputs outputs;
  const auto written = add_files(outputs, product->files);
  if (!written) return failed(written.error());
  if (auto done = add_depfile(outputs, product->files_read); !done) return failed(done.error());
  if (auto done = add_stats(outputs, product->figures, *written); !done) return failed(done.error());
  if (auto done = outputs.commit(); !done) return failed(done.error());

  const auto orphaned = orphans(product->files);
  if (!orphaned) return failed(orphaned.error());
  RunResult result;
  for (const std::string& orphan : *orphaned) {
    std::error_code code;
    fs::remove(output_path(orphan), code);
    result.out += fmt::format("removed {}, which no spec makes any more\n", printable(output_path(orphan)));
  }
  result.out += options_.verbosity == Verbosity::verbose && product->is_pruned ? product->pruned_ids : product->notes;
  const cache::RunMemo memo = memo_of(*product);
  remember(*product, memo);
  share(*product);
  if (repeated_) keep_packs(*product, &repeated_->kept);
  result.out += report(memo, deeds(product->figures, *written));
  if (is_quiet()) result.out = product->is_pruned ? product->notes : "";
  return result;
}

RunResult Session::check() {
  const auto product = generate(Room::emit);
  if (!product) return failed(product.error(), texts_of(inputs_));
  RunResult result;
  for (const emit::File& file : product->files) {
    const std::string path = output_path(file.path);
    std::error_code code;
    const bool is_there = fs::exists(path, code);
    if (!is_there && file.path == kBlobFile) continue;  // not in git
    const auto present = read_file(path);
    if (is_there && !present) return failed(present.error());
    if (!is_there) result.out += fmt::format("missing: {}\n", path);
    else if (*present != file.text) result.out += fmt::format("differs: {}\n", path);
  }
  const auto orphaned = orphans(product->files);
  if (!orphaned) return failed(orphaned.error());
  for (const std::string& orphan : *orphaned)
    result.out += fmt::format("orphan:  {}\n", printable(output_path(orphan)));
  if (result.out.empty()) {
    if (!is_quiet()) result.out = fmt::format("{} is current\n", options_.output);
    return result;
  }
  result.code = ExitCode::differs;
  result.err = "hint: run qgen without --check to bring the folder up to date\n";
  return result;
}

// ---- questions ------------------------------------------------------------------------------------------------------

Room room_needed(const RunOptions& options) {
  switch (options.task) {
    case Task::explain_cost: return Room::spec;
    case Task::list:
    case Task::why_not: return Room::expand;
    case Task::show_room: return options.shown_room == Room::compile ? Room::reflect : options.shown_room;
    case Task::explain:
    case Task::translate: return Room::reflect;
    case Task::compile_share: return Room::reflect;
    case Task::store:
    case Task::check: break;
  }
  return Room::emit;
}

RunResult Session::answer() {
  const auto product = generate(room_needed(options_));
  if (!product) return failed(product.error(), texts_of(inputs_));
  const auto ask = [&]() -> Result<std::string> {
    switch (options_.task) {
      case Task::explain: return explain(*product, options_.question);
      case Task::explain_cost: return explain_cost(*product, options_.question, subset_.devices);
      case Task::why_not: return why_not(*product, options_.question);
      case Task::list: return list_variants(*product);
      case Task::store:
      case Task::compile_share:
      case Task::check:
      case Task::show_room:
      case Task::translate: break;
    }
    return text_of(*product, options_.shown_room);
  };
  const Result<std::string> text = ask();
  if (!text) return failed(text.error(), {});
  return {ExitCode::done, *text, ""};
}

RunResult Session::store_spirv(const Product& product) {
  const std::vector<emit::File> files = spirv_files(product);
  Outputs outputs;
  if (const auto added = add_files(outputs, files); !added) return failed(added.error());
  if (const auto done = outputs.commit(); !done) return failed(done.error());
  RunResult result;
  result.out =
      fmt::format("{} modules of {} variants, and spv/index.json\n", files.size() - 1, product.figures.variants);
  return result;
}

RunResult Session::store_c(const Product& product) {
  const std::vector<emit::File> files = c_files(product);
  if (files.empty())
    return failed(refused("no kernel can be written as C", "recipes and kernels of cooperative matrices are left out"));
  Outputs outputs;
  if (const auto added = add_files(outputs, files); !added) return failed(added.error());
  if (const auto done = outputs.commit(); !done) return failed(done.error());
  RunResult result;
  result.out = fmt::format("{} operators as C, in c/\n", files.size() / 2 - 1);
  return result;
}

RunResult Session::translate() {
  const auto product = generate(room_needed(options_));
  if (!product) return failed(product.error(), texts_of(inputs_));
  if (options_.is_in_c) return store_c(*product);
  if (!options_.language) return store_spirv(*product);
  const Translated translated = translate_all(*product, *options_.language, tools_);
  Outputs outputs;
  if (const auto added = add_files(outputs, translated.files); !added) return failed(added.error());
  if (const auto done = outputs.commit(); !done) return failed(done.error());
  RunResult result;
  for (const std::string& line : translated.refused) result.out += fmt::format("not translated: {}\n", line);
  result.out += fmt::format("{} variants translated, {} not\n", translated.files.size(), translated.refused.size());
  return result;
}

}  // namespace

// Messages quote the user's lines, and those may hold anything.
void print(const RunResult& result) {
  std::fwrite(result.out.data(), 1, result.out.size(), stdout);
  std::fflush(stdout);
  write_log(result.err);
}

RunResult run(const RunOptions& options) { return Session(options).run(); }

Repeated::Repeated(RunOptions options) : options_(std::move(options)), state_(std::make_unique<State>()) {}
Repeated::~Repeated() = default;

std::optional<RunResult> Repeated::run() {
  Session session(options_, state_.get());
  RunResult result = session.run();
  if (session.has_same_inputs()) return std::nullopt;
  return result;
}

}  // namespace qgen
