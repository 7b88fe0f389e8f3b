// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The cache is between render and compile. If a variant's rendered text, without comments, was compiled before, its
// module, interface and resources come from the spec's pack. All variants meet again in emit.
#include "codegen/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <map>
#include <mutex>
#include <set>

#include "codegen/emit/products.h"
#include "codegen/emit/tuning.h"
#include "codegen/render/blame.h"
#include "codegen/spec/parse_spec.h"
#include "runtime/engine/library/blob_format.h"
#include "vocabulary/dtypes.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

constexpr size_t kKernelsPerVariant = 20;                 // on average; the shipped specs have 8
constexpr size_t kMostRenderedBytes = size_t{512} << 20;  // of all variants together

// The variants of all specs as one sequence, for the thread pool.
struct VariantIndex {
  SpecJob* job;
  size_t variant;
};

// Variants that reached a limit of the compiler. Each fails the run and takes seconds. Others of its template would
// probably fail too, so they are not compiled. After kMostSecondsLost no variant is compiled.
class CompileFailures {
 public:
  bool may_compile(const SpecJob& job) {
    const std::lock_guard lock(mutex_);
    if (seconds_lost_ < kMostSecondsLost && !is_cut_off(job.spec.template_path->value)) return true;
    ++untried_;
    return false;
  }

  void add(const SpecJob& job, double seconds) {
    const std::lock_guard lock(mutex_);
    seconds_lost_ += seconds;
    cut_off_.emplace(job.spec.template_path->value, job.rendered.front().files.front().display);
  }

  // Adds to the first report of a limit how many variants were not compiled.
  void count_untried(Diagnostics& errors) const {
    if (untried_ == 0) return;
    const auto first = std::find_if(errors.begin(), errors.end(), [this](const Diagnostic& error) {
      return std::any_of(cut_off_.begin(), cut_off_.end(),
                         [&](const auto& file) { return file.second == error.where.file; });
    });
    assert(first != errors.end() && "the omitted part is reported");
    first->notes.emplace_back().message =
        fmt::format("{} more variant{} not tried after that", untried_, untried_ == 1 ? " was" : "s were");
  }

 private:
  static constexpr double kMostSecondsLost = 1;
  bool is_cut_off(const std::string& path) const { return cut_off_.count(path) != 0; }

  std::mutex mutex_;
  std::map<std::string, std::string> cut_off_;  // templates: path, and as diagnostics name it
  double seconds_lost_ = 0;
  size_t untried_ = 0;
};

class Run {
 public:
  Run(const Inputs& inputs, const Settings& settings, const Machine& machine)
      : inputs_(inputs), settings_(settings), machine_(machine) {}

  // The rooms; each takes the output of the previous one and returns its errors.
  Diagnostics spec();
  Diagnostics expand();
  Diagnostics render();
  Diagnostics compile();
  Diagnostics reflect();
  Diagnostics emit();

  Product take_product() { return std::move(product_); }
  // After an error: the packs are still those of the inputs before.
  void keep_packs() { qgen::keep_packs(product_, machine_.kept); }

 private:
  using FileDigests = std::map<std::string, Digest, std::less<>>;
  struct Compiled {
    VariantIndex place;
    compile::Spirv spirv;
  };

  Result<std::vector<spec::Spec>> parse_specs() const;
  Digest digest_of_specs() const;
  Diagnostic none_of(const spec::Spec& spec) const;
  Diagnostics too_many_kernels() const;
  Diagnostics too_much_text() const;
  void for_each(Room room, size_t count, const std::function<void(size_t)>& step);
  Diagnostics gather_errors(std::vector<Diagnostics> errors, const std::vector<VariantIndex>& places) const;
  Diagnostics refused(const VariantIndex& place, const workers::Refusal& refusal);
  Diagnostics check_templates() const;
  compile::Options options_of(const SpecJob& job) const;
  Digest key_of(const SpecJob& job, size_t variant, const std::string& versions) const;
  std::vector<VariantIndex> all_variants();
  void take_kept_keys(const FileDigests& digests);
  void load_packs();
  void find_keys();
  void fetch_missing();
  Kept::ModuleFacts facts_of(const SpecJob& job, const Digest& module) const;
  Diagnostics compile_one(Compiled& compiled);
  Diagnostics reflect_one(Compiled& compiled, cache::CachedModule& module);
  std::vector<emit::Family> families_of_jobs() const;
  std::vector<emit::CheckedTuning> check_tunings(std::span<const emit::Family> families);
  void drop_what_runs_nowhere();
  void drop(const prune::Pruned& pruned);
  void pack_family(SpecJob& job, std::vector<uint32_t>& rows);
  FileDigests digests_of_files() const;
  Result<render::Template> parse_template(const spec::Spec& spec, const FileDigests& digests,
                                          const std::shared_ptr<const render::Givers>& givers) const;
  std::vector<std::vector<uint64_t>> tables_digests(std::span<const emit::Family> families);
  Result<std::vector<emit::File>> emit_files(std::span<const emit::Family> families,
                                             std::span<const emit::CheckedTuning> tunings,
                                             std::span<const std::vector<uint64_t>> digests) const;

