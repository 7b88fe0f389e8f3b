// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The graph gets more nodes: the row of each sequence's last token is picked before the product that computes the
// logits (picked_rows.h), and the largest logit is found on the device. A run is one submission: the tokens and
// positions are copied to the device, and the most likely tokens back.
//
// What the model computes only of inputs that stay the same, such as keys and values of an encoder's result, is another
// model (given_inputs.h). It runs once, and its outputs are inputs of the rest, in the same memory.
//
// generate() submits the run of the next token before it waits for the present one, so the device computes while the
// host prints. That run gets its token on the device. If the sequences end first, it was for nothing; it has written to
// rows of the cache that no later run reads.
#include "runtime/models/graph/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <tuple>

#include "common/nearest.h"
#include "common/stopwatch.h"
#include "runtime/models/graph/given_inputs.h"
#include "runtime/models/graph/picked_rows.h"
#include "vocabulary/integer.h"

namespace qgen::graph {
namespace {

constexpr std::string_view kRows = "generate.rows", kLogits = "generate.logits", kToken = "generate.token";

const Value* input_named(const Graph& graph, std::string_view name) {
  const auto found = std::ranges::find_if(graph.inputs, [&](ValueId id) { return graph.values[id].name == name; });
  return found == graph.inputs.end() ? nullptr : &graph.values[*found];
}

int64_t blocks_per_sequence(const GeneratorOptions& options) {
  return ceil_div(options.capacity, options.blocks.size).value;
}

Blocks pool_of(const GeneratorOptions& options, int64_t sequences) {
  const auto [size, count] = options.blocks;
  return {size, count > 0 ? count : (Integer(sequences) * blocks_per_sequence(options)).value};
}

// The first and the third side of a cache. There is one block more than the pool has: block_pool.h.
std::pair<int64_t, int64_t> sides_of_cache(const GeneratorOptions& options, int64_t sequences) {
  if (!is_paged(options.cache)) return {sequences, options.capacity};
  return {(Integer(pool_of(options, sequences).count) + 1).value, options.blocks.size};
}

// How many keys of a sequence the attention may see: the capacity, or that of its blocks.
int64_t most_keys(const GeneratorOptions& options) {
  return is_paged(options.cache) ? (Integer(blocks_per_sequence(options)) * options.blocks.size).value
                                 : options.capacity;
}

// Of one that each run gets.
bool is_of_runs(const Graph& graph, const LanguageNames& names, ValueId id) {
  const std::string& name = graph.values[id].name;
  return graph.is_state_input(id) || name == names.tokens || name == names.mask || name == names.positions ||
         name == names.last || name == kBlockTable || name == kRows;
}

// `given`: of the inputs that are not of runs.
InputShapes shapes_of_inputs(const Graph& graph, const GeneratorOptions& options, int64_t sequences, int64_t rows,
                             const InputShapes& given) {
  const LanguageNames& names = options.names;
  InputShapes shapes;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[id];
    if (input.name == names.keys) {
      shapes.emplace(input.name, Shape{most_keys(options)});
    } else if (!is_of_runs(graph, names, id)) {
      if (const auto shape = given.find(input.name); shape != given.end()) shapes.insert(*shape);
    } else if (graph.is_state_input(id)) {
      Shape shape = input.shape;
      if (shape.size() == 4) std::tie(shape[0], shape[2]) = sides_of_cache(options, sequences);
      shapes.emplace(input.name, std::move(shape));
    } else if (input.name == names.mask) {
      shapes.emplace(input.name, Shape{sequences, most_keys(options)});
    } else if (input.name == kBlockTable) {
      shapes.emplace(input.name, Shape{sequences, blocks_per_sequence(options)});
    } else {
      const bool is_of_sequences = input.name == kRows || input.name == names.last;
      shapes.emplace(input.name, is_of_sequences ? Shape{sequences} : Shape{sequences, rows});
    }
  }
  return shapes;
}

Done check_names(const Graph& graph, const LanguageNames& names) {
  if (graph.states.empty())
    return refused("the model has no states", "its caches are inputs past_... and outputs present_...; or name them");
  if (!input_named(graph, names.tokens)) return refused(fmt::format("the model has no input '{}'", names.tokens));
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.values[id];
    const bool is_of_integers = is_of_runs(graph, names, id) && !graph.is_state_input(id);
    if (is_of_integers && input.dtype != DType::i32)
      return refused(fmt::format("input '{}' is {}, and must be of integers", input.name, name(input.dtype)));
  }
  return std::monostate{};
}

