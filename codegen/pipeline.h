// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The generator, from end to end:
//
//   spec -> expand -> render -> compile -> reflect -> emit
//
// generate() passes the inputs through the rooms in this order. A room processes all specs and variants before the next
// one starts. Its errors are reported together, and then the run ends. generate() writes nothing: the caller writes the
// files or, under --check, compares them. The output depends only on the arguments, not on the number of threads, the
// clock, the locale, the order of files, or the contents of the cache.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cache/figures.h"
#include "codegen/cache/spec_pack.h"
#include "codegen/compile/compile.h"
#include "codegen/emit/emit.h"
#include "codegen/inputs.h"
#include "codegen/prune/prune.h"
#include "codegen/subset.h"
#include "codegen/support/thread_pool.h"
#include "codegen/workers/module_tools.h"
#include "common/shard.h"

namespace qgen {

enum class Room : uint8_t { spec, expand, render, compile, reflect, emit };
std::string_view name(Room room);

struct Settings {
  compile::Options compile = compile::Optimization::performance;
  std::string filter;  // a glob over variant ids; empty: all
  Subset subset;
  size_t max_variants = 10'000;
  std::optional<prune::Options> prune;  // nullopt: all variants stay
  emit::Options emit;
  // Only this part of the different texts is compiled, by their digests. Of a part of several, the last room is
  // `reflect`, and modules of other parts may be null.
  Shard shard;
  Room last_room = Room::emit;
};

// Results of an earlier run of this process. A run uses them again while their inputs are the same, for --watch.
struct Kept {
  Digest specs;                    // of the texts
  std::vector<spec::Spec> parsed;  // and checked
  struct ParsedTemplate {
    Digest files;  // of all that it was made from
    render::Template parsed;
  };
  std::map<std::string, ParsedTemplate> templates;  // by the name of the spec
  // The keys of a spec's modules, while the spec and its template are the same: then no variant is rendered again.
  struct Keys {
    Digest made_from;
    std::vector<Digest> keys;
  };
  std::map<std::string, Keys> keys;
  std::map<std::string, cache::SpecPack> packs;  // by the name of the spec
  struct ModuleFacts {
    uint64_t checksum;
    uint32_t bytes;
  };
  std::map<Digest, ModuleFacts> modules;
  Digest tables;  // of everything that the files contain but the digests of modules
  std::vector<emit::File> files;
};

// The machine's part of a run; results do not depend on it.
struct Machine {
  ThreadPool& threads;
  // The compilers. They run in workers, unless the caller trusts the templates.
  const workers::ModuleTools& tools;
  // compilers_id(): results that other compilers cached are not used.
  std::string compilers;
  // The cached results of the spec of this name.
  std::function<cache::SpecPack(const std::string& spec)> load_pack = {};
  // The packs that other machines left, of specs with modules that load_pack() did not have; in all, this number of
  // modules. Empty: there is no remote cache.
  std::function<std::vector<cache::SpecPack>(std::span<const std::string> specs, size_t modules)> fetch_packs = {};
  // Called from many threads.
  std::function<void(Room room, size_t done, size_t total)> progress = {};
  Kept* kept = nullptr;  // of earlier runs with the same settings; null: none
};

// A spec with the results of the rooms so far.
struct SpecJob {
  const SpecFile* file = nullptr;
  spec::Spec spec;
  std::vector<expand::Variant> variants;
  std::vector<render::Template> parsed_template;  // one; none if the spec has only recipes
  std::vector<render::Rendered> rendered;         // of each variant
  std::vector<Digest> keys;                       // of each variant: a digest of everything that the compiler reads
  cache::SpecPack pack;
  bool pack_changed = false;
  bool has_new_modules = false;                     // that this run compiled
  bool has_kept_keys = false;                       // `keys` are of an earlier run, and nothing was rendered
  std::vector<const cache::CachedModule*> modules;  // of each variant
};

constexpr std::string_view kBlobFile = "kernels.blob";  // the one output that is no text

struct Product {
  std::vector<SpecJob> jobs;      // by name; filled up to Settings::last_room
  std::vector<emit::File> files;  // if the last room is emit
  std::vector<std::string> files_read;
  std::string notes;       // for people: how many measured times were used, and which variants were pruned
  std::string pruned_ids;  // the same, with each variant that was pruned
  bool is_pruned = false;
  Figures figures;
};

Result<Product> generate(const Inputs& inputs, const Settings& settings, const Machine& machine);

// Leaves the packs of a run's specs to the next run of this process; nothing without `kept`.
void keep_packs(Product& product, Kept* kept);

// `*` is any text, `?` any character.
bool matches(std::string_view glob, std::string_view text);

}  // namespace qgen