  const Inputs& inputs_;
  const Settings& settings_;
  const Machine& machine_;
  Product product_;
  std::vector<Compiled> compiled_;  // the variants that the cache did not know
  CompileFailures compile_failures_;
};

// ---- helpers --------------------------------------------------------------------------------------------------------

void Run::for_each(Room room, size_t count, const std::function<void(size_t)>& step) {
  std::atomic<size_t> done = 0;
  machine_.threads.for_each_index(count, [&](size_t i) {
    step(i);
    if (machine_.progress) machine_.progress(room, ++done, count);
  });
}

std::vector<VariantIndex> Run::all_variants() {
  std::vector<VariantIndex> places;
  for (SpecJob& job : product_.jobs) {
    for (size_t v = 0; v < job.variants.size(); ++v) places.push_back({&job, v});
  }
  return places;
}

// Errors of single variants; one fault that many share becomes one report.
Diagnostics Run::gather_errors(std::vector<Diagnostics> errors, const std::vector<VariantIndex>& places) const {
  std::vector<render::VariantErrors> by_variant;
  for (size_t i = 0; i < errors.size(); ++i) {
    if (errors[i].empty()) continue;
    const auto& [job, v] = places[i];
    by_variant.push_back({job->variants[v].id, expand::describe(job->spec, job->variants[v]), std::move(errors[i])});
  }
  return render::gather(by_variant);
}

// ---- spec -----------------------------------------------------------------------------------------------------------

Digest Run::digest_of_specs() const {
  DigestBuilder builder;
  builder.add(inputs_.is_whole_tree);
  for (const SpecFile& file : inputs_.specs) builder.add(file.path).add(file.source).add(file.text);
  return builder.finish();
}

Result<std::vector<spec::Spec>> Run::parse_specs() const {
  const Digest digest = machine_.kept ? digest_of_specs() : Digest();
  if (machine_.kept && !machine_.kept->parsed.empty() && machine_.kept->specs == digest) return machine_.kept->parsed;
  std::vector<spec::SpecText> texts;
  for (const SpecFile& file : inputs_.specs) texts.push_back({file.path, file.text});
  using spec::UnusedFragments;
  auto specs =
      spec::parse_specs(texts, inputs_.is_whole_tree ? UnusedFragments::are_errors : UnusedFragments::are_fine);
  if (!specs) return specs;
  if (Diagnostics errors = spec::check_specs(*specs); !errors.empty()) return errors;
  if (machine_.kept) {
    machine_.kept->templates.clear();
    machine_.kept->specs = digest;
    machine_.kept->parsed = *specs;
  }
  return specs;
}

Diagnostics Run::spec() {
  std::map<std::string_view, const SpecFile*> files;
  for (const SpecFile& file : inputs_.specs) {
    files.emplace(file.path, &file);
    product_.files_read.push_back(file.path);
  }
  auto specs = parse_specs();
  if (!specs) return specs.error();

  const auto kept = kept_specs(settings_.subset, *specs);
  if (!kept) return kept.error();
  for (size_t i = 0; i < specs->size(); ++i) {
    if (!(*kept)[i]) continue;
    spec::Spec& spec = (*specs)[i];
    SpecJob& job = product_.jobs.emplace_back();
    job.file = files.at(spec.file);
    job.spec = std::move(spec);
  }
  std::sort(product_.jobs.begin(), product_.jobs.end(),
            [](const SpecJob& a, const SpecJob& b) { return a.spec.name.value < b.spec.name.value; });
  product_.figures.specs = product_.jobs.size();
  return {};
}

