// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// qgen-model generate: tokens of a language model. Tokens of one sequence are printed as they come.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/bytes_text.h"
#include "common/json/write.h"
#include "common/log.h"
#include "common/number.h"
#include "common/progress.h"
#include "runtime/models/graph/generator.h"
#include "runtime/workshop/model/bounds.h"
#include "runtime/workshop/model/commands.h"
#include "runtime/workshop/model/inputs.h"
#include "runtime/workshop/model/layers.h"
#include "runtime/workshop/model/load.h"
#include "runtime/workshop/model/timing.h"
#include "runtime/workshop/runner/arguments.h"
#include "runtime/workshop/runner/opened.h"

namespace qgen::model {
namespace {

using graph::Generated;
using graph::Generator;

Expected<std::vector<int32_t>> tokens_in(std::string_view flag, std::string_view text) {
  std::vector<int32_t> tokens;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto number = read_number<int32_t>(text.substr(begin, end - begin));
    if (!number || *number < 0)
      return refused(fmt::format("{} {}: '{}' is no token", flag, text, text.substr(begin, end - begin)),
                     "integers from 0, with commas between them: 1,2,3");
    tokens.push_back(*number);
    begin = end + 1;
  }
  return tokens;
}

Expected<graph::TokenLists> prompts_of(const Arguments& arguments) {
  graph::TokenLists prompts;
  for (const std::string& text : arguments.generation.prompts) {
    auto tokens = tokens_in("--tokens", text);
    if (!tokens) return tokens.error();
    prompts.push_back(*std::move(tokens));
  }
  return prompts;
}

// For what the prompts and the new tokens need, if no capacity is given.
int64_t capacity_for(const Arguments& arguments, const graph::TokenLists& prompts) {
  if (arguments.generation.capacity) return *arguments.generation.capacity;
  size_t longest = 0;
  for (const auto& prompt : prompts) longest = std::max(longest, prompt.size());
  return static_cast<int64_t>(longest + arguments.generation.most_tokens - 1);  // the last one is not fed
}

double per_second(size_t count, double ms) { return ms > 0 ? 1e3 * static_cast<double>(count) / ms : 0; }

struct Rates {
  size_t prompt_tokens, decoded_tokens;
  double prompt, decoding;  // tokens per second
  size_t decode_runs = 0;   // a further token of each sequence
  double decode_ms = 0;     // of a run
};

Rates rates_of(const Generated& generated) {
  size_t decoded = 0, longest = 0;
  for (const auto& tokens : generated.tokens) {
    decoded += tokens.empty() ? 0 : tokens.size() - 1;  // the prompt gives the first one
    longest = std::max(longest, tokens.size());
  }
  const size_t runs = longest < 2 ? 0 : longest - 1;
  return {generated.prompt_tokens,
          decoded,
          per_second(generated.prompt_tokens, generated.prompt_ms),
          per_second(decoded, generated.decode_ms),
          runs,
          runs == 0 ? 0 : generated.decode_ms / static_cast<double>(runs)};
}

// Of the prompt, and of a run of a further token of each sequence.
struct BoundsOfParts {
  Bounds prompt;
  std::optional<Bounds> decoding;  // none: there was no such run
};

// The run for `rows` tokens of each sequence.
Expected<Work> work_of_run(Generator& generator, size_t rows, std::span<const double> cached_tokens) {
  const auto prepared = generator.prepare(rows);
  if (!prepared) return prepared.error();
  return work_of(generator.model().graph(), (*prepared)->schedule(), cached_tokens);
}

// In runs of `rows` tokens at most; 0: in one.
Expected<Work> work_of_prompts(Generator& generator, const graph::TokenLists& prompts, size_t rows) {
  Work work;
  const size_t longest = std::ranges::max(prompts, {}, &std::vector<int32_t>::size).size();
  for (size_t from = 0, to = 0; from < longest; from = to) {
    to = rows == 0 ? longest : std::min(from + rows, longest);
    std::vector<double> cached;
    for (const auto& prompt : prompts) cached.push_back(static_cast<double>(std::min(to, prompt.size())));
    const auto of_run = work_of_run(generator, to - from, cached);
    if (!of_run) return of_run.error();
    work += *of_run;
  }
  return work;
}

Expected<BoundsOfParts> bounds_of_parts(const DeviceProfile& device, Generator& generator,
                                        const graph::TokenLists& prompts, size_t prompt_rows,
                                        const Generated& generated, const Rates& rates) {
  const auto of_prompts = work_of_prompts(generator, prompts, prompt_rows);
  if (!of_prompts) return of_prompts.error();
  BoundsOfParts parts{bounds_of(*of_prompts, device, 1e3 * generated.prompt_ms), std::nullopt};
  if (rates.decode_runs == 0) return parts;
  // In the middle of all further tokens.
  std::vector<double> cached;
  for (const auto& prompt : prompts)
    cached.push_back(static_cast<double>(prompt.size()) + static_cast<double>(rates.decode_runs + 1) / 2);
  const auto of_token = work_of_run(generator, 1, cached);
  if (!of_token) return of_token.error();
  parts.decoding = bounds_of(*of_token, device, 1e3 * rates.decode_ms);
  return parts;
}

std::string text_of(const Rates& rates, const BoundsOfParts& bounds, const Generated& generated,
                    const Generator& generator) {
  std::string text =
      fmt::format("prompt: {} tokens in {:.1f} ms, {:.1f} tokens/s; prepared in {:.1f} ms; the nearest bound is {}\n{}",
                  rates.prompt_tokens, generated.prompt_ms, rates.prompt, generated.prepare_ms, bounds.prompt.nearest(),
                  text_of(bounds.prompt));
  if (bounds.decoding)
    text += fmt::format(
        "decoding: {} tokens in {:.1f} ms, {:.1f} tokens/s; {} launches a token; the nearest bound is {}\n{}",
        rates.decoded_tokens, generated.decode_ms, rates.decoding, generated.launches, bounds.decoding->nearest(),
        text_of(*bounds.decoding));
  return text + fmt::format("caches: {} for {} tokens\n", bytes_text(generator.state_bytes()), generator.capacity());
}

std::string json_of(const Rates& rates, const BoundsOfParts& bounds, const Generated& generated,
                    const Generator& generator) {
  nlohmann::ordered_json json{{"tokens", generated.tokens},
                              {"prompt_tokens", rates.prompt_tokens},
                              {"prompt_tokens_per_second", rates.prompt},
                              {"decoded_tokens", rates.decoded_tokens},
                              {"decoded_tokens_per_second", rates.decoding},
                              {"launches_per_token", generated.launches},
                              {"prepare_ms", generated.prepare_ms},
                              {"weight_bytes", generator.model().constant_bytes()},
                              {"cache_bytes", generator.state_bytes()},
                              {"capacity", generator.capacity()},
                              {"prompt_bounds", json_of(bounds.prompt)}};
  if (bounds.decoding) json["decoding_bounds"] = json_of(*bounds.decoding);
  return json::to_text(json) + "\n";
}

// One sequence: as tokens come. Several: a line for each, at the end.
graph::OnToken streaming(const Arguments& arguments, size_t sequences) {
  if (arguments.is_json || sequences != 1) return {};
  return [is_first = true](size_t, int32_t token) mutable {
    fmt::print("{}{}", is_first ? "" : " ", token);
    std::fflush(stdout);
    is_first = false;
    return true;
  };
}

void print(const Arguments& arguments, const Rates& rates, const BoundsOfParts& bounds, const Generated& generated,
           const Generator& generator) {
  if (arguments.is_json) {
    fmt::print("{}", json_of(rates, bounds, generated, generator));
    return;
  }
  if (generated.tokens.size() == 1) fmt::print("\n");
  else
    for (const auto& tokens : generated.tokens) fmt::print("{}\n", fmt::join(tokens, " "));
  fmt::print("{}", text_of(rates, bounds, generated, generator));
}

// The last run of the prompt, and the last one of a further token.
Done time_runs(const Arguments& arguments, Context& context, Generator& generator, size_t prompt_rows,
               const Generated& generated, const Rates& rates) {
  const auto time = [&](std::string_view what, size_t rows, double run_ms) -> Done {
    const auto prepared = generator.prepare(rows);
    if (!prepared) return prepared.error();
    fmt::print("{}:\n", what);
    const auto write_inputs = [&] { return generator.write_last_inputs(rows); };
    const auto times = measured_times(context, **prepared, {arguments.replays, true, run_ms, write_inputs});
    if (!times) return times.error();
    fmt::print("{}", table_of(layers_of((*prepared)->schedule(), times->samples), times->device_us));
    return std::monostate{};
  };
  if (prompt_rows > 1) {
    if (Done timed = time("the prompt", prompt_rows, generated.prompt_ms); !timed) return timed;
  }
  return rates.decode_runs == 0 ? Done(std::monostate{}) : time("a further token", 1, rates.decode_ms);
}

}  // namespace

