// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>

#include "codegen/cache/remote_cache.h"
#include "codegen/inputs.h"
#include "codegen/run.h"
#include "codegen/spec/parse_spec.h"
#include "codegen/spec/words.h"
#include "codegen/watch.h"
#include "common/files.h"
#include "common/log.h"
#include "common/manual/command_line.h"
#include "common/manual/help.h"
#include "common/number_option.h"
#include "common/program.h"
#include "common/text.h"
#include "common/version.h"

namespace {

using namespace qgen;

constexpr const char* kExamples = R"(
Examples:
  qgen specs/ -o generated/                           make everything that changed
  qgen specs/ -o generated/ --watch                   again after each change, until Ctrl-C
  qgen specs/ -o generated/ --check                   is generated/ current? (exit code 1: no)
  qgen specs/ -o generated/ --tuning tuning/          choose by times that were measured
  qgen specs/ -o generated/ --tuning tuning/ --prune 3   fewer variants, at most 3 % slower
  qgen specs/ --list --filter '*.f16.*'               the ids of all f16 variants
  qgen specs/ -o mine/ --operators softmax --for devices/adreno-740.yaml    a part of them
  qgen specs/ --explain quantize_affine.f32.i8.buffer.buffer.vec4
  qgen specs/ --explain-cost 'resize2d(...)' --for devices/nvidia-h200.yaml   a cost as a sum
  qgen specs/ --why-not 'quantize_affine(input_storage=texture3d, vec=1)'
  qgen specs/ --stop-after render --filter 'quantize_affine.f16.*'   the GLSL of some variants
  qgen specs/ --emit msl -o out/                      Metal sources, where SPIRV-Cross can translate
  qgen specs/ --emit spv -o out/ --operators softmax  SPIR-V files, and an index of them as JSON
  qgen specs/ --emit c -o out/ --operators softmax    kernels and their choice as C99
  qgen specs/ --shard 3/8 --cache DIR                 compile one shard, on one of many machines

Exit codes: 0 done, 1 --check found a difference, 2 the input is wrong, 3 the machine failed (the
disk is full, a permission is missing).)";

const std::map<std::string, compile::Optimization> kOptimizations = {
    {"perf", compile::Optimization::performance},
    {"size", compile::Optimization::size},
    {"none", compile::Optimization::none},
};
const std::map<std::string, Room> kShownRooms = {{"spec", Room::spec},       {"expand", Room::expand},
                                                 {"render", Room::render},   {"compile", Room::compile},
                                                 {"reflect", Room::reflect}, {"emit", Room::emit}};
const std::map<std::string, reflect::Language> kLanguages = {{"msl", reflect::Language::msl},
                                                             {"hlsl", reflect::Language::hlsl}};

constexpr int kMostThreads = 1024;
constexpr int kMostCompileSeconds = 3600;
constexpr int kLeastCompileMemory = 64, kMostCompileMemory = 1 << 20;  // MiB

// The flags, as far as they are not RunOptions themselves.
struct Flags {
  RunOptions run;
  bool check = false, list = false, schema = false, no_cache = false, quiet = false, verbose = false, watch = false;
  std::string explain, explain_cost, why_not, opt = "perf", target = "vulkan1.3", stop_after, language, cache;
  std::optional<double> prune;  // percent
  bool keeps_unmeasured = false;
};

template <typename T>
std::vector<std::string> words(const std::map<std::string, T>& table) {
  std::vector<std::string> all;
  for (const auto& [word, value] : table) all.push_back(word);
  return all;
}

constexpr const char* kQuestions = "Instead of writing, one of";