// ---- expand ---------------------------------------------------------------------------------------------------------

Diagnostics Run::expand() {
  Diagnostics errors;
  std::vector<std::string> ids;  // that a filter may have meant
  size_t count = 0;
  for (SpecJob& job : product_.jobs) {
    if (!job.spec.template_path) continue;
    auto variants = expand::expand(job.spec, settings_.max_variants);
    if (!variants) {
      append(errors, spec::with_uses(variants.error(), job.spec));
      continue;
    }
    count += variants->size();
    job.variants = *std::move(variants);
    std::erase_if(job.variants, [&](const auto& variant) { return !keeps(settings_.subset, job.spec, variant); });
    if (job.variants.empty()) errors.push_back(none_of(job.spec));
    if (settings_.filter.empty()) continue;
    for (const auto& variant : job.variants) ids.push_back(variant.id);
    std::erase_if(job.variants, [&](const auto& variant) { return !matches(settings_.filter, variant.id); });
  }
  errors = spec::gather(std::move(errors));
  if (errors.empty() && count <= settings_.max_variants) append(errors, too_many_kernels());
  if (errors.empty() && count > settings_.max_variants) {
    Diagnostic& error = errors.emplace_back();
    error.message = fmt::format("the specs expand to {} variants", count);
    error.expected = fmt::format("at most {}", settings_.max_variants);
    error.hint = "raise --max-variants if this is intended";
  }
  for (const SpecJob& job : product_.jobs) product_.figures.variants += job.variants.size();
  if (errors.empty() && count > 0 && product_.figures.variants == 0) {
    Diagnostic& error = errors.emplace_back();
    error.message = fmt::format("no variant's id matches '{}'", settings_.filter);
    error.hint = suggest(settings_.filter, ids);
    if (error.hint.empty()) error.hint = "--list prints every id; '*' matches any text, '?' any character";
  }
  return errors;
}

// Of a spec, all of whose variants have other dtypes or layouts than those that are wanted.
Diagnostic Run::none_of(const spec::Spec& spec) const {
  std::vector<std::string> axes;
  for (const spec::Axis& axis : spec.parameters) {
    std::vector<std::string> values;
    for (const auto& value : axis.values) values.push_back(expression::to_text(value.value));
    if (!find_dtype(values.front()) && !find_layout(values.front())) continue;
    axes.push_back(fmt::format("{} can be {}", axis.name.value, fmt::join(values, ", ")));
  }
  Diagnostic error;
  error.where = spec.name.where;
  error.message = fmt::format("no variant of '{}' has these dtypes and layouts", spec.name.value);
  error.expected = fmt::format("{}", fmt::join(axes, "; "));
  return error;
}

// The remembered and the written data of each kernel grow with this product.
Diagnostics Run::too_many_kernels() const {
  const size_t most = kKernelsPerVariant * settings_.max_variants;
  size_t count = 0;
  for (const SpecJob& job : product_.jobs) {
    const size_t of_each = job.variants.empty() ? 0 : emit::specialization_rows(job.spec).size();
    count += job.variants.size() * of_each;
    if (count <= most) continue;
    Diagnostic error;
    error.where = job.spec.specialization.front().name.where;
    error.message = fmt::format(
        "with '{}', whose {} variants have {} combinations of specialization values each, "
        "there are more than {} kernels",
        job.spec.name.value, job.variants.size(), of_each, most);
    error.hint =
        fmt::format("keep the values worth choosing; --max-variants N allows {} N kernels", kKernelsPerVariant);
    return {error};
  }
  return {};
}

// ---- render ---------------------------------------------------------------------------------------------------------

// A template that no spec names is never compiled, so nothing would tell that it is wrong. Roots after the first belong
// to other projects, whose files may be included.
Diagnostics Run::check_templates() const {
  if (!inputs_.is_whole_tree || !settings_.subset.operators.empty()) return {};
  std::set<std::string> named;
  for (const SpecJob& job : product_.jobs) {
    if (job.spec.template_path) named.insert(job.spec.template_path->value);
  }
  Diagnostics errors;
  for (const auto& [path, file] : inputs_.templates) {
    if (!file.is_of_first_root || path.starts_with("lib/") || named.count(path) != 0) continue;
    Diagnostic& error = errors.emplace_back();
    error.where.file = file.display;
    error.message = "no spec names this template";
    error.hint = "name it as `template: " + path + "`, move it below lib/, or delete it";
  }
  return errors;
}