// The others, as set_inputs() needs them. One that no node reads is not needed, and leaves the graph.
std::map<std::string, TensorDesc> take_needed_inputs(Graph& graph, const LanguageNames& names) {
  std::map<std::string, TensorDesc> needed;
  std::erase_if(graph.inputs, [&](ValueId id) {
    if (is_of_runs(graph, names, id) || graph.values[id].name == names.keys) return false;
    const auto reads = [&](const Node& node) { return std::ranges::count(node.inputs, id, &Port::value) > 0; };
    if (std::ranges::none_of(graph.nodes, reads)) return std::ranges::count(graph.outputs, id, &Named::value) == 0;
    const Value& input = graph.values[id];
    needed.emplace(input.name, TensorDesc{input.dtype, input.shape});
    return false;
  });
  return needed;
}

// Whether the first side is the number of sequences.
bool is_of_sequences(const TensorDesc& input) { return input.shape.size() > 1 && input.shape.front() == kAnySide; }

// Where it does not matter how long the inputs are.
InputShapes some_shapes(const std::map<std::string, TensorDesc>& inputs) {
  constexpr int64_t kSome = 8;
  InputShapes shapes;
  for (const auto& [name, desc] : inputs) {
    Shape& shape = shapes[name] = desc.shape;
    if (is_of_sequences(desc)) shape.front() = 1;
    std::ranges::replace(shape, kAnySide, kSome);
  }
  return shapes;
}

int64_t sequences_of(const std::map<std::string, TensorDesc>& inputs, const InputShapes& shapes) {
  for (const auto& [name, desc] : inputs) {
    if (is_of_sequences(desc)) return shapes.at(name).front();
  }
  return 1;
}

bool fits(const Shape& shape, const Shape& needed) {
  return std::ranges::equal(shape, needed, [](int64_t a, int64_t b) { return b == kAnySide || a == b; });
}

HostTensor positions_of_keys(int64_t count) {
  HostTensor keys = zeros(DType::i32, {count});
  std::ranges::generate(keys.as<int32_t>(), [next = 0]() mutable { return next++; });
  return keys;
}

// Whether the model has angles, or learned rows, for all positions. Behind a table there are none.
Done check_positions(const Graph& graph, const Inferred& inferred, const GeneratorOptions& options) {
  const Value* positions = input_named(graph, options.names.positions);
  const auto check_table = [&](const Node& node, std::string_view operand, std::string_view what) -> Done {
    const auto value = value_of(node.inputs, operand);
    const Shape table = value ? inferred.values[*value].shape : Shape();
    if (table.size() != 2 || table[0] >= options.capacity) return std::monostate{};
    return refused(fmt::format("the capacity is {} tokens, and node '{}' has {} for {} positions", options.capacity,
                               node.name, what, table[0]),
                   "a smaller capacity, or fewer tokens");
  };
  for (const Node& node : graph.nodes) {
    const bool rotates = node.op == "rotary_embedding" || node.op.starts_with("rotary_cache_write");
    const auto indices = value_of(node.inputs, "indices");
    const bool takes_rows = node.op == "gather" && indices && &graph.values[*indices] == positions;
    Done known = rotates ? check_table(node, "cos", "angles") : std::monostate{};
    if (known && takes_rows) known = check_table(node, "input", "rows");
    if (!known) return known;
  }
  return std::monostate{};
}

