// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Layers of attention and their parts, of ONNX and of com.microsoft, as qgen's operators.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/models/onnx/join_attention.h"
#include "runtime/models/onnx/match.h"
#include "runtime/models/onnx/written_out.h"

namespace qgen::onnx {

using matching::at;

namespace {

// [B, S, N * D] as [B, S, N, D].
Expected<Dims> parted(const Dims& shape, int64_t heads) {
  const Number hidden = shape.back();
  if (hidden.is_symbol)
    return unsupported("its heads have a size that is not known before the model runs", kHowToNumberSides);
  if (heads < 1 || hidden.value % heads != 0)
    return refused(fmt::format("its input is {}, and it has {} heads", to_text(shape), heads));
  return Dims{shape[0], shape[1], {heads}, {hidden.value / heads}};
}

}  // namespace

Rewritten Importer::rotary_embedding(const Node& node, Arguments arguments) {
  const bool is_microsoft = !node.domain.empty();
  const Known *cos = at(arguments, is_microsoft ? 2 : 1), *sin = at(arguments, is_microsoft ? 3 : 2);
  const Known* positions = at(arguments, is_microsoft ? 1 : 3);
  if (!cos || !sin) return refused("it has no cos_cache or no sin_cache");
  if (node.real("scale", 1) != 1)
    return unsupported(fmt::format("its scale is {}, and can be 1", node.real("scale", 1)));
  if (node.integer("is_packed_batching", 0) != 0) return unsupported("its batches are packed (is_packed_batching)");
  const Known& input = *arguments[0];
  const Number angles = cos->shape.empty() ? Number{0} : cos->shape.back();
  if (angles.is_symbol) return unsupported("its cos_cache has a row of unknown size", kHowToNumberSides);
  const bool is_parted = input.shape.size() == 4;
  if (!is_parted && input.shape.size() != 3)
    return refused(fmt::format("its input is {}, and must have three or four dimensions", to_text(input.shape)));
  Dims shape = input.shape;
  if (!is_parted) {
    int64_t heads = node.integer("num_heads", 0);
    const bool is_of_whole_heads = is_microsoft && heads == 0 && angles.value > 0 && !shape.back().is_symbol;
    if (is_of_whole_heads) heads = shape.back().value / (2 * angles.value);
    auto parts = parted(shape, heads);
    if (!parts) return parts.error();
    shape = *std::move(parts);
  }
  const int64_t said = node.integer("rotary_embedding_dim", 0);
  if (const Number rotated = said > 0 ? Number{said} : shape.back(); rotated != Number{2 * angles.value})
    return refused(fmt::format("its cos_cache is {}, and must have one column for two of a head's {} rotated elements",
                               to_text(cos->shape), to_text(rotated)));

  const auto heads = viewed(node, input, shape);
  if (!heads) return heads.error();
  auto result = rotated(node, *heads, Rotation{cos, sin, positions, node.integer("interleaved", 0) != 0, is_parted});
  if (result) result = viewed(node, *result, input.shape);
  return as_other(std::move(result));
}

Expected<Known> Importer::rotated(const Node& node, const Known& heads, const Rotation& how) {
  const auto real = builder_.real_of(heads);
  if (!real) return real.error();
  graph::Node rotation{
      .name = node.name,
      .op = "rotary_embedding",
      .inputs = {{"input", real->value}},
      .attributes = {
          {"interleaved", how.is_interleaved}, {"heads_first", how.is_heads_first}, {"from_last", how.is_from_last}}};
  for (const auto& [port, known] : {std::pair{"cos", how.cos}, {"sin", how.sin}}) {
    const auto table = element_value(fmt::format("{} {}", node.name, port), *known,
                                     real->dtype == DType::f16 ? ElementType::f16 : ElementType::f32);
    if (!table) return table.error();
    rotation.inputs.push_back({port, *table});
  }
  if (how.positions) {
    const auto places = integer_value(*how.positions);
    if (!places) return places.error();
    rotation.inputs.push_back({"positions", *places});
  }
  return Known{Real{builder_.add(std::move(rotation), heads.shape), real->dtype}, heads.shape};
}

// ---- attention ------------------------------------------------------------------------------------------------------

namespace {

bool is_used(const Order& order, const Node& node, size_t output) {
  return output < node.outputs.size() && !node.outputs[output].empty() && order.uses.contains(node.outputs[output]);
}

}  // namespace

Expected<Known> Importer::additive_mask(const Node& node, const Known& mask, ElementType type) {
  Known reals = mask;
  if (element_type_of(mask) == ElementType::boolean) {
    const Known allowed = number(node.name + " zero", 0);
    const Known refused_one = number(node.name + " minus infinity", -std::numeric_limits<float>::infinity());
    auto chosen = written(node, "Where", {mask, allowed, refused_one});
    if (!chosen) return chosen;
    reals = *std::move(chosen);
  }
  const auto value = element_value(node.name + " mask", reals, type);
  if (!value) return value.error();
  return elements_known(*value, type, mask.shape);
}

// The keys or values so far, then the new ones: both [B, M, T, D].
Expected<Known> Importer::with_past(const Node& node, const Known* past, const Known& heads, bool is_heads_first) {
  auto first = is_heads_first ? Expected<Known>(heads) : permuted(node.name + " heads first", heads, {0, 2, 1, 3});
  if (!first || !past) return first;
  const auto before = computed(*past);
  if (!before) return before;
  first = as_type(node, *first, element_type_of(*before));
  if (!first) return first;
  if (before->shape.size() != 4)
    return refused(fmt::format("its past is {}, and must have four dimensions", to_text(before->shape)));
  return concat_elements_along(node, {*before, *first}, 2);
}

Expected<Known> Importer::attention_of(const Node& node, const Attention& layer) {
  const auto query = builder_.real_of(layer.query);
  if (!query) return query.error();
  graph::Node attention{.name = node.name,
                        .op = "attention",
                        .inputs = {{"query", query->value}},
                        .attributes = {{"causal", layer.causal},
                                       {"window", layer.window},
                                       {"softcap", layer.softcap},
                                       {"heads_first", layer.is_heads_first},
                                       {"keys_heads_first", layer.is_keys_heads_first}}};
  if (layer.scale) attention.attributes.emplace("scale", *layer.scale);
  const ElementType type = query->dtype == DType::f16 ? ElementType::f16 : ElementType::f32;
  for (const auto& [port, known] : {std::pair{"key", &layer.key}, {"value", &layer.value}}) {
    const auto value = element_value(node.name, *known, type);
    if (!value) return value.error();
    attention.inputs.push_back({port, *value});
  }
  if (layer.mask) {
    const auto mask = additive_mask(node, *layer.mask, type);
    if (!mask) return mask.error();
    attention.inputs.push_back({"mask", mask->as<Real>()->value});
  }
  if (layer.key_lengths) {
    const auto lengths = integer_value(*layer.key_lengths);
    if (!lengths) return lengths.error();
    attention.inputs.push_back({"key_lengths", *lengths});
  }
  Dims shape = layer.query.shape;
  shape.back() = layer.value.shape.back();
  return Known{Real{builder_.add(std::move(attention), shape), query->dtype}, shape};
}

// The heads of [B, S, N * D] one after the other again.
Expected<Known> Importer::joined_heads(const Node& node, const Known& heads) {
  const Dims& shape = heads.shape;
  if (shape[2].is_symbol || shape[3].is_symbol)
    return unsupported("its heads have a size that is not known before the model runs", kHowToNumberSides);
  return viewed(node, heads, {shape[0], shape[1], {shape[2].value * shape[3].value}});
}

Done Importer::tell_attention(const Node& node, const Expected<Known>& output, const Known* key, const Known* value) {
  if (!output) return output.error();
  known_.insert_or_assign(node.outputs[0], *output);
  if (is_used(order_, node, 1) && key) known_.insert_or_assign(node.outputs[1], *key);
  if (is_used(order_, node, 2) && value) known_.insert_or_assign(node.outputs[2], *value);
  return std::monostate{};
}

namespace {

// With a past, row i sees the past and the new keys up to i: up to the last one, if there are as many rows as new keys.
Done check_new_keys(Number rows, Number keys) {
  if (rows.is_symbol || keys.is_symbol || rows == keys) return std::monostate{};
  return unsupported(fmt::format("it is causal and has a past, {} queries and {} new keys, which must be as many",
                                 to_text(rows), to_text(keys)));
}

}  // namespace

// ONNX's own Attention: inputs of four dimensions have the heads first; inputs of three have them side by side.
Done Importer::attention(const Node& node) {
  const auto given = arguments_of(node);
  if (!given) return given.error();
  const Known *past_key = at(*given, 4), *past_value = at(*given, 5), *lengths = at(*given, 6);
  if (!at(*given, 0) || !at(*given, 1) || !at(*given, 2)) return refused("it has no Q, K or V");
  if (is_used(order_, node, 3)) return unsupported("its output qk_matmul_output is used, and qgen does not compute it");
  if (lengths && past_key) return unsupported("it has a past and nonpad_kv_seqlen");
  if (!past_key != !past_value) return refused("it has one of past_key and past_value");
  std::vector<Known> heads;
  const bool is_parted = (*given)[0]->shape.size() == 4;
  for (size_t i = 0; i < 3; ++i) {
    auto known = computed(*(*given)[i]);
    if (!known) return known.error();
    if (known->shape.size() != (is_parted ? 4 : 3))
      return refused(fmt::format("its inputs are {} and {}", to_text((*given)[0]->shape), to_text(known->shape)));
    if (!is_parted) {
      const auto shape = parted(known->shape, node.integer(i == 0 ? "q_num_heads" : "kv_num_heads", 0));
      if (!shape) return shape.error();
      known = viewed(node, *known, *shape);
      if (!known) return known.error();
    }
    heads.push_back(*std::move(known));
  }
  const size_t rows = is_parted ? 2 : 1;
  const bool is_causal = node.integer("is_causal", 0) != 0;
  if (is_causal && past_key) {
    if (Done same = check_new_keys(heads[0].shape[rows], heads[1].shape[rows]); !same) return same;
  }
  const bool is_cached = past_key && is_state(node, 4, 1) && is_state(node, 5, 2);
  const bool has_state = past_key || is_used(order_, node, 1) || is_used(order_, node, 2);
  std::optional<Known> cached_lengths = is_cached ? rotated_with_past(node, *given, heads) : std::nullopt;
  if (has_state && !cached_lengths) {
    auto joined = join_past(node, {past_key, past_value, is_cached}, {is_parted, is_parted}, heads);
    if (!joined) return joined.error();
    cached_lengths = *std::move(joined);
  }
  Attention layer{.query = heads[0], .key = heads[1], .value = heads[2]};
  layer.mask = at(*given, 3);
  layer.key_lengths = cached_lengths ? &*cached_lengths : lengths;
  if (is_causal) layer.causal = past_key || lengths ? "to_last" : "from_first";
  if (node.find("scale")) layer.scale = double{node.real("scale", 1)};
  layer.softcap = double{node.real("softcap", 0)};
  layer.window = node.integer(kWindow, 0);
  layer.is_heads_first = is_parted;
  layer.is_keys_heads_first = is_parted || has_state;
  auto output = attention_of(node, layer);
  if (output && !is_parted) output = joined_heads(node, *output);
  return tell_attention(node, output, &heads[1], &heads[2]);
}

Expected<std::vector<Known>> Importer::heads_of_layer(const Node& node, Arguments given, int64_t count) {
  std::vector<Known> heads;
  const Known* bias = at(given, 3);
  int64_t of_bias = 0;
  for (size_t i = 0; i < 3; ++i) {
    auto known = computed(*given[i]);
    if (!known) return known.error();
    if (known->shape.size() == 4 && i > 0 && !bias) {
      heads.push_back(*std::move(known));
      continue;
    }
    if (known->shape.size() != 3) return unsupported(fmt::format("its input {} is {}", i, to_text(known->shape)));
    const auto shape = parted(known->shape, count);
    if (!shape) return shape.error();
    if (bias) {
      const auto elements = elements_of(*bias);
      if (!elements) return elements.error();
      const int64_t width = known->shape.back().value;
      known = computed(node, "Add", {*known, part_of(node.name + " bias", *elements, 0, of_bias, width)});
      if (!known) return known.error();
      of_bias += width;
    }
    known = viewed(node, *known, *shape);
    if (!known) return known.error();
    heads.push_back(*std::move(known));
  }
  return heads;
}

Expected<Known> Importer::mask_of_padding(const Node& node, const Known& padding) {
  auto allowed = as_type(node, padding, ElementType::boolean);
  if (allowed) allowed = seen_as(node, *allowed, {padding.shape[0], {1}, {1}, padding.shape[1]});
  if (!allowed) return allowed;
  return written(node, "Where",
                 {*allowed, number(node.name + " zero", 0),
                  number(node.name + " filter", node.real("mask_filter_value", -10000.0f))});
}

namespace {

// A unidirectional layer without a past. ONNX Runtime masks it from the first key on. Only the last of fewer queries than
// keys sees all keys there, which the operator's definition does not say.
Done check_queries(Number queries, Number keys) {
  const bool is_known = !queries.is_symbol && !keys.is_symbol;
  const bool may_be_fewer = is_known ? queries.value < keys.value : !(queries == keys);
  if (!may_be_fewer) return std::monostate{};
  return unsupported(fmt::format("it is unidirectional and has no past, and {} queries may not be fewer than {} keys",
                                 to_text(queries), to_text(keys)),
                     is_known ? "" : kHowToNumberSides);
}

}  // namespace

// Of com.microsoft: as many heads of keys as of queries.
Done Importer::multi_head_attention(const Node& node) {
  const auto given = arguments_of(node);
  if (!given) return given.error();
  const Known *padding = at(*given, 4), *past_key = at(*given, 6), *past_value = at(*given, 7);
  if (!at(*given, 0) || !at(*given, 1) || !at(*given, 2)) return unsupported("its query, key and value are packed");
  if (is_used(order_, node, 3)) return unsupported("its output qk is used, and qgen does not compute it");
  if (at(*given, 8) || at(*given, 9)) return unsupported("its past has a fixed size (past_sequence_length)");
  if (!past_key != !past_value) return refused("it has one of past_key and past_value");
  auto separate = heads_of_layer(node, *given, node.integer("num_heads", 0));
  if (!separate) return separate.error();
  std::vector<Known>& heads = *separate;
  const std::array<bool, 2> are_first = {(*given)[1]->shape.size() == 4, (*given)[2]->shape.size() == 4};
  const bool is_causal = node.integer("unidirectional", 0) != 0;
  if (is_causal) {
    const Number queries = heads[0].shape[1], keys = heads[1].shape[are_first[0] ? 2 : 1];
    if (Done fits = past_key ? check_new_keys(queries, keys) : check_queries(queries, keys); !fits) return fits;
  }
  const bool is_cached = past_key && is_state(node, 6, 1) && is_state(node, 7, 2) && are_first[0] == are_first[1];
  const bool has_state =
      past_key || is_used(order_, node, 1) || is_used(order_, node, 2) || are_first[0] != are_first[1];
  std::optional<Known> cached_lengths;
  if (has_state) {
    auto joined = join_past(node, {past_key, past_value, is_cached}, are_first, heads);
    if (!joined) return joined.error();
    cached_lengths = *std::move(joined);
  }
  Attention layer{.query = heads[0], .key = heads[1], .value = heads[2]};
  if (cached_lengths) layer.key_lengths = &*cached_lengths;
  std::optional<Known> mask;
  if (at(*given, 5)) mask = *at(*given, 5);
  if (padding) {
    if (padding->shape.size() != 2 || mask)
      return unsupported(fmt::format("its key_padding_mask is {}{}", to_text(padding->shape),
                                     mask ? ", and it has an attention_bias" : ""));
    auto added = mask_of_padding(node, *padding);
    if (!added) return added.error();
    mask = *std::move(added);
  }
  if (mask) layer.mask = &*mask;
  if (is_causal) layer.causal = past_key ? "to_last" : "from_first";
  if (node.real("scale", 0) != 0) layer.scale = double{node.real("scale", 0)};
  layer.is_keys_heads_first = has_state || are_first[0];
  auto output = attention_of(node, layer);
  if (output) output = joined_heads(node, *output);
  return tell_attention(node, output, &heads[1], &heads[2]);
}

Expected<std::vector<Known>> Importer::heads_of_group(const Node& node, Arguments given, const Known& query,
                                                      const std::array<int64_t, 3>& counts, int64_t width) {
  std::vector<Known> heads;
  for (size_t i = 0; i < 3; ++i) {
    Expected<Known> known = query;
    if (!at(given, 1)) {
      const auto elements = elements_of(query);
      if (!elements) return elements.error();
      const int64_t before = std::accumulate(counts.begin(), counts.begin() + static_cast<ptrdiff_t>(i), int64_t{0});
      known = part_of(node.name + " part", *elements, 2, before * width, counts[i] * width);
    } else if (i > 0) {
      if (!at(given, i)) return refused("it has a key and no value");
      known = computed(*given[i]);
      if (!known) return known.error();
    }
    if (known->shape.size() != 3) return unsupported(fmt::format("its input {} is {}", i, to_text(known->shape)));
    const auto shape = parted(known->shape, counts[i]);
    if (!shape) return shape.error();
    known = viewed(node, *known, *shape);
    if (!known) return known.error();
    heads.push_back(*std::move(known));
  }
  return heads;
}

namespace {

// Of batches with a past: `lengths`, where it is constant, has one for each.
Done check_one_length(Number batches, const TensorPtr& lengths) {
  bool is_one_length = batches == Number{1} || lengths;
  for (int64_t i = 0; lengths && i < lengths->size(); ++i)
    is_one_length = is_one_length && lengths->integer(i) == lengths->integer(0);
  if (is_one_length) return std::monostate{};
  return unsupported("its batches may have different lengths",
                     "run one batch at a time, or give equal lengths as a constant: --constant of qgen-model. "
                     "`qgen-model generate` keeps its past as a state, with different lengths");
}

}  // namespace

// Of com.microsoft, causal always. Batches must have one length: the last position is the same for all.
Done Importer::group_query_attention(const Node& node) {
  const auto given = arguments_of(node);
  if (!given) return given.error();
  const Known *past_key = at(*given, 3), *past_value = at(*given, 4), *last = at(*given, 5);
  const Known *cos = at(*given, 7), *sin = at(*given, 8), *positions = at(*given, 9), *bias = at(*given, 10);
  if (!at(*given, 0) || !last) return refused("it has no query or no seqlens_k");
  if (at(*given, 11)) return unsupported("it has a head_sink");
  if (is_used(order_, node, 3)) return unsupported("its output output_qk is used, and qgen does not compute it");
  if (node.integer("smooth_softmax", 0) == 1) return unsupported("its softmax is smooth (smooth_softmax)");
  if (!past_key != !past_value) return refused("it has one of past_key and past_value");
  const int64_t count = node.integer("num_heads", 0), key_count = node.integer("kv_num_heads", 0);
  const auto input = computed(*(*given)[0]);
  if (!input) return input.error();
  if (input->shape.size() != 3 || input->shape.back().is_symbol || count < 1 || key_count < 1)
    return unsupported(fmt::format("its query is {}", to_text(input->shape)));
  const bool is_packed = !at(*given, 1);
  const int64_t width = input->shape.back().value / (is_packed ? count + 2 * key_count : count);
  auto separate = heads_of_group(node, *given, *input, {count, key_count, key_count}, width);
  if (!separate) return separate.error();
  std::vector<Known>& heads = *separate;
  const bool rotates = node.integer("do_rotary", 0) != 0;
  const bool are_neighbours = node.integer("rotary_interleaved", 0) != 0;
  if (rotates && (!cos || !sin)) return refused("it has no cos_cache or no sin_cache");
  const bool is_cached = past_key && is_state(node, 3, 1) && is_state(node, 4, 2);
  if (rotates && is_cached && !positions) {
    Rows rows{.query = heads[0], .key = &heads[1], .value = &heads[2], .heads = count};
    if (is_packed) {
      const auto all = viewed(node, *input, {input->shape[0], input->shape[1], {count + 2 * key_count}, {width}});
      if (!all) return all.error();
      rows = {.query = *all, .heads = count};
    }
    const Rotation how{cos, sin, nullptr, are_neighbours, false};
    const auto all = rotated_and_cached(node, rows, *past_key, *past_value, how, *last);
    if (!all) return all.error();
    const auto& [query, cache] = *all;
    return attention_of_group(
        node, {.query = query, .key = cache.key, .value = cache.value, .mask = bias, .key_lengths = &cache.lengths});
  }
  if (rotates) {
    const auto of_last = viewed(node, *last, {input->shape[0]});
    if (!of_last) return of_last.error();
    const Known& places = positions ? *positions : *of_last;
    for (size_t i = 0; i < 2; ++i) {
      auto turned = rotated(node, heads[i], Rotation{cos, sin, &places, are_neighbours, false, !positions});
      if (!turned) return turned.error();
      heads[i] = *std::move(turned);
    }
  }
  if (is_cached) {
    const auto all = cached(node, *past_key, *past_value, heads[1], heads[2], *last);
    if (!all) return all.error();
    return attention_of_group(
        node, {.query = heads[0], .key = all->key, .value = all->value, .mask = bias, .key_lengths = &all->lengths});
  }
  if (const auto joined = join_past(node, {past_key, past_value}, {false, false}, heads); !joined)
    return joined.error();
  if (Done one = check_one_length(input->shape[0], tensor_at(*given, 5)); !one) return one;
  return attention_of_group(node, {.query = heads[0], .key = heads[1], .value = heads[2], .mask = bias});
}

Done Importer::attention_of_group(const Node& node, Attention layer) {
  layer.causal = "to_last";
  if (node.real("scale", 0) != 0) layer.scale = double{node.real("scale", 0)};
  layer.softcap = double{node.real("softcap", 0)};
  // With the key of the row itself. Older ONNX Runtimes have one key more on a CPU.
  if (const int64_t keys = node.integer("local_window_size", -1); keys > 0) layer.window = keys;
  layer.is_keys_heads_first = true;
  auto output = attention_of(node, layer);
  if (output) output = joined_heads(node, *output);
  return tell_attention(node, output, &layer.key, &layer.value);
}

bool Importer::is_state(const Node& node, size_t input, size_t output) const {
  if (!node.has_input(input) || output >= node.outputs.size()) return false;
  return std::ranges::count(states_, StateNames{node.inputs[input], node.outputs[output]}) > 0;
}

Expected<Importer::Cached> Importer::cached(const Node& node, const Known& key_cache, const Known& value_cache,
                                            const Known& key, const Known& value, const Known& last) {
  const auto of_last = viewed(node, last, {key.shape[0]});
  if (!of_last) return of_last.error();
  const auto position = integer_value(*of_last);
  if (!position) return position.error();
  graph::Node write{.name = node.name + " cache", .op = "cache_write", .attributes = {{"only_new", true}}};
  DType dtype = DType::f32;
  for (const auto& [port, known] :
       {std::pair{"key_cache", &key_cache}, {"value_cache", &value_cache}, {"key", &key}, {"value", &value}}) {
    const auto real = builder_.real_of(*known);
    if (!real) return real.error();
    // As the caches have it.
    if (known == &key_cache) dtype = real->dtype;
    const bool is_same = real->dtype == dtype;
    write.inputs.push_back(
        {port, is_same ? real->value : builder_.converted(fmt::format("{} {}", node.name, port), real->value, dtype)});
  }
  write.inputs.push_back({"last", *position});
  constexpr std::string_view kOutputs[] = {"keys", "values", "lengths"};
  const auto values = builder_.graph.add(std::move(write), kOutputs);
  builder_.shapes.insert(builder_.shapes.end(), {key_cache.shape, value_cache.shape, Dims{key.shape[0]}});
  return Cached{{Real{values[0], dtype}, key_cache.shape},
                {Real{values[1], dtype}, value_cache.shape},
                {Integers{values[2], ElementType::i32}, {key.shape[0]}}};
}

Expected<std::pair<Known, Importer::Cached>> Importer::rotated_and_cached(const Node& node, const Rows& rows,
                                                                          const Known& key_cache,
                                                                          const Known& value_cache, const Rotation& how,
                                                                          const Known& last) {
  const Number batches = rows.query.shape[0];
  const auto of_last = viewed(node, last, {batches});
  if (!of_last) return of_last.error();
  const auto position = integer_value(*of_last);
  if (!position) return position.error();
  const auto query = builder_.real_of(rows.query);
  if (!query) return query.error();
  const DType dtype = query->dtype;
  graph::Node write{.name = node.name + " rotation and cache",
                    .op = "rotary_cache_write",
                    .inputs = {{"query", query->value}},
                    .attributes = {{"interleaved", how.is_interleaved}, {"only_new", true}}};
  for (const auto& [port, known] : {std::pair{"key", rows.key},
                                    {"value", rows.value},
                                    {"key_cache", &key_cache},
                                    {"value_cache", &value_cache},
                                    {"cos", how.cos},
                                    {"sin", how.sin}}) {
    if (!known) continue;
    const auto real = builder_.real_of(*known, dtype);
    if (!real) return real.error();
    if (real->dtype != dtype) return unsupported(fmt::format("its {} has another type than its query", port));
    write.inputs.push_back({port, real->value});
  }
  write.inputs.push_back({"last", *position});
  constexpr std::string_view kOutputs[] = {"rotated", "keys", "values", "lengths"};
  const auto values = builder_.graph.add(std::move(write), kOutputs);
  Dims shape = rows.query.shape;
  shape[2] = {rows.heads};
  builder_.shapes.insert(builder_.shapes.end(), {shape, key_cache.shape, value_cache.shape, Dims{batches}});
  return std::pair{Known{Real{values[0], dtype}, shape}, Cached{{Real{values[1], dtype}, key_cache.shape},
                                                                {Real{values[2], dtype}, value_cache.shape},
                                                                {Integers{values[3], ElementType::i32}, {batches}}}};
}

Expected<std::optional<Known>> Importer::join_past(const Node& node, const Past& past, std::array<bool, 2> are_first,
                                                   std::vector<Known>& heads) {
  if (past.is_cached) {
    const auto all = cached_by_positions(node, *past.key, *past.value, heads[1], heads[2], are_first[0]);
    if (!all) return all.error();
    heads = {heads[0], all->key, all->value};
    return std::optional(all->lengths);
  }
  const std::array values{past.key, past.value};
  for (size_t i = 0; i < values.size(); ++i) {
    auto all = with_past(node, values[i], heads[i + 1], are_first[i]);
    if (!all) return all.error();
    heads[i + 1] = *std::move(all);
  }
  return std::optional<Known>();
}

std::optional<Known> Importer::rotated_with_past(const Node& node, Arguments given, std::vector<Known>& heads) {
  const Known *query = at(given, RotatedInput::query), *key = at(given, RotatedInput::key);
  if (!query || !key || heads.front().shape.size() != 4) return std::nullopt;
  std::vector<Known> rows;
  for (const auto& [known, like] : {std::pair{query, &heads[0]}, {key, &heads[1]}}) {
    const auto one = computed(*known);
    auto parts = one ? viewed(node, *one, like->shape) : one;
    if (!parts) return std::nullopt;
    rows.push_back(*std::move(parts));
  }
  const auto last = last_positions(heads[0].shape[0]);
  if (!last) return std::nullopt;
  const Rotation how{at(given, RotatedInput::cos), at(given, RotatedInput::sin), nullptr,
                     node.integer("rotary_interleaved", 0) != 0, false};
  const Rows all{.query = rows[0], .key = &rows[1], .value = &heads[2], .heads = heads[0].shape[2].value};
  auto made = rotated_and_cached(node, all, *at(given, 4), *at(given, 5), how, *last);
  if (!made) return std::nullopt;  // of several types
  heads = {made->first, made->second.key, made->second.value};
  return made->second.lengths;
}

Expected<Known> Importer::last_positions(Number batches) {
  if (last_positions_) return *last_positions_;
  if (std::ranges::count(model_.graph.inputs, kLastPositions, &ValueInfo::name) > 0)
    return refused(
        fmt::format("the model has an input '{}', which is the name of an input that its caches need", kLastPositions));
  const ValueId value = builder_.input(std::string(kLastPositions), DType::i32, {batches});
  last_positions_ = Known{Integers{value, ElementType::i32}, {batches}};
  return *last_positions_;
}

Expected<Importer::Cached> Importer::cached_by_positions(const Node& node, const Known& key_cache,
                                                         const Known& value_cache, const Known& key, const Known& value,
                                                         bool is_heads_first) {
  const auto last = last_positions(key.shape[0]);
  if (!last) return last.error();
  if (!is_heads_first) return cached(node, key_cache, value_cache, key, value, *last);
  const auto keys = permuted(node.name + " rows first", key, {0, 2, 1, 3});
  if (!keys) return keys.error();
  const auto values = permuted(node.name + " rows first", value, {0, 2, 1, 3});
  if (!values) return values.error();
  return cached(node, key_cache, value_cache, *keys, *values, *last);
}

}  // namespace qgen::onnx
