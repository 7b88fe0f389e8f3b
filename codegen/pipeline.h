// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The generator, from end to end:
//
//   spec -> expand -> render -> compile -> reflect -> emit
//
// generate() leads the inputs through the rooms in this order. A room sees all specs and variants before the next one
// starts; its errors are reported together, and then the run ends. It writes nothing: the caller stores the files or,
// under --check, compares them with what is there. What it makes depends on its arguments alone: not on the number of
// threads, the clock, the locale, a folder's order, or what the cache happens to hold.
#pragma once

#include <functional>
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
#include "codegen/support/thread_pool.h"
#include "codegen/workers/module_tools.h"

namespace qgen {

enum class Room : uint8_t { spec, expand, render, compile, reflect, emit };
std::string_view name(Room room);

struct Settings {
  compile::Optimization optimization = compile::Optimization::performance;
  std::string filter;  // a glob over variant ids; empty: all
  size_t max_variants = 10'000;
  std::optional<prune::Options> prune;  // nullopt: all variants stay
  emit::Options emit;
  Room last_room = Room::emit;
};

// What a run leans on; results do not depend on it.
struct Machine {
  ThreadPool& threads;
  // What compiles, and where: in workers, unless the templates are the caller's own.
  const workers::ModuleTools& tools;
  // Which build of the program this is: what another one remembered is not believed.
  std::string build;
  // What is remembered of the spec of this name.
  std::function<cache::SpecPack(const std::string& spec)> load_pack;
  // Called from many threads.
  std::function<void(Room room, size_t done, size_t total)> progress;
};

// A spec on its way through the rooms.
struct SpecJob {
  const SpecFile* file = nullptr;
  spec::Spec spec;
  std::vector<expand::Variant> variants;
  std::vector<render::Template> parsed_template;  // one; none if the spec has only recipes
  std::vector<render::Rendered> rendered;         // of each variant
  std::vector<Digest> keys;                       // of each variant: all that reaches the compiler
  cache::SpecPack pack;
  bool pack_changed = false;
  std::vector<const cache::CachedModule*> modules;  // of each variant
};

constexpr std::string_view kBlobFile = "kernels.blob";  // the one output that is no text

struct Product {
  std::vector<SpecJob> jobs;      // by name; filled up to Settings::last_room
  std::vector<emit::File> files;  // if the last room is emit
  std::vector<std::string> files_read;
  std::string notes;       // for people: what became of times that were measured, and what was pruned
  std::string pruned_ids;  // the same, with each variant that was pruned
  bool is_pruned = false;
  Figures figures;
};

Result<Product> generate(const Inputs& inputs, const Settings& settings, const Machine& machine);

// `*` is any text, `?` any character.
bool matches(std::string_view glob, std::string_view text);

}  // namespace qgen