// Whether a token does not see later ones of its run.
bool sees_no_later_tokens(const Graph& graph) {
  std::vector<bool> is_cache(graph.values.size());
  for (const State& state : graph.states) is_cache[state.output] = true;
  return std::ranges::all_of(graph.nodes, [&](const Node& node) {
    const auto key = node.op.starts_with("attention") ? value_of(node.inputs, "key") : std::nullopt;
    if (!key || !is_cache[*key] || value_of(node.inputs, "mask")) return true;
    const auto causal = node.attributes.find("causal");
    return causal != node.attributes.end() && causal->second == AttributeValue(std::string("to_last"));
  });
}

Done check_blocks(const Blocks& blocks) {
  if (blocks.size < 1 || !std::has_single_bit(static_cast<uint64_t>(blocks.size)))
    return refused(fmt::format("a block has room for {} tokens", blocks.size), "it must be a power of two");
  if (blocks.count < 0)
    return refused(fmt::format("the pool has {} blocks, and must not have fewer than 0", blocks.count));
  return std::monostate{};
}

// Of each sequence, when it has got these tokens.
std::vector<int64_t> lengths_with(const TokenLists& tokens, std::vector<int64_t> lengths) {
  for (size_t i = 0; i < tokens.size(); ++i) lengths[i] += std::ssize(tokens[i]);
  return lengths;
}

size_t launches_of(const Schedule& schedule) {
  size_t launches = 0;
  for (const Step& step : schedule.steps) launches += step.choice->launches.size();
  return launches;
}

Error nothing_fed() { return refused("no tokens were fed, so there is no next one"); }

void add_head(Graph& graph, const Inferred& inferred, ValueId logits) {
  const ValueId rows = graph.add_input(std::string(kRows), DType::i32, {kAnySide});
  const ValueId last = add_picked_rows(graph, inferred, logits, rows);
  const ValueId token = graph.add(
      {.op = "reduce",
       .inputs = {{"input", last}},
       .attributes = {{"operation", std::string("arg_max")}, {"axes", std::vector<int64_t>{1}}, {"keepdims", false}}});
  graph.add_output(std::string(kLogits), last);
  graph.add_output(std::string(kToken), token);
}

}  // namespace

Expected<std::unique_ptr<Generator>> Generator::create(Context& context, OperatorEntries operators, Graph graph,
                                                       const GeneratorOptions& options) {
  if (options.capacity < 1) return refused(fmt::format("the capacity is {}, and must be above 0", options.capacity));
  if (Done known = check_names(graph, options.names); !known) return known.error();
  if (Done sound = check_blocks(options.blocks); !sound) return sound.error();
  if (Done changed = change_caches(graph, options.cache); !changed) return changed.error();
  if (std::ranges::count(graph.outputs, options.names.logits, &Named::name) == 0)
    return refused(fmt::format("the model has no output '{}'", options.names.logits));
  std::unique_ptr<Generator> made(new Generator(options));
  made->context_ = &context;
  made->operators_ = operators;
  made->needed_ = take_needed_inputs(graph, options.names);
  Done completed = made->complete(graph, some_shapes(made->needed_));
  if (completed && made->needed_.empty()) completed = made->set_inputs({});
  if (completed) return made;
  if (made->needed_.empty()) return completed.error();
  made->incomplete_.emplace(std::move(graph));
  return made;
}