void add_list(CLI::App& app, const std::string& name, std::vector<std::string>& to, const std::string& help) {
  app.add_option(name, to, help)
      ->type_name("LIST")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// What is read and written, and how modules are compiled.
void declare_files(CLI::App& app, Flags& flags) {
  add_version_flag(app, "qgen");
  app.add_option("SPECS", flags.run.specs, "spec files, or folders of *.yaml")->type_name("");
  app.add_option("-o,--output", flags.run.output, "the folder to write, or to compare with")->type_name("DIR");
  app.add_option("--templates", flags.run.template_roots,
                 "a folder of templates; may be given several times, and the first that has a file counts. Every "
                 "template of the first folder, except those in lib/, must be named by a spec. Default: the nearest "
                 "folder named templates, next to the specs or above them")
      ->type_name("DIR")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_number(app, "-j,--jobs", flags.run.threads, {0, kMostThreads}, "threads (default: one per core)");
  app.add_option("--opt", flags.opt, "how modules are optimised: perf (default), size or none")
      ->check(one_of_words(words(kOptimizations)))
      ->option_text("WHAT");
  app.add_option("--target", flags.target,
                 "the oldest Vulkan whose drivers can run the modules: vulkan1.1, vulkan1.2 or vulkan1.3 (default); a "
                 "spec with 'target' has its own")
      ->check(one_of_words(spec::target_words()))
      ->option_text("VERSION");
}

// Which variants are made.
void declare_subsets(CLI::App& app, Flags& flags) {
  app.add_option("--filter", flags.run.settings.filter, "only variants whose id matches, such as 'copy.*.vec?'")
      ->type_name("GLOB");
  add_list(app, "--operators", flags.run.settings.subset.operators,
           "only these operators, and the kernels of their recipes, such as q8ta_linear,softmax");
  add_list(app, "--dtypes", flags.run.settings.subset.dtypes,
           "only variants whose dtype parameters have these values, such as f16,i8; kernels of recipes keep all");
  add_list(app, "--layouts", flags.run.settings.subset.layouts,
           "only variants whose layout parameters have these values, such as strided,packed_4c");
  app.add_option("--for", flags.run.device_files, "only modules that one of these devices can run: device files")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// What is emitted, and limits.
void declare_output(CLI::App& app, Flags& flags) {
  app.add_flag("--one-source", flags.run.settings.emit.is_one_source,
               "write cpp/all.cpp too, which is all other sources but operators.cpp");
  app.add_option("--tuning", flags.run.tuning,
                 "compile in the times of the tuning files of this folder, which qgen-tune export writes")
      ->type_name("DIR");
  add_number(app, "--prune", flags.prune, {0, 1000},
             "remove variants, so that each tuned problem takes at most N % longer than its best, and every other "
             "problem can still run");
  app.add_flag("--keep-unmeasured", flags.keeps_unmeasured,
               "with --prune: keep all variants of operators without a tuned problem");
  add_number(app, "--max-variants", flags.run.settings.max_variants, {1, std::numeric_limits<int64_t>::max()},
             "refuse specs that expand to more variants (default 10000)");
  add_number(app, "--compile-seconds", flags.run.limits.cpu_seconds, {1, kMostCompileSeconds, "seconds"},
             fmt::format("CPU time that one variant may take (default {})", workers::Limits().cpu_seconds))
      ->option_text("N");
  add_number(app, "--compile-memory", flags.run.limits.memory_mib, {kLeastCompileMemory, kMostCompileMemory, "MiB"},
             fmt::format("MiB that compiling one variant may take (default {})", workers::Limits().memory_mib))
      ->option_text("N");
  app.add_option("--namespace", flags.run.settings.emit.name_space, "of generated code (default qgen::generated)")
      ->type_name("NAME");
}

// The cache, and what a run reports.
void declare_cache_and_reports(CLI::App& app, Flags& flags) {
  app.add_option("--cache", flags.cache, "the folder of the cache (default ~/.cache/qgen)")->type_name("DIR");
  app.add_option(
         "--remote-cache", flags.run.remote_cache,
         "the folder of a cache that machines share, over HTTP; used where --cache lacks modules. A server that "
         "is slow or gone costs 0.3 s. Default: $QGEN_REMOTE_CACHE")
      ->type_name("URL")
      ->envname("QGEN_REMOTE_CACHE");
  app.add_flag("--no-cache", flags.no_cache, "neither read nor write the cache");
  app.add_option_function<std::string>(
         "--shard",
         [&flags](const std::string& text) {
           const auto shard = shard_of(text);
           if (!shard) throw CLI::ValidationError("--shard", to_text(shard.error()));
           flags.run.settings.shard = *shard;
         },
         "compile only this part of the modules, into the cache, and write nothing else: the third of eight is 3/8. A "
         "run without it takes the parts from the cache")
      ->option_text("I/N");
  app.add_option("--depfile", flags.run.depfile, "write the files that were read, for ninja and make")
      ->type_name("FILE");
  app.add_option("--stats-json", flags.run.stats_file, "write figures of the run as JSON")->type_name("FILE");
  app.add_flag("--watch", flags.watch,
               "generate again whenever a spec, a template or another file that was read changes. After an error the "
               "last good files stay. Ctrl-C ends it. A running program takes the new kernels with "
               "KernelLibrary::reload()");
  app.add_flag("-q,--quiet", flags.quiet, "print errors only, and what --prune left out");
  app.add_flag("-v,--verbose", flags.verbose, "print every file");
}

void declare_questions(CLI::App& app, Flags& flags) {
  app.add_flag("--check", flags.check, "compare with the folder of -o, and print the differences");
  app.add_flag("--list", flags.list, "print the id of every variant");
  app.add_option("--explain", flags.explain, "print everything about one variant")->type_name("ID");
  app.add_option("--explain-cost", flags.explain_cost,
                 "print the share of each term in a kernel's cost on the device of --for, from 'kernel(name=value, "
                 "...)' with the values that the cost reads")
      ->type_name("VALUES");
  app.add_option("--why-not", flags.why_not,
                 "print the conditions that removed combinations of 'op', or of 'op(name=value, ...)'")
      ->type_name("COMBINATION");
  app.add_option("--stop-after", flags.stop_after,
                 "print the result of a room: spec, expand, render, compile, reflect or emit")
      ->check(one_of_words(words(kShownRooms)))
      ->option_text("ROOM");
  auto languages = words(kLanguages);
  languages.emplace_back("spv");
  languages.emplace_back("c");
  app.add_option("--emit", flags.language,
                 "write variants as msl or hlsl under -o, and list those that cannot be translated; as spv: "
                 "modules and index.json; or as c: arrays, tables and the choice, in C99")
      ->check(one_of_words(languages))
      ->option_text("LANGUAGE");
  app.add_flag("--schema", flags.schema, "print the JSON Schema of spec files, for editors");
}

void declare(CLI::App& app, Flags& flags) {
  wrap_help(app);
  app.set_help_flag("-h,--help", "print this and exit");
  app.footer(kExamples);
  declare_files(app, flags);
  declare_subsets(app, flags);
  declare_output(app, flags);
  declare_cache_and_reports(app, flags);
  app.option_defaults()->group(kQuestions);
  declare_questions(app, flags);
}

Task task_of(const Flags& flags) {
  if (flags.check) return Task::check;
  if (flags.list) return Task::list;
  if (!flags.explain.empty()) return Task::explain;
  if (!flags.explain_cost.empty()) return Task::explain_cost;
  if (!flags.why_not.empty()) return Task::why_not;
  if (!flags.stop_after.empty()) return Task::show_room;
  if (!flags.language.empty()) return Task::translate;
  if (!flags.run.settings.shard.is_whole()) return Task::compile_share;
  return Task::store;
}

RunOptions options_of(const Flags& flags) {
  RunOptions options = flags.run;
  options.task = task_of(flags);
  options.settings.compile = {kOptimizations.at(flags.opt), *spec::find_target(flags.target)};
  if (flags.prune) options.settings.prune = {*flags.prune / 100, flags.keeps_unmeasured};
  if (!flags.stop_after.empty()) options.shown_room = kShownRooms.at(flags.stop_after);
  options.is_in_c = flags.language == "c";
  if (kLanguages.contains(flags.language)) options.language = kLanguages.at(flags.language);
  if (options.task == Task::explain) options.settings.filter = flags.explain;
  options.question = flags.explain + flags.explain_cost + flags.why_not;  // one at most is given
  if (!flags.no_cache) options.cache = flags.cache.empty() ? user_cache_folder() : flags.cache;
  if (flags.verbose) options.verbosity = RunOptions::Verbosity::verbose;
  if (flags.quiet) options.verbosity = RunOptions::Verbosity::quiet;
  return options;
}

// qgen reads each file of the first root as a template, so nothing may be written there.
std::string fault_of_place(const RunOptions& options, bool writes) {
  const auto roots = options.template_roots.empty() ? default_template_roots(options.specs) : options.template_roots;
  if (roots.empty()) return "";
  const auto is_below_root = [&](const std::string& folder) {
    std::error_code code;
    const auto inside = std::filesystem::weakly_canonical(folder, code)
                            .lexically_relative(std::filesystem::weakly_canonical(roots.front(), code));
    return !inside.empty() && *inside.begin() != "..";
  };
  const auto fault = [&](std::string_view flag, const std::string& folder) {
    return fmt::format("{} {} is in {}, where each file is a template", flag, printable(folder),
                       printable(roots.front()));
  };
  if (writes && is_below_root(options.output)) return fault("-o", options.output);
  return options.cache && is_below_root(*options.cache) ? fault("--cache", *options.cache) : "";
}

// The fault of a combination of flags; empty: none.
std::string misuse(const CLI::App& app, const Flags& flags, const RunOptions& options) {
  const auto questions = app.get_options(
      [](const CLI::Option* option) { return option->get_group() == kQuestions && option->count() > 0; });
  if (questions.size() > 1) {
    return questions[0]->get_name() + " and " + questions[1]->get_name() + " cannot be combined: give one of them";
  }
  if (flags.schema) return "";
  if (const auto fault = spec::fault_of_namespace(options.settings.emit.name_space)) {
    return "--namespace " + printable(options.settings.emit.name_space) + ": " + printable(*fault);
  }
  if (const std::string fault = cache::RemoteCache::fault_of(options.remote_cache);
      !options.remote_cache.empty() && !fault.empty())
    return "the remote cache " + printable(cache::without_user(options.remote_cache)) + " " + fault;
  if (options.specs.empty()) return "no specs: name a spec file or a folder of them";
  if (flags.prune && options.tuning.empty()) return "--prune needs times: add --tuning DIR";
  if (flags.keeps_unmeasured && !flags.prune) return "--keep-unmeasured changes what --prune removes: add --prune N";
  if (!options.settings.shard.is_whole() && options.task != Task::compile_share)
    return "--shard compiles into the cache: it cannot be combined with " + questions.front()->get_name();
  if (!options.settings.shard.is_whole() && !options.cache)
    return "--shard compiles into the cache: leave out --no-cache";
  if (flags.watch && options.task == Task::compile_share) return "--watch and --shard cannot be combined";
  if (flags.watch && options.task != Task::store)
    return "--watch writes files: it cannot be combined with " + questions.front()->get_name();
  const bool writes = options.task == Task::store || options.task == Task::check || options.task == Task::translate;
  if (writes && options.output.empty()) return "no output folder: add -o DIR";
  std::error_code code;
  if (writes && std::filesystem::exists(options.output, code) && !std::filesystem::is_directory(options.output, code))
    return "-o takes a folder, and " + printable(options.output) + " is a file";
  return fault_of_place(options, writes);
}

int code(ExitCode exit_code) { return static_cast<int>(exit_code); }

int run_qgen(int argc, char** argv) {
  CLI::App app("qgen turns YAML operator specs and GLSL templates into SPIR-V and typed C++ dispatch tables.", "qgen");
  Flags flags;
  declare(app, flags);
  try {
    parse_command_line(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return print_help_or_misuse(app, error) ? code(ExitCode::done) : code(ExitCode::bad_input);
  }
  const RunOptions options = options_of(flags);
  if (const std::string text = misuse(app, flags, options); !text.empty()) {
    print_log("qgen: {}\n  hint: qgen --help shows examples\n", text);
    return code(ExitCode::bad_input);
  }
  if (flags.watch) return code(watch(options));
  const RunResult result = flags.schema ? RunResult{ExitCode::done, spec::json_schema(), ""} : run(options);
  print(result);
  return code(result.code);
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("qgen", [&] { return run_qgen(argc, argv); });
}