// Of each template file, by the name that Template::files() has.
Run::FileDigests Run::digests_of_files() const {
  FileDigests digests;
  for (const auto& [path, file] : inputs_.templates) digests.emplace(file.display, qgen::digest_of(file.text));
  return digests;
}

// Of all files that a template was made from.
template <typename FileDigests>
Digest digest_of_files(const render::Template& parsed, const FileDigests& digests) {
  DigestBuilder builder;
  for (const std::string& file : parsed.files()) {
    const auto found = digests.find(file);
    if (found != digests.end()) builder.add(file).add(found->second.high).add(found->second.low);
  }
  return builder.finish();
}

// From `kept`, if its files are the same.
Result<render::Template> Run::parse_template(const spec::Spec& spec, const FileDigests& digests,
                                             const std::shared_ptr<const render::Givers>& givers) const {
  const auto parse = [&] { return render::parse_template(spec, inputs_.templates, inputs_.template_roots, givers); };
  if (!machine_.kept) return parse();
  auto& templates = machine_.kept->templates;
  const auto known = templates.find(spec.name.value);
  if (known != templates.end() && known->second.files == digest_of_files(known->second.parsed, digests))
    return known->second.parsed;
  auto parsed = parse();
  if (parsed)
    templates.insert_or_assign(spec.name.value, Kept::ParsedTemplate{digest_of_files(*parsed, digests), *parsed});
  return parsed;
}

// Marks the jobs whose keys are known, and whose pack has all their modules: nothing of them is rendered or compiled.
void Run::take_kept_keys(const FileDigests& digests) {
  Kept& kept = *machine_.kept;
  for (SpecJob& job : product_.jobs) {
    if (job.parsed_template.empty()) continue;
    const Digest files = digest_of_files(job.parsed_template.front(), digests);
    DigestBuilder builder;
    builder.add(kept.specs.high).add(kept.specs.low).add(files.high).add(files.low).add(job.variants.size());
    Kept::Keys& known = kept.keys[job.spec.name.value];
    const Digest made_from = builder.finish();
    const auto pack = kept.packs.find(job.spec.name.value);
    job.has_kept_keys =
        known.made_from == made_from && known.keys.size() == job.variants.size() && pack != kept.packs.end() &&
        std::ranges::all_of(known.keys, [&](const Digest& key) { return pack->second.find(key) != nullptr; });
    if (job.has_kept_keys) job.keys = known.keys;
    else known = {made_from, {}};
  }
}

Diagnostics Run::render() {
  Diagnostics errors = check_templates();
  std::set<std::string> files_read;
  const auto givers = std::make_shared<const render::Givers>(render::givers_among(inputs_.templates));
  const FileDigests digests = machine_.kept ? digests_of_files() : FileDigests();
  for (SpecJob& job : product_.jobs) {
    if (!job.spec.template_path) continue;
    auto parsed = parse_template(job.spec, digests, givers);
    if (!parsed) {
      append(errors, spec::with_uses(parsed.error(), job.spec));
      continue;
    }
    files_read.insert(parsed->files().begin(), parsed->files().end());
    job.parsed_template.push_back(*std::move(parsed));
    job.rendered.resize(job.variants.size());
  }
  if (!errors.empty()) return spec::gather(std::move(errors));
  product_.files_read.insert(product_.files_read.end(), files_read.begin(), files_read.end());

  if (machine_.kept) take_kept_keys(digests);
  std::vector<VariantIndex> places = all_variants();
  std::erase_if(places, [](const VariantIndex& place) { return place.job->has_kept_keys; });
  std::vector<Diagnostics> failures(places.size());
  std::atomic<size_t> bytes = 0;
  for_each(Room::render, places.size(), [&](size_t i) {
    if (bytes > kMostRenderedBytes) return;
    const auto& [job, v] = places[i];
    auto rendered = render::render(job->parsed_template.front(), job->spec, job->variants[v]);
    if (!rendered) {
      failures[i] = rendered.error();
      return;
    }
    bytes += rendered->text.size() + rendered->origins.size() * sizeof(render::LineOrigin);
    job->rendered[v] = *std::move(rendered);
  });
  if (bytes > kMostRenderedBytes) append(errors, too_much_text());
  append(errors, gather_errors(std::move(failures), places));
  return errors;
}