Done Generator::complete(const Graph& whole, const InputShapes& given) {
  Graph graph = whole;
  const int64_t sequences = sequences_of(needed_, given);
  const auto before = infer(graph, operators_, shapes_of_inputs(graph, options_, sequences, 1, given));
  if (!before) return before.error();
  if (Done known = check_positions(graph, *before, options_); !known) return known;
  const auto logits = std::ranges::find(graph.outputs, options_.names.logits, &Named::name);
  const ValueId value = logits->value;
  const Shape& shape = before->values[value].shape;
  if (shape.size() != 3)
    return refused(fmt::format("output '{}' is {}, and must be [batch, tokens, vocabulary]", options_.names.logits,
                               to_text(shape)));
  is_causal_ = !graph.is_for_further_tokens || sees_no_later_tokens(graph);
  graph.outputs.erase(logits);
  const int64_t vocabulary = shape.back();
  add_head(graph, *before, value);
  const ModelOptions how{.on_progress = options_.on_progress};
  if (needed_.empty() && !input_named(graph, options_.names.keys)) {
    model_.emplace(Model::create(*context_, operators_, std::move(graph), how));
  } else {
    const auto inferred = infer(graph, operators_, shapes_of_inputs(graph, options_, sequences, 1, given));
    if (!inferred) return inferred.error();
    std::vector<ValueId> inputs;
    for (const ValueId id : graph.inputs) {
      if (!is_of_runs(graph, options_.names, id)) inputs.push_back(id);
    }
    Divided parts = divided(graph, *inferred, inputs);
    if (!parts.once.nodes.empty()) once_.emplace(Model::create(*context_, operators_, std::move(parts.once), how));
    model_.emplace(Model::create(*context_, operators_, std::move(parts.rest), how));
  }
  vocabulary_ = vocabulary;
  return std::monostate{};
}

// ---- inputs that stay -----------------------------------------------------------------------------------------------

Done Generator::check_inputs(const Tensors& inputs) const {
  for (const auto& [name, desc] : needed_) {
    if (!inputs.contains(name)) return refused(fmt::format("input '{}' is missing", name));
  }
  for (const auto& [name, tensor] : inputs) {
    const auto needed = needed_.find(name);
    if (needed == needed_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, desc] : needed_) names.push_back(known);
      return refused(fmt::format("the model needs no input '{}' that stays the same for all tokens", name),
                     hint_among(name, names));
    }
    if (Done whole = check_host_tensor(tensor, fmt::format("input '{}'", name)); !whole) return whole;
    if (tensor.dtype != needed->second.dtype)
      return refused(fmt::format("input '{}' is {}, and must be {}", name, qgen::name(tensor.dtype),
                                 qgen::name(needed->second.dtype)));
    if (!fits(tensor.shape, needed->second.shape))
      return refused(fmt::format("input '{}' is {}, and must be {}", name, to_text(tensor.shape),
                                 sides_text(needed->second.shape)));
    if (element_count(tensor.shape) == 0)
      return refused(fmt::format("input '{}' is {}, and has no elements", name, to_text(tensor.shape)));
  }
  return std::monostate{};
}

Done Generator::set_inputs(const Tensors& inputs) {
  set_.clear();
  kept_.clear();
  start(0);
  if (Done sound = check_inputs(inputs); !sound) return sound;
  if (incomplete_) {
    if (Done completed = complete(*incomplete_, shapes_of(inputs)); !completed) return completed;
    incomplete_.reset();
  }
  auto kept = compute_once(inputs);
  if (!kept) return kept.error();
  kept_ = *std::move(kept);
  set_ = shapes_of(inputs);
  return std::monostate{};
}

Expected<LentTensors> Generator::compute_once(const Tensors& inputs) {
  LentTensors kept;
  Prepared* prepared = nullptr;
  const HostTensor keys = positions_of_keys(most_keys(options_));
  const auto given = [&](const std::string& name) -> const HostTensor* {
    if (name == options_.names.keys) return &keys;
    const auto input = inputs.find(name);
    return input == inputs.end() ? nullptr : &input->second;
  };
  if (once_) {
    InputShapes shapes;
    for (const ValueId id : once_->graph().inputs) {
      const std::string& name = once_->graph().values[id].name;
      shapes.emplace(name, given(name)->shape);
    }
    const auto ready = once_->prepare(shapes);
    if (!ready) return ready.error();
    prepared = *ready;
    for (const auto& [name, shape] : shapes) {
      if (Done written = context_->executor.write(*prepared->input(name), *given(name)); !written)
        return written.error();
    }
    if (Done ran = prepared->replay(); !ran) return ran.error();
  }
  for (const ValueId id : model_->graph().kept) {
    const std::string& name = model_->graph().values[id].name;
    const HostTensor* input = given(name);
    const auto tensor = input ? uploaded(name, *input) : Expected<const DeviceTensor*>(prepared->output(name));
    if (!tensor) return tensor.error();
    kept.emplace(name, *tensor);
  }
  return kept;
}