Expected<int> generate(const Program& program, const Arguments& arguments) {
  const auto prompts = prompts_of(arguments);
  if (!prompts) return prompts.error();
  graph::GenerateOptions options{.most_tokens = arguments.generation.most_tokens,
                                 .sampling = arguments.generation.sampling,
                                 .prompt_rows = arguments.generation.prompt_rows};
  for (const std::string& text : arguments.generation.end_tokens) {
    const auto tokens = tokens_in("--end", text);
    if (!tokens) return tokens.error();
    options.end_tokens.insert(options.end_tokens.end(), tokens->begin(), tokens->end());
  }
  auto loaded = load(arguments);
  if (!loaded) return loaded.error();
  const auto inputs = given_inputs(loaded->graph, arguments, loaded->left_out);
  if (!inputs) return inputs.error();
  for (const std::string& note : loaded->notes) print_log("qgen-model: note: {}\n", note);
  const auto opened =
      runner::Opened::open(program.library, arguments.device,
                           {.is_untuned = arguments.is_untuned, .keeps_pipelines = true, .mask = arguments.mask});
  if (!opened) return opened.error();
  for (const std::string& warning : (*opened)->warnings()) print_log("qgen-model: warning: {}\n", warning);
  Progress progress(::isatty(STDERR_FILENO) != 0);
  const auto generator = Generator::create((*opened)->context(), program.operators, std::move(loaded->graph),
                                           {.capacity = capacity_for(arguments, *prompts),
                                            .cache = arguments.generation.cache,
                                            .blocks = arguments.generation.blocks,
                                            .on_progress = [&](std::string_view what, size_t done, size_t total) {
                                              progress.show(what, done, total);
                                              if (done == total) progress.clear();
                                            }});
  if (!generator) return generator.error();
  if (!inputs->empty()) {
    if (Done set = (*generator)->set_inputs(*inputs); !set) return set.error();
  }
  const auto generated = (*generator)->generate(*prompts, options, streaming(arguments, prompts->size()));
  progress.clear();
  if (!generated) return generated.error();
  const Rates rates = rates_of(*generated);
  const auto bounds =
      bounds_of_parts((*opened)->context().profile, **generator, *prompts, options.prompt_rows, *generated, rates);
  if (!bounds) return bounds.error();
  print(arguments, rates, *bounds, *generated, **generator);
  if (!arguments.is_timed) return runner::kDone;
  size_t rows = 0;
  for (const auto& prompt : *prompts) rows = std::max(rows, prompt.size());
  if (options.prompt_rows > 0) rows = std::min(rows, options.prompt_rows);
  if (Done timed = time_runs(arguments, (*opened)->context(), **generator, rows, *generated, rates); !timed)
    return timed.error();
  return runner::kDone;
}

}  // namespace qgen::model