// At the template with the most.
Diagnostics Run::too_much_text() const {
  const auto bytes_of = [](const SpecJob& job) {
    size_t bytes = 0;
    for (const render::Rendered& rendered : job.rendered) bytes += rendered.text.size();
    return bytes;
  };
  const auto largest = std::ranges::max_element(product_.jobs, {}, bytes_of);
  const auto rendered = std::ranges::find_if(largest->rendered, [](const auto& one) { return !one.files.empty(); });
  Diagnostic error;
  error.where.file = rendered->files.front().display;
  error.message = fmt::format("the rendered texts of all variants exceed {} MiB together", kMostRenderedBytes >> 20);
  error.hint = fmt::format("most of it is of this template, in the {} variants of '{}'", largest->variants.size(),
                           largest->spec.name.value);
  return {error};
}

// ---- compile --------------------------------------------------------------------------------------------------------

compile::Options Run::options_of(const SpecJob& job) const {
  return {settings_.compile.optimization, job.spec.target.value_or(settings_.compile.target)};
}

Digest Run::key_of(const SpecJob& job, size_t variant, const std::string& versions) const {
  DigestBuilder key;
  key.add(machine_.compilers)
      .add(versions)
      .add(static_cast<uint64_t>(settings_.compile.optimization))
      .add(static_cast<uint64_t>(options_of(job).target));
  key.add(render::without_comments(job.rendered[variant].text));
  for (const auto& row : emit::specialization_rows(job.spec)) {  // resources are remembered for each of them
    for (const uint32_t value : row) key.add(value);
  }
  return key.finish();
}

void Run::load_packs() {
  for (SpecJob& job : product_.jobs) {
    if (machine_.kept && machine_.kept->packs.contains(job.spec.name.value)) {
      job.pack = std::move(machine_.kept->packs.extract(job.spec.name.value).mapped());
      continue;
    }
    const bool is_filtered_out = job.variants.empty() && !settings_.filter.empty();
    if (machine_.load_pack && !is_filtered_out) job.pack = machine_.load_pack(job.spec.name.value);
  }
}

void Run::find_keys() {
  const std::string versions = compile::versions();
  std::vector<VariantIndex> all = all_variants();
  std::erase_if(all, [](const VariantIndex& place) { return place.job->has_kept_keys; });
  for (SpecJob& job : product_.jobs) job.keys.resize(job.variants.size());
  machine_.threads.for_each_index(
      all.size(), [&](size_t i) { all[i].job->keys[all[i].variant] = key_of(*all[i].job, all[i].variant, versions); });
  if (!machine_.kept) return;
  for (const SpecJob& job : product_.jobs) machine_.kept->keys[job.spec.name.value].keys = job.keys;
}

// One request for each spec with modules that this machine does not have.
void Run::fetch_missing() {
  std::vector<std::string> specs;
  std::vector<SpecJob*> jobs;
  size_t modules = 0;
  for (SpecJob& job : product_.jobs) {
    std::set<Digest> missing;
    std::ranges::copy_if(job.keys, std::inserter(missing, missing.end()),
                         [&](const Digest& key) { return !job.pack.find(key) && settings_.shard.has(key.low); });
    if (missing.empty()) continue;
    modules += missing.size();
    specs.push_back(job.spec.name.value);
    jobs.push_back(&job);
  }
  if (specs.empty()) return;
  std::vector<cache::SpecPack> packs = machine_.fetch_packs(specs, modules);
  for (size_t i = 0; i < jobs.size(); ++i) {
    SpecJob& job = *jobs[i];
    const auto of_remote = static_cast<uint64_t>(
        std::ranges::count_if(job.keys, [&](const Digest& key) { return !job.pack.find(key) && packs[i].find(key); }));
    if (of_remote == 0) continue;
    if (job.pack.is_empty()) job.pack = std::move(packs[i]);
    else job.pack.add_all(packs[i]);
    job.pack_changed = true;
    product_.figures.from_remote += of_remote;
  }
}