// Where one of this shape lies already, it is written anew.
Expected<const DeviceTensor*> Generator::uploaded(const std::string& name, const HostTensor& tensor) {
  const auto known = uploaded_.find(name);
  if (known != uploaded_.end() && known->second.shape() == tensor.shape) {
    if (Done written = context_->executor.write(known->second, tensor); !written) return written.error();
    return &known->second;
  }
  auto made = context_->executor.upload(tensor, Storage::buffer);
  if (!made) return made.error();
  return &uploaded_.insert_or_assign(name, *std::move(made)).first->second;
}

Done Generator::check_are_set() const {
  for (const auto& [name, desc] : needed_) {
    const auto set = set_.find(name);
    if (set == set_.end())
      return refused(
          fmt::format("input '{}' is not set", name),
          "an input that is no token, mask, position or cache stays the same for all tokens; set it before them");
    const auto sequences = std::ssize(lengths_);
    if (is_of_sequences(desc) && set->second.front() != sequences)
      return refused(fmt::format("input '{}' is {}, and there {} {} sequence{}", name, to_text(set->second),
                                 sequences == 1 ? "is" : "are", sequences, sequences == 1 ? "" : "s"),
                     "its first dimension is the number of sequences");
  }
  return std::monostate{};
}

// ---- tokens ---------------------------------------------------------------------------------------------------------

void Generator::start(size_t sequences) {
  std::vector<int64_t> lengths(sequences, 0);
  std::optional<BlockPool> pool;
  if (is_paged(options_.cache)) pool.emplace(pool_of(options_, static_cast<int64_t>(sequences)), sequences);
  lengths_ = std::move(lengths);  // both or, without memory for them, none
  pool_ = std::move(pool);
  draws_ = 0;
  last_ = nullptr;
  ahead_ = {};
  last_inputs_.clear();
}

Done Generator::end(size_t sequence) {
  if (sequence >= lengths_.size())
    return refused(fmt::format("there is no sequence {}: {} were started", sequence, lengths_.size()));
  if (pool_) pool_->end(sequence);
  return std::monostate{};
}

InputShapes Generator::shapes_for(size_t sequences, size_t rows) const {
  InputShapes kept;
  for (const auto& [name, tensor] : kept_) kept.emplace(name, tensor->shape());
  return shapes_of_inputs(model_->graph(), options_, static_cast<int64_t>(sequences), static_cast<int64_t>(rows), kept);
}

Expected<Prepared*> Generator::prepare(size_t rows) {
  if (Done set = check_are_set(); !set) return set.error();
  return model_->prepare(shapes_for(lengths_.size(), rows), nullptr, kept_);
}

Done Generator::check(const TokenLists& tokens) const {
  if (tokens.empty() || tokens.size() != lengths_.size())
    return refused(
        fmt::format("there are tokens of {} sequences, and {} were started", tokens.size(), lengths_.size()));
  if (Done set = check_are_set(); !set) return set;
  const bool is_first = std::ranges::all_of(lengths_, [](int64_t length) { return length == 0; });
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].empty()) return refused(fmt::format("sequence {} has no token", i));
    if (!is_first && tokens[i].size() != tokens.front().size())
      return refused(
          fmt::format("sequence 0 gets {} tokens, and sequence {} gets {}", tokens.front().size(), i, tokens[i].size()),
          "only the first tokens of sequences may differ in number");
    for (const int32_t token : tokens[i]) {
      if (token < 0 || token >= vocabulary_)
        return refused(fmt::format("token {} is outside of the vocabulary, 0 to {}", token, vocabulary_ - 1));
    }
    if (lengths_[i] + std::ssize(tokens[i]) > options_.capacity)
      return refused(
          fmt::format("the cache is full: it has room for {} tokens, and sequence {} has {} and gets {} more",
                      options_.capacity, i, lengths_[i], tokens[i].size()),
          "a larger capacity, or fewer tokens");
  }
  return std::monostate{};
}

