// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// For passes that replace several nodes of a model by one: who writes and reads each value, trials of the model in
// several sizes (trial.h), and new nodes. Replaced nodes stay; nothing reads them, so they are not imported.
#pragma once

#include <deque>
#include <set>

#include "runtime/models/onnx/import.h"
#include "runtime/models/onnx/trial.h"

namespace qgen::onnx {

// The sizes of a language model's inputs: tokens [batches, rows], and caches of `past` tokens. Inputs of other models
// have any sizes. Inputs of other sides are `others` longer than they are without it.
struct TrialSize {
  int64_t batches = 1, rows = 1, past = 0, others = 0;
  friend auto operator<=>(const TrialSize&, const TrialSize&) = default;
};

// The largest constant for which a longer trial is made.
constexpr int64_t kMostKeys = 1 << 17;
// A mask makes scores that are not seen as low as this.
constexpr double kFilter = -1e4;

class Rewriter {
 public:
  // `caches` of the model; `are_states`: they stay on the device, so their sizes mean nothing. Error: a model that is no
  // graph.
  static Expected<Rewriter> create(Model& model, std::span<const StateNames> caches, bool are_states);

  ModelGraph& graph() { return model_->graph; }
  // With the nodes that were added or changed, if any were. `knows_positions`: trials know the values of an input of
  // positions. Error: the nodes are no graph.
  Done refresh(bool knows_positions = true);
  // The caller has changed a node itself.
  void touch() { is_changed_ = true; }

  // ---- who writes and reads -----------------------------------------------------------------------------------------

  // Of nodes that the outputs need, as they were at the last refresh(). nullptr: an input, a constant, or one that a new
  // node writes.
  Node* writer(std::string_view value);
  // The same, if it is one of ONNX's with so many inputs at least.
  Node* writer(std::string_view value, std::string_view op, size_t inputs);
  const std::vector<Node*>& readers(std::string_view value) const;
  bool is_output(std::string_view value) const;
  // nullptr: several nodes, or an output.
  Node* only_reader(std::string_view value) const;
  std::vector<Node*> nodes();  // in order
  // The value, seen through nodes that pass it on.
  std::string passed(std::string value);
  const ValueInfo* input(std::string_view name) const;  // nullptr: there is none
  // Which inputs the value is computed from; shapes of them do not count. And its largest integer that is a constant.
  struct Sources {
    std::set<std::string> inputs;
    int64_t largest = 0;
  };
  const Sources& sources(const std::string& value);

  // ---- what values are ----------------------------------------------------------------------------------------------

  const std::deque<Trial>& trials() const { return trials_; }
  const std::vector<TrialSize>& sizes() const { return sizes_; }
  // One more trial, of that size where the sizes are not fixed. A mask may have a matrix for each of `heads`.
  // nullptr: there were too many.
  const Trial* trial_of(const TrialSize& size, int64_t heads = 1);
  // With the sizes that the model fixes.
  TrialSize size_of(const TrialSize& wanted) const;
  // Of each trial, with one rank; empty: of one it is not known, or the ranks differ.
  std::vector<Shape> shapes(std::string_view value) const;
  // The same in all trials, also in long ones, and computed from no input.
  std::optional<double> number(std::string_view value);
  TensorPtr constant(std::string_view value) const;
  // Whether the value, or its shape, depends on how many tokens are cached.
  bool depends_on_past(std::string_view value) const;

  // ---- new values ---------------------------------------------------------------------------------------------------

  // Gives its result.
  std::string add(std::string_view op, std::vector<std::string> inputs,
                  std::map<std::string, AttributeData, std::less<>> attributes = {}, std::string_view name = {});
  std::string add_constant(Tensor tensor);
  std::string add_list(const std::vector<int64_t>& numbers);
  // Whether the model has an input of this name. If it has no such value, it gets one, of i64.
  bool has_input(std::string_view name, std::vector<InputSide> shape);
  // Gives a value that is no input another name. False: it could not, since a body of a node may read it.
  bool rename(const std::string& value);
  // The node writes the value instead of its present writer.
  void replace(const std::string& value, Node node);

 private:
  Rewriter(Model& model, std::span<const StateNames> caches, bool are_states)
      : model_(&model), caches_(caches), are_states_(are_states) {}
  std::string fresh_name(std::string_view op);  // that no value has
  std::pair<std::map<std::string, Shape>, std::map<std::string, TensorPtr>> inputs_of(const TrialSize& size) const;

  Model* model_;
  std::span<const StateNames> caches_;
  bool are_states_, knows_positions_ = true, is_changed_ = true;
  Order order_;
  std::map<std::string, Node*, std::less<>> writers_;
  std::map<std::string, std::vector<Node*>, std::less<>> readers_;
  std::set<std::string, std::less<>> outputs_;
  std::map<std::string, Sources> sources_;
  int64_t visits_left_ = 1 << 23;  // of nodes, by sources(): a model may have many masks, each of many nodes
  std::deque<Trial> trials_;
  std::vector<TrialSize> sizes_;
  std::map<std::pair<TrialSize, int64_t>, Trial> more_trials_;  // by size and heads
  std::deque<Node> added_;
  size_t count_ = 0;
};

}  // namespace qgen::onnx