Diagnostics Run::compile() {
  load_packs();
  find_keys();
  if (machine_.fetch_packs) fetch_missing();
  const std::vector<VariantIndex> all = all_variants();

  std::vector<VariantIndex> places;  // of texts that are compiled now, each once
  std::set<std::pair<const SpecJob*, Digest>> seen;
  for (const VariantIndex& place : all) {
    const Digest& key = place.job->keys[place.variant];
    if (place.job->pack.find(key) || !settings_.shard.has(key.low) || !seen.emplace(place.job, key).second) continue;
    places.push_back(place);
  }
  product_.figures.compiled = places.size();
  product_.figures.from_cache = settings_.shard.is_whole()
                                    ? all.size() - places.size()
                                    : static_cast<uint64_t>(std::ranges::count_if(all, [](const VariantIndex& place) {
                                        return place.job->pack.find(place.job->keys[place.variant]) != nullptr;
                                      }));

  compiled_.resize(places.size());
  std::vector<Diagnostics> failures(places.size());
  for_each(Room::compile, places.size(), [&](size_t i) {
    compiled_[i].place = places[i];
    failures[i] = compile_one(compiled_[i]);
  });
  Diagnostics errors = gather_errors(std::move(failures), places);
  compile_failures_.count_untried(errors);
  return errors;
}

Diagnostics Run::compile_one(Compiled& compiled) {
  const auto& [job, v] = compiled.place;
  if (!compile_failures_.may_compile(*job)) return {};
  auto spirv = machine_.tools.compile(job->rendered[v].text, options_of(*job));
  if (!spirv) return refused(compiled.place, spirv.error());
  compiled.spirv = *std::move(spirv);
  return {};
}

// A tool's message, moved to its location in the template.
Diagnostics Run::refused(const VariantIndex& place, const workers::Refusal& refusal) {
  if (refusal.is_cut_off) compile_failures_.add(*place.job, refusal.seconds);
  Diagnostics errors;
  for (const workers::Fault& fault : refusal.faults) {
    Diagnostic& error =
        errors.emplace_back(render::blame(place.job->rendered[place.variant], fault.line, fault.message));
    error.expected = fault.expected;
    error.hint = fault.hint;
  }
  return errors;
}

// ---- reflect --------------------------------------------------------------------------------------------------------

Diagnostics Run::reflect_one(Compiled& compiled, cache::CachedModule& module) {
  const SpecJob& job = *compiled.place.job;
  if (!compile_failures_.may_compile(job)) return {};
  auto reflected = machine_.tools.reflect(compiled.spirv, emit::specialization_rows(job.spec));
  if (!reflected) return refused(compiled.place, reflected.error());
  module.interface = std::move(reflected->interface);
  module.resources = std::move(reflected->resources);
  compiled.spirv = std::move(reflected->stripped);
  module.spirv = digest_of(
      std::string_view(reinterpret_cast<const char*>(compiled.spirv.data()), compiled.spirv.size() * sizeof(uint32_t)));
  return {};
}

Diagnostics Run::reflect() {
  std::vector<cache::CachedModule> modules(compiled_.size());
  std::vector<Diagnostics> failures(compiled_.size());
  std::vector<VariantIndex> places;
  for (const Compiled& compiled : compiled_) places.push_back(compiled.place);
  for_each(Room::reflect, compiled_.size(), [&](size_t i) { failures[i] = reflect_one(compiled_[i], modules[i]); });
  Diagnostics errors = gather_errors(std::move(failures), places);
  compile_failures_.count_untried(errors);
  if (!errors.empty()) return errors;

  for (size_t i = 0; i < compiled_.size(); ++i) {
    SpecJob& job = *places[i].job;
    job.pack.add(job.keys[places[i].variant], std::move(modules[i]), std::move(compiled_[i].spirv));
    job.pack_changed = true;
    job.has_new_modules = true;
  }
  for (SpecJob& job : product_.jobs) {
    for (const Digest& key : job.keys) job.modules.push_back(job.pack.find(key));
  }
  if (settings_.shard.is_whole()) drop_what_runs_nowhere();
  return {};
}

// ---- emit -----------------------------------------------------------------------------------------------------------