// By name, what a run gets from the host: `rows` tokens of sequences that have `lengths` tokens already. Shorter
// sequences are padded with the token 0; nothing reads what is computed of it.
Generator::Inputs Generator::inputs_of(const TokenLists& tokens, size_t rows,
                                       const std::vector<int64_t>& lengths) const {
  const auto sequences = static_cast<int64_t>(tokens.size()), row_count = static_cast<int64_t>(rows);
  HostTensor ids = zeros(DType::i32, {sequences, row_count}), positions = ids;
  HostTensor rows_read = zeros(DType::i32, {sequences}), last = rows_read;
  const auto mask_width = static_cast<size_t>(most_keys(options_));
  HostTensor mask = zeros(DType::i32, {sequences, static_cast<int64_t>(mask_width)});
  const auto of = [](HostTensor& tensor) { return tensor.as<int32_t>(); };
  for (size_t b = 0; b < tokens.size(); ++b) {
    std::ranges::copy(tokens[b], of(ids).begin() + static_cast<ptrdiff_t>(b * rows));
    for (size_t s = 0; s < rows; ++s)
      of(positions)[b * rows + s] = static_cast<int32_t>(lengths[b] + static_cast<int64_t>(s));
    const int64_t length = lengths[b] + std::ssize(tokens[b]);
    std::ranges::fill(of(mask).subspan(b * mask_width, static_cast<size_t>(length)), 1);
    of(rows_read)[b] = static_cast<int32_t>(b * rows + tokens[b].size() - 1);
    of(last)[b] = static_cast<int32_t>(length - 1);
  }
  const LanguageNames& names = options_.names;
  Inputs inputs{{names.tokens, std::move(ids)},
                {names.positions, std::move(positions)},
                {names.mask, std::move(mask)},
                {names.last, std::move(last)},
                {kRows, std::move(rows_read)}};
  if (pool_) inputs.emplace_back(kBlockTable, pool_->table(blocks_per_sequence(options_)));
  return inputs;
}

Expected<RoundTrip*> Generator::written(Prepared& prepared, const TokenLists& tokens, size_t rows,
                                        const std::vector<int64_t>& lengths, size_t slot) {
  if (pool_) {
    if (Done grown = pool_->grow(lengths_with(tokens, lengths)); !grown) return grown.error();
  }
  auto inputs = inputs_of(tokens, rows, lengths);
  std::erase_if(inputs, [&](const auto& input) { return !prepared.input(input.first); });
  std::vector<std::string_view> names;
  for (const auto& input : inputs) names.push_back(input.first);
  // Tokens are the first input, and the only output.
  const auto fed = rows == 1 ? std::optional(RoundTrip::Fed{.output = 0, .input = 0}) : std::nullopt;
  const auto trip = prepared.round_trip(names, std::array{kToken}, fed);
  if (!trip) return trip.error();
  for (size_t i = 0; i < inputs.size(); ++i) std::ranges::copy(inputs[i].second.data, (*trip)->input(i, slot).begin());
  last_inputs_.insert_or_assign(rows, std::move(inputs));
  return *trip;
}

Done Generator::write_last_inputs(size_t rows) {
  const auto inputs = last_inputs_.find(rows);
  if (inputs == last_inputs_.end()) return refused(fmt::format("there was no run of {} tokens", rows));
  const auto prepared = prepare(rows);
  if (!prepared) return prepared.error();
  for (const auto& [name, tensor] : inputs->second) {
    if (Done written = context_->executor.write(*(*prepared)->input(name), tensor); !written) return written;
  }
  return std::monostate{};
}

