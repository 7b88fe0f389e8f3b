// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Generates tokens with a language model: a graph with states (graph.h), which are its caches.
//
//   auto generator = Generator::create(context, operators, graph, {.capacity = 2048});
//   const auto said = (*generator)->generate({{1, 2, 3}}, {.most_tokens = 64}, print);
//
// Or step by step, to continue later:
//
//   (*generator)->feed({{1, 2, 3}});                   // the prompt, in one run
//   const auto next = (*generator)->next({});          // {17}: one token for each sequence
//   (*generator)->feed({{17}});
//
// A run has the same number of tokens of each sequence. Only in the first one sequences may have fewer: they are padded
// at their end. If the model is for further tokens (graph.h) and has no causal mask, each run has one token of each sequence. The caches stay on the device and have room for `capacity` tokens of each sequence. One recording serves
// every length, so the second and all later tokens need no preparing. Paged caches consist of blocks, which sequences get
// as they grow; with fewer blocks than the capacity of all sequences, the caches take less memory. A sequence that has ended gives its
// blocks to the others.
//
// The other inputs of a model are given before its tokens, and stay on the device. So a decoder reads an encoder's result:
//
//   (*generator)->set_inputs({{"encoder_hidden_states", states}});
#pragma once

#include <map>

#include "runtime/models/graph/block_pool.h"
#include "runtime/models/graph/cache_forms.h"
#include "runtime/models/graph/model.h"
#include "runtime/models/graph/sampling.h"

namespace qgen::graph {

// Inputs and outputs of a language model. One that a model does not have is left out, except tokens and logits.
struct LanguageNames {
  std::string tokens = "input_ids";        // i32 [B, S]
  std::string mask = "attention_mask";     // i32 [B, C]: 1 for each token up to the last one, else 0
  std::string positions = "position_ids";  // i32 [B, S]
  std::string last = "last_positions";     // i32 [B]: of the last new token; importers add it (onnx/import.h)
  std::string keys = "key_positions";      // i32 [T]: 0, 1, 2 ... up to the capacity; importers add it
  std::string logits = "logits";           // f32 or f16 [B, S, V]
};

struct GeneratorOptions {
  int64_t capacity = 2048;
  Cache cache = Cache::of_model;
  Blocks blocks = {};  // of paged caches; a count of 0: as many as the capacity of all sequences needs
  LanguageNames names = {};
  OnProgress on_progress = {};
};

using TokenLists = std::vector<std::vector<int32_t>>;

struct GenerateOptions {
  size_t most_tokens = 64;               // of each sequence, without the prompt
  std::vector<int32_t> end_tokens = {};  // a sequence ends with one of these
  Sampling sampling = {};
  size_t prompt_rows = 0;  // tokens of a prompt in one run; 0: all
};

struct Generated {
  TokenLists tokens;         // without the prompts
  size_t prompt_tokens = 0;  // of all sequences
  double prepare_ms = 0;     // plans, uploads, pipelines and recordings
  double prompt_ms = 0;      // from the first run to the first token
  double decode_ms = 0;      // of all further tokens
  size_t launches = 0;       // of kernels, for a further token of each sequence
};

// Gets each token when it is there. False ends the sequence.
using OnToken = std::function<bool(size_t sequence, int32_t token)>;

class Generator {
 public:
  // `context` and `operators` must outlive it. Errors: an input or output that is no language model's, logits of another
  // rank than 3, no states, a capacity past the model's rotary tables, states that cannot be `cache`, a size of blocks
  // that is no power of two. Of a model with inputs for set_inputs(), some of these may be found there.
  static Expected<std::unique_ptr<Generator>> create(Context& context, OperatorEntries operators, Graph graph,
                                                     const GeneratorOptions& options);

  // All inputs that are no tokens, mask, positions or states. They are uploaded once, and stay until they are set anew,
  // also for later calls of start() and generate(). What the model computes of them alone is computed now, once. Forgets
  // all tokens: start() or generate() follows. Errors: an input that is missing, unknown, or of another dtype or shape,
  // one without elements, and those of the device. Then no inputs are set.
  Done set_inputs(const Tensors& inputs);
  // Those that set_inputs() needs, by name; sides of kAnySide are open.
  using InputDescs = std::map<std::string, TensorDesc>;
  const InputDescs& needed_inputs() const { return needed_; }
  // Forgets all tokens; the next ones are of so many sequences.
  void start(size_t sequences);
  // Runs the model on further tokens of each sequence. Errors: no sequences, other numbers of tokens than one each, a
  // token below 0 or outside of the vocabulary, a full cache, too few blocks, inputs that are not set or are of another
  // number of sequences, and the errors of the device.
  Done feed(const TokenLists& tokens);
  // The sequence gives the blocks of its caches back, for the other ones. Runs compute no tokens of it any more, although
  // feed() still wants one. Without paged caches, nothing happens. Error: there is no such sequence.
  Done end(size_t sequence);
  // The token after those fed, of each sequence. Of one that has ended, it means nothing.
  Expected<std::vector<int32_t>> next(const Sampling& sampling);
  // f32 or f16 [B, V], of the last token of each sequence.
  Expected<HostTensor> logits();