// Sees to it that the pack holds the family as the blob will; `rows` says which of its modules each variant is.
void Run::pack_family(SpecJob& job, std::vector<uint32_t>& rows) {
  std::map<Digest, uint32_t> places;
  std::vector<Digest> different;
  for (const cache::CachedModule* module : job.modules) {
    const auto [place, is_new] = places.try_emplace(module->spirv, static_cast<uint32_t>(different.size()));
    if (is_new) different.push_back(module->spirv);
    rows.push_back(place->second);
  }
  if (job.pack.family(different)) return;
  std::vector<blob_format::Module> modules;
  for (const Digest& digest : different) {
    const blob_format::Module* words = job.pack.spirv(digest);
    assert(words && "a pack that passed its checksum holds the module of each of its keys");
    modules.push_back(*words);
  }
  job.pack.set_family(different, blob_format::pack(modules));
  job.pack_changed = true;
}

Kept::ModuleFacts Run::facts_of(const SpecJob& job, const Digest& module) const {
  Kept* kept = machine_.kept;
  if (kept) {
    if (const auto known = kept->modules.find(module); known != kept->modules.end()) return known->second;
  }
  const blob_format::Module* words = job.pack.spirv(module);
  assert(words && "a pack that passed its checksum holds the module of each of its keys");
  const Kept::ModuleFacts facts{blob_format::checksum(std::as_bytes(std::span(*words))),
                                static_cast<uint32_t>(words->size() * sizeof(uint32_t))};
  if (kept) kept->modules.emplace(module, facts);
  return facts;
}

// Every variant with its module's interface.
std::vector<emit::Family> Run::families_of_jobs() const {
  std::vector<emit::Family> families;
  for (const SpecJob& job : product_.jobs) {
    emit::Family& family = families.emplace_back();
    family.spec = &job.spec;
    family.source = job.file->source;
    std::map<Digest, Kept::ModuleFacts> known;  // variants share modules
    for (size_t v = 0; v < job.variants.size(); ++v) {
      const cache::CachedModule& module = *job.modules[v];
      auto facts = known.find(module.spirv);
      if (facts == known.end()) facts = known.emplace(module.spirv, facts_of(job, module.spirv)).first;
      family.kernels.push_back(
          {job.variants[v], module.interface, module.resources, facts->second.checksum, facts->second.bytes});
    }
  }
  return families;
}

std::vector<emit::CheckedTuning> Run::check_tunings(std::span<const emit::Family> families) {
  std::vector<emit::CheckedTuning> checked;
  for (const TuningInput& input : inputs_.tunings) {
    checked.push_back(emit::check_tuning(input.name, input.tuning, families));
    product_.notes += emit::to_text(checked.back()) + "\n";
    product_.files_read.push_back(input.path);
  }
  return checked;
}

// Modules that no listed device can run.
void Run::drop_what_runs_nowhere() {
  if (settings_.subset.devices.empty()) return;
  prune::Pruned left;
  for (const SpecJob& job : product_.jobs) {
    std::vector<bool>& kept = left.kept.emplace_back();
    for (const cache::CachedModule* module : job.modules)
      kept.push_back(runs_somewhere(settings_.subset, module->interface));
  }
  drop(left);
}

void Run::drop(const prune::Pruned& pruned) {
  for (size_t j = 0; j < product_.jobs.size(); ++j) {
    SpecJob& job = product_.jobs[j];
    std::vector<expand::Variant> variants;
    std::vector<const cache::CachedModule*> modules;
    for (size_t v = 0; v < job.variants.size(); ++v) {
      if (!pruned.kept[j][v]) continue;
      variants.push_back(std::move(job.variants[v]));
      modules.push_back(job.modules[v]);
    }
    job.variants = std::move(variants);
    job.modules = std::move(modules);
  }
}

std::vector<std::vector<uint64_t>> Run::tables_digests(std::span<const emit::Family> families) {
  std::vector<std::vector<uint64_t>> digests(families.size());
  for_each(Room::emit, families.size(), [&](size_t i) { digests[i] = emit::tables_digests(families[i]); });
  return digests;
}