Done Generator::run(Prepared& prepared, const TokenLists& tokens, size_t rows) {
  const auto trip = written(prepared, tokens, rows, lengths_, 0);
  if (!trip) return trip.error();
  if (Done ran = (*trip)->run(); !ran) return ran;
  read_tokens(**trip, 0);
  return std::monostate{};
}

void Generator::read_tokens(const RoundTrip& trip, size_t slot) {
  most_likely_.resize(lengths_.size());
  std::memcpy(most_likely_.data(), trip.output(0, slot).data(), most_likely_.size() * sizeof(int32_t));
}

// The run of `tokens` is on the device already if the call before submitted it.
Done Generator::feed_ahead(const TokenLists& tokens, bool has_further) {
  if (Done sound = check(tokens); !sound) return sound;
  const auto prepared = prepare(1);
  if (!prepared) return prepared.error();
  std::vector<int64_t> lengths = lengths_;
  const size_t slot = ahead_.slot, other = (slot + 1) % RoundTrip::kSlots;
  if (!ahead_.is_running) {
    const auto trip = written(**prepared, tokens, 1, lengths, slot);
    if (!trip) return trip.error();
    if (!(*trip)->can_submit()) return feed(tokens);
    if (Done submitted = (*trip)->submit(slot); !submitted) return submitted;
    ahead_.trip = *trip;
  }
  for (int64_t& length : lengths) ++length;
  // Without blocks for the next run, it is not submitted now. Its sequences may end before.
  if (has_further && pool_) has_further = bool(pool_->check(lengths_with(tokens, lengths)));
  if (has_further) {
    const auto trip = written(**prepared, tokens, 1, lengths, other);
    if (!trip) return trip.error();
    if (Done submitted = (*trip)->submit(other, true); !submitted) return submitted;
  }
  if (Done ended = ahead_.trip->wait(slot); !ended) return ended;
  read_tokens(*ahead_.trip, slot);
  ahead_.slot = other;
  ahead_.is_running = has_further;
  lengths_ = std::move(lengths);
  last_ = *prepared;
  return std::monostate{};
}

// The logits are those of the run that nobody waits for.
Done Generator::end_ahead() {
  if (!std::exchange(ahead_.is_running, false)) return std::monostate{};
  last_ = nullptr;
  return ahead_.trip->wait(ahead_.slot);
}

Done Generator::feed(const TokenLists& tokens) {
  if (Done sound = check(tokens); !sound) return sound;
  size_t rows = 0;
  for (const auto& of_sequence : tokens) rows = std::max(rows, of_sequence.size());
  if (!is_causal_ && rows > 1) return feed_prompts(tokens, 1);
  const auto prepared = prepare(rows);
  if (!prepared) return prepared.error();
  if (Done ran = run(**prepared, tokens, rows); !ran) return ran;
  lengths_ = lengths_with(tokens, std::move(lengths_));
  last_ = *prepared;
  return std::monostate{};
}

Expected<HostTensor> Generator::logits() {
  if (!last_) return nothing_fed();
  return context_->executor.download(*last_->output(kLogits));
}

namespace {

Done check_temperature(const Sampling& sampling) {
  if (sampling.temperature >= kLeastTemperature && sampling.temperature <= kMostTemperature) return std::monostate{};
  return refused(fmt::format("the temperature is {}, and must be from {} to {}", sampling.temperature,
                             kLeastTemperature, kMostTemperature),
                 "a top_k of 1 gives the most likely token");
}

}  // namespace

Expected<std::vector<int32_t>> Generator::next(const Sampling& sampling) {
  if (Done sound = check_temperature(sampling); !sound) return sound.error();
  if (!last_) return nothing_fed();
  if (sampling.is_greedy()) return most_likely_;
  const DeviceTensor& logits = *last_->output(kLogits);
  if (!sampler_ || !sampler_->is_of(logits)) {
    auto made = Sampler::create(*context_, operators_, logits);
    if (!made) return made.error();
    sampler_.emplace(*std::move(made));
  }
  return sampler_->draw(sampling, draws_++);
}