  // start(), the prompts, and then one token after the other. Afterwards the last tokens are not fed, and feed() comes
  // before next() and logits(). A sequence that ends before the others gives its blocks back, as by end(). Errors: those
  // of feed(), and a cache that is too small for the prompts and the tokens. So is a pool of blocks, unless there are end
  // tokens: then it is refused when it is used up.
  Expected<Generated> generate(const TokenLists& prompts, const GenerateOptions& options, const OnToken& on_token = {});

  // A run of so many further tokens of each sequence, such as to time it. Errors: no sequences, and those of preparing.
  Expected<Prepared*> prepare(size_t rows);
  // Before each replay() of it: the inputs of the last run of this kind, whose memory holds other tensors by now. A
  // token that only the device knew is the one before it. Errors: there was no such run, and those of the device.
  Done write_last_inputs(size_t rows);

  int64_t capacity() const { return options_.capacity; }
  // 0: it is known after set_inputs().
  int64_t vocabulary() const { return vocabulary_; }
  const std::vector<int64_t>& lengths() const { return lengths_; }  // of each sequence, in tokens
  uint64_t state_bytes() const { return model_ ? model_->state_bytes() : 0; }
  const Model& model() const { return *model_; }  // after prepare(); without what is computed once

  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

 private:
  explicit Generator(GeneratorOptions options) : options_(std::move(options)) {}
  // Makes the models, with inputs of these shapes.
  Done complete(const Graph& graph, const InputShapes& given);
  Done check_inputs(const Tensors& inputs) const;
  // Of what was set, and of the positions of keys; gives where the rest of the model finds it.
  Expected<LentTensors> compute_once(const Tensors& inputs);
  Expected<const DeviceTensor*> uploaded(const std::string& name, const HostTensor& tensor);
  Done check_are_set() const;
  InputShapes shapes_for(size_t sequences, size_t rows) const;
  Done check(const TokenLists& tokens) const;
  using Inputs = std::vector<std::pair<std::string_view, HostTensor>>;
  Inputs inputs_of(const TokenLists& tokens, size_t rows, const std::vector<int64_t>& lengths) const;
  // The inputs are in the slot of the run's round trip.
  Expected<RoundTrip*> written(Prepared& prepared, const TokenLists& tokens, size_t rows,
                               const std::vector<int64_t>& lengths, size_t slot);
  Done run(Prepared& prepared, const TokenLists& tokens, size_t rows);
  void read_tokens(const RoundTrip& trip, size_t slot);
  // feed() of one most likely token of each sequence. `has_further`: another call follows, with the tokens that this
  // one gives, and its run is submitted now.
  Done feed_ahead(const TokenLists& tokens, bool has_further);
  Done end_ahead();  // after calls of feed_ahead()
  Done feed_prompts(const TokenLists& prompts, size_t rows);

  Context* context_ = nullptr;
  OperatorEntries operators_;
  GeneratorOptions options_;
  int64_t vocabulary_ = 0;
  bool is_causal_ = true;            // else runs are of one token of each sequence
  std::optional<Graph> incomplete_;  // until set_inputs() says its inputs' shapes
  std::optional<Model> once_;        // what is computed of the inputs that are set, if there is something
  std::optional<Model> model_;       // the rest
  InputDescs needed_;
  std::map<std::string, DeviceTensor> uploaded_;  // inputs that the rest reads
  LentTensors kept_;                              // inputs of the rest: these, and what was computed
  InputShapes set_;                               // shapes; empty: none are set
  std::vector<int64_t> lengths_;
  std::optional<BlockPool> pool_;  // of paged caches
  uint32_t draws_ = 0;             // of tokens, since start()
  std::optional<Sampler> sampler_;
  Prepared* last_ = nullptr;
  std::vector<int32_t> most_likely_;      // by the last run
  std::map<size_t, Inputs> last_inputs_;  // by the number of rows
  // The run that feed_ahead() submitted, or the slot of the next one.
  struct Ahead {
    RoundTrip* trip = nullptr;
    size_t slot = 0;
    bool is_running = false;
  };
  Ahead ahead_;
};

}  // namespace qgen::graph