// Times name modules by their digests. Without times, only the manifest contains the digests.
Result<std::vector<emit::File>> Run::emit_files(std::span<const emit::Family> families,
                                                std::span<const emit::CheckedTuning> tunings,
                                                std::span<const std::vector<uint64_t>> digests) const {
  Kept* kept = tunings.empty() ? machine_.kept : nullptr;
  if (!kept) return emit::emit(families, tunings, settings_.emit);
  DigestBuilder builder;
  builder.add(kept->specs.high).add(kept->specs.low);
  for (const auto& of_family : digests) {
    builder.add(uint64_t{of_family.size()});
    for (const uint64_t digest : of_family) builder.add(digest);
  }
  const Digest digest = builder.finish();
  if (kept->files.empty() || kept->tables != digest) {
    auto files = emit::emit(families, tunings, settings_.emit);
    if (!files) return files;
    kept->files = *std::move(files);
    kept->tables = digest;
  }
  std::vector<emit::File> files = kept->files;
  std::ranges::find(files, "MANIFEST.tsv", &emit::File::path)->text = emit::manifest(families);
  return files;
}

Diagnostics Run::emit() {
  std::vector<SpecJob>& jobs = product_.jobs;
  std::vector<emit::Family> families = families_of_jobs();
  std::vector<emit::CheckedTuning> tunings = check_tunings(families);
  if (settings_.prune) {
    const prune::Pruned pruned = prune::prune(families, tunings, *settings_.prune);
    product_.pruned_ids = product_.notes + prune::to_text(pruned, families, *settings_.prune, true);
    product_.notes += prune::to_text(pruned, families, *settings_.prune, false);
    product_.is_pruned = true;
    drop(pruned);
    families = families_of_jobs();
    for (emit::CheckedTuning& tuning : tunings) tuning = emit::check_tuning(tuning.name, *tuning.file, families);
  }

  std::vector<std::vector<uint32_t>> rows(jobs.size());
  for_each(Room::emit, jobs.size(), [&](size_t i) { pack_family(jobs[i], rows[i]); });
  const std::vector<std::vector<uint64_t>> digests = tables_digests(families);
  std::vector<blob_format::BlobFamily> blob_families;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const blob_format::PackedFamily& packed = *jobs[i].pack.family();
    product_.figures.modules += packed.modules.size();
    for (const emit::Kernel& kernel : families[i].kernels) product_.figures.raw_bytes += kernel.module_bytes;
    blob_families.push_back({&packed, rows[i], digests[i]});
  }
  for (const emit::CheckedTuning& tuning : tunings) product_.figures.tuning_bytes += emit::table_bytes(tuning);
  auto files = emit_files(families, tunings, digests);
  if (!files) return files.error();
  product_.files = *std::move(files);
  for (const emit::File& file : product_.files) {
    if (file.path.starts_with("cpp/")) product_.figures.cpp_bytes += file.text.size();
  }
  product_.files.push_back({std::string(kBlobFile), blob_format::write_blob(blob_families)});
  product_.figures.blob_bytes = product_.files.back().text.size();
  return {};
}

}  // namespace

std::string_view name(Room room) {
  switch (room) {
    case Room::spec: return "spec";
    case Room::expand: return "expand";
    case Room::render: return "render";
    case Room::compile: return "compile";
    case Room::reflect: return "reflect";
    case Room::emit: return "emit";
  }
  return "";
}

// A pack that grew with many edits is not kept: the file has the part that is worth keeping.
void keep_packs(Product& product, Kept* kept) {
  if (!kept) return;
  for (SpecJob& job : product.jobs) {
    const bool is_kept = !job.pack.is_empty() && job.pack.size() <= 3 * job.keys.size() + 16;
    if (is_kept) kept->packs.insert_or_assign(job.spec.name.value, std::move(job.pack));
  }
}

Result<Product> generate(const Inputs& inputs, const Settings& settings, const Machine& machine) {
  struct Step {
    Room room;
    Diagnostics (Run::*take)();
  };
  constexpr Step kRooms[] = {
      {Room::spec, &Run::spec},       {Room::expand, &Run::expand},   {Room::render, &Run::render},
      {Room::compile, &Run::compile}, {Room::reflect, &Run::reflect}, {Room::emit, &Run::emit},
  };
  Run run(inputs, settings, machine);
  for (const Step& step : kRooms) {
    if (Diagnostics errors = (run.*step.take)(); !errors.empty()) {
      run.keep_packs();
      return errors;
    }
    if (step.room == settings.last_room) break;
  }
  return run.take_product();
}

bool matches(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0;
  size_t star = glob.npos, retry = 0;  // the last '*', and where its text ends so far
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*') {
      ++g, ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      retry = t;
    } else if (star != glob.npos) {
      g = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return glob.substr(g).find_first_not_of('*') == glob.npos;
}

}  // namespace qgen