Done Generator::feed_prompts(const TokenLists& prompts, size_t rows) {
  if (rows == 0) return feed(prompts);
  for (size_t from = 0; from < prompts.front().size(); from += rows) {
    TokenLists part;
    for (const auto& prompt : prompts) {
      if (prompt.size() != prompts.front().size())
        return is_causal_
                   ? refused("prompts of different lengths run in one part", "leave out the number of rows")
                   : refused("the model has no causal mask, so prompts run token by token, and must have one length");
      const size_t to = std::min(from + rows, prompt.size());
      part.emplace_back(prompt.begin() + static_cast<ptrdiff_t>(from), prompt.begin() + static_cast<ptrdiff_t>(to));
    }
    if (Done fed = feed(part); !fed) return fed;
  }
  return std::monostate{};
}

Expected<Generated> Generator::generate(const TokenLists& prompts, const GenerateOptions& options,
                                        const OnToken& on_token) {
  start(prompts.size());
  if (Done sound = check(prompts); !sound) return sound.error();
  if (Done sound = check_temperature(options.sampling); !sound) return sound.error();
  size_t longest = 0;
  Generated result{.tokens = TokenLists(prompts.size())};
  for (const auto& prompt : prompts) {
    longest = std::max(longest, prompt.size());
    result.prompt_tokens += prompt.size();
  }
  const size_t more = std::max<size_t>(options.most_tokens, 1) - 1;  // the last token is not fed
  const size_t needed = longest + std::min(more, std::numeric_limits<size_t>::max() - longest);
  if (needed > static_cast<size_t>(options_.capacity))
    return refused(fmt::format("the cache is too small: a prompt of {} tokens and {} new ones need room for {} tokens, "
                               "and it has room for {}",
                               longest, options.most_tokens, needed, options_.capacity),
                   "a larger capacity, or fewer tokens");
  if (pool_ && options.end_tokens.empty()) {
    std::vector<int64_t> lengths = lengths_with(prompts, lengths_);
    for (int64_t& length : lengths) length += static_cast<int64_t>(needed - longest);
    if (Done enough = pool_->check(lengths); !enough) return enough.error();
  }
  Stopwatch watch;
  const size_t prompt_rows = is_causal_ ? options.prompt_rows : 1;
  for (const size_t rows : {prompt_rows == 0 ? longest : std::min(prompt_rows, longest), size_t{1}}) {
    const auto prepared = prepare(rows);
    if (!prepared) return prepared.error();
    result.launches = launches_of((*prepared)->schedule());
  }
  result.prepare_ms = watch.lap_ms();
  if (Done fed = feed_prompts(prompts, prompt_rows); !fed) return fed.error();
  const bool is_greedy = options.sampling.is_greedy();  // a drawn token is not on the device for the next run
  std::vector<bool> has_ended(prompts.size());
  for (size_t i = 0; i < options.most_tokens; ++i) {
    const auto tokens = next(options.sampling);
    if (!tokens) return tokens.error();
    (i == 0 ? result.prompt_ms : result.decode_ms) += watch.lap_ms();
    TokenLists further;
    for (size_t b = 0; b < prompts.size(); ++b) {
      const int32_t token = (*tokens)[b];
      further.push_back({token});
      if (has_ended[b]) continue;
      result.tokens[b].push_back(token);
      const bool is_end = std::ranges::count(options.end_tokens, token) > 0;
      has_ended[b] = (on_token && !on_token(b, token)) || is_end;
    }
    if (i + 1 == options.most_tokens || std::ranges::count(has_ended, false) == 0) break;
    if (pool_) {
      for (size_t b = 0; b < prompts.size(); ++b) {
        if (has_ended[b]) pool_->end(b);
      }
    }
    watch.lap_ms();
    const Done fed = is_greedy ? feed_ahead(further, i + 2 < options.most_tokens) : feed(further);
    if (!fed) return fed.error();
  }
  if (Done ended = end_ahead(); !ended) return ended.error();
  return result;
}

}  // namespace qgen::graph
