// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/models/graph/generator.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/files.h"
#include "operators.h"
#include "runtime/c/objects.h"
#include "runtime/models/onnx/import.h"

struct qgen_generator {
  std::shared_ptr<qgen::c::OnDevice> on;
  std::unique_ptr<qgen::graph::Generator> generator;
};

namespace qgen::c {
namespace {

Expected<graph::Cache> cache_of(qgen_cache cache) {
  switch (cache) {
    case QGEN_CACHE_OF_MODEL: return graph::Cache::of_model;
    case QGEN_CACHE_INT8: return graph::Cache::int8;
    case QGEN_CACHE_PAGED: return graph::Cache::paged;
    case QGEN_CACHE_PAGED_INT8: return graph::Cache::paged_int8;
  }
  return refused(fmt::format("cache is {}", static_cast<int>(cache)),
                 "QGEN_CACHE_OF_MODEL, QGEN_CACHE_INT8, QGEN_CACHE_PAGED or QGEN_CACHE_PAGED_INT8");
}

Done load_generator(qgen_device& device, const char* path, const graph::GeneratorOptions& options,
                    qgen_generator** generator) {
  auto imported =
      onnx::import_model(std::filesystem::path(path), {.finds_states = true, .positions_follow_caches = true});
  if (!imported) return imported.error();
  auto made = graph::Generator::create(device.on->context, generated::operators::entries(), std::move(imported->graph),
                                       options);
  if (!made) return in_file(path, made.error());
  return give(generator, qgen_generator{device.on, *std::move(made)});
}

graph::TokenLists lists_of(const int32_t* tokens, const size_t* counts, size_t sequences) {
  graph::TokenLists lists;
  for (size_t i = 0; i < sequences; ++i) {
    lists.emplace_back(tokens, tokens + counts[i]);
    tokens += counts[i];
  }
  return lists;
}

graph::GenerateOptions options_of(const qgen_generation& generation) {
  graph::GenerateOptions options{.most_tokens = generation.most_tokens,
                                 .sampling = {.top_k = generation.top_k,
                                              .temperature = generation.temperature == 0 ? 1 : generation.temperature,
                                              .seed = generation.seed},
                                 .prompt_rows = generation.prompt_rows};
  if (generation.end_tokens)
    options.end_tokens.assign(generation.end_tokens, generation.end_tokens + generation.end_token_count);
  return options;
}

graph::OnToken on_token_of(const qgen_generation& generation) {
  if (!generation.on_token) return {};
  return [&generation](size_t sequence, int32_t token) {
    return generation.on_token(generation.data, sequence, token) != 0;
  };
}

}  // namespace
}  // namespace qgen::c

using namespace qgen;
using namespace qgen::c;

extern "C" {

qgen_code qgen_generator_load(qgen_device* device, const char* path, int64_t capacity, qgen_cache cache,
                              qgen_generator** generator, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !path || !generator) return is_null(!device ? "device" : !path ? "path" : "generator");
    const auto form = cache_of(cache);
    if (!form) return form.error();
    return load_generator(*device, path, {.capacity = capacity, .cache = *form}, generator);
  });
}

qgen_code qgen_generator_load_paged(qgen_device* device, const char* path, int64_t capacity, qgen_cache cache,
                                    int64_t block_size, int64_t blocks, qgen_generator** generator,
                                    qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!device || !path || !generator) return is_null(!device ? "device" : !path ? "path" : "generator");
    const auto form = cache_of(cache);
    if (!form) return form.error();
    if (!graph::is_paged(*form))
      return refused(fmt::format("cache is {}, which has no blocks", static_cast<int>(cache)),
                     "QGEN_CACHE_PAGED or QGEN_CACHE_PAGED_INT8");
    return load_generator(*device, path,
                          {.capacity = capacity, .cache = *form, .blocks = {.size = block_size, .count = blocks}},
                          generator);
  });
}

void qgen_generator_free(qgen_generator* generator) { delete generator; }

int64_t qgen_generator_vocabulary(const qgen_generator* generator) {
  return generator ? generator->generator->vocabulary() : 0;
}

qgen_code qgen_generator_set_inputs(qgen_generator* generator, const qgen_argument* inputs, size_t count,
                                    qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!generator) return is_null("generator");
    const auto arrays = arrays_of(inputs, count);
    if (!arrays) return arrays.error();
    return generator->generator->set_inputs(*arrays);
  });
}

qgen_code qgen_generator_start(qgen_generator* generator, size_t sequences, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!generator) return is_null("generator");
    constexpr size_t kMostSequences = size_t{1} << 20;  // far more than a device has caches for
    if (sequences > kMostSequences)
      return refused(fmt::format("there are {} sequences, and there can be {}", sequences, kMostSequences));
    generator->generator->start(sequences);
    return std::monostate{};
  });
}

qgen_code qgen_generator_feed(qgen_generator* generator, const int32_t* tokens, const size_t* counts, size_t sequences,
                              qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!generator || !tokens || !counts) return is_null(!generator ? "generator" : !tokens ? "tokens" : "counts");
    return generator->generator->feed(lists_of(tokens, counts, sequences));
  });
}

qgen_code qgen_generator_end(qgen_generator* generator, size_t sequence, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!generator) return is_null("generator");
    return generator->generator->end(sequence);
  });
}

qgen_code qgen_generator_next(qgen_generator* generator, uint32_t top_k, double temperature, uint64_t seed,
                              int32_t* tokens, qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!generator || !tokens) return is_null(generator ? "tokens" : "generator");
    const auto next = generator->generator->next({.top_k = top_k, .temperature = temperature, .seed = seed});
    if (!next) return next.error();
    std::copy(next->begin(), next->end(), tokens);
    return std::monostate{};
  });
}

qgen_code qgen_generator_generate(qgen_generator* generator, const qgen_generation* generation, const int32_t* prompts,
                                  const size_t* counts, size_t sequences, int32_t* tokens, size_t* generated,
                                  qgen_error** error) {
  return guarded(error, [&]() -> Done {
    if (!generator || !generation) return is_null(generator ? "generation" : "generator");
    if (!prompts || !counts) return is_null(prompts ? "counts" : "prompts");
    if (generation->most_tokens == 0) return refused("most_tokens is 0", "1 at least");
    const auto said = generator->generator->generate(lists_of(prompts, counts, sequences), options_of(*generation),
                                                     on_token_of(*generation));
    if (!said) return said.error();
    for (size_t i = 0; i < sequences; ++i) {
      const std::vector<int32_t>& of_sequence = said->tokens[i];
      if (tokens) std::ranges::copy(of_sequence, tokens + i * generation->most_tokens);
      if (generated) generated[i] = of_sequence.size();
    }
    return std::monostate{};
  });
}

}  // extern "C"
