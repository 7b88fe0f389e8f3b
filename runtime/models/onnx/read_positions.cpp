// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// If the caches are states, their third side is the capacity, so nothing can be computed from it. Models that have no
// input of positions compute them: past + 0, 1, 2 ..., or the sum of the mask. And some take rows of a table by a Slice
// from `past` on.
#include <algorithm>

#include "runtime/models/onnx/fold.h"
#include "runtime/models/onnx/join_attention.h"

namespace qgen::onnx {
namespace {

class PositionReader {
 public:
  explicit PositionReader(Rewriter& rewriter) : rewriter_(rewriter) {}

  void run() {
    const auto& inputs = rewriter_.graph().inputs;
    const auto tokens = std::ranges::find(inputs, kTokens, &ValueInfo::name);
    if (tokens == inputs.end() || !tokens->shape || tokens->shape->size() != 2) return;
    const ValueInfo info = *tokens;
    if (!free_name()) return;
    // First those of all sequences. Some models repeat the positions of one sequence for the others.
    for_each_value([&](Node&, const std::string& value) {
      if (is_of_past(value) && is_of_all_sequences(value) && rank_of_positions(value) == 2)
        read_instead_of(value, std::string(kPositions));
    });
    if (is_read_) {
      add_input(info);
      if (!rewriter_.refresh()) return;  // the caller's own refresh says why
    }
    for_each_value([&](Node& node, const std::string& value) { read(node, value); });
    if (is_read_) add_input(info);
  }

 private:
  // The input's name may be that of another value. False: of an output of the model.
  bool free_name() {
    if (std::ranges::count(rewriter_.graph().inputs, kPositions, &ValueInfo::name) > 0) return true;
    if (rewriter_.is_output(kPositions)) return false;
    return rewriter_.rename(std::string(kPositions));
  }

  void add_input(const ValueInfo& tokens) {
    auto& inputs = rewriter_.graph().inputs;
    if (std::ranges::count(inputs, kPositions, &ValueInfo::name) > 0) return;
    inputs.push_back({.name = std::string(kPositions), .type = ElementType::i64, .shape = tokens.shape});
  }

  template <typename Visit>
  void for_each_value(const Visit& visit) {
    for (Node* node : rewriter_.nodes()) {
      for (const std::string& output : node->outputs) {
        if (!output.empty()) visit(*node, output);
      }
    }
  }

  bool is_of_past(const std::string& value) const {
    return !rewriter_.is_output(value) && rewriter_.depends_on_past(value);
  }
  bool is_of_all_sequences(const std::string& value) const {
    const auto shapes = rewriter_.shapes(value);
    bool has_several = false;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const int64_t batches = rewriter_.sizes()[i].batches;
      if (shapes[i].size() != 2 || shapes[i][0] != batches) return false;
      has_several = has_several || batches > 1;
    }
    return has_several;
  }

  void read(Node& node, const std::string& value) {
    if (!is_of_past(value)) return;
    const size_t rank = rank_of_positions(value);
    if (rank == 2) {
      read_instead_of(value, std::string(kPositions));
    } else if (rank == 1) {
      for (Node* reader : rewriter_.readers(value)) take_rows(*reader, value);
    }
    if (is_part_from_past(node)) give_rows(node, node.inputs[0], value);
  }

  // Of past, past + 1 ... in all rows: 1 of [S], 2 of [1, S] or [B, S]; else 0.
  size_t rank_of_positions(const std::string& value) {
    size_t rank = 0;
    for (size_t i = 0; i < rewriter_.trials().size(); ++i) {
      rank = rank_in(rewriter_.trials()[i], rewriter_.sizes()[i], value);
      if (rank == 0) return 0;
    }
    // One that is limited would show in a trial with more tokens than any constant says.
    const int64_t largest = rewriter_.sources(value).largest;
    const TrialSize longer = rewriter_.size_of({1, 2, std::min(largest, kMostKeys) + 3});
    const Trial* trial = largest > kMostKeys ? nullptr : rewriter_.trial_of(longer);
    return trial ? rank_in(*trial, longer, value) : 0;
  }
  static size_t rank_in(const Trial& trial, const TrialSize& size, const std::string& value) {
    const auto& [batches, rows, past, others] = size;
    const TensorPtr tensor = trial.value(value);
    if (!tensor || is_real(tensor->type) || tensor->shape.empty() || tensor->shape.size() > 2) return 0;
    if (tensor->shape.back() != rows) return 0;
    if (tensor->shape.size() == 2 && tensor->shape[0] != 1 && tensor->shape[0] != batches) return 0;
    for (int64_t j = 0; j < tensor->size(); ++j) {
      if (tensor->integer(j) != past + j % rows) return 0;
    }
    return tensor->shape.size();
  }

  void read_instead_of(const std::string& value, const std::string& other) {
    for (Node* reader : rewriter_.readers(value)) std::ranges::replace(reader->inputs, value, other);
    rewriter_.touch();
    is_read_ = true;
  }

  // A Gather of such rows of a table.
  void take_rows(Node& reader, const std::string& positions) {
    const bool is_gather = reader.op == "Gather" && reader.domain.empty() && reader.integer("axis", 0) == 0 &&
                           reader.inputs.size() == 2 && reader.inputs[1] == positions;
    if (is_gather) give_rows(reader, reader.inputs[0], reader.outputs[0]);
  }

  // A Slice of a table, from `past` on, of as many rows as there are tokens.
  bool is_part_from_past(const Node& node) const {
    if (node.op != "Slice" || !node.domain.empty() || node.inputs.size() < 3) return false;
    if (node.has_input(4) && rewriter_.number(node.inputs[4]) != 1) return false;
    const bool is_first = node.has_input(3) && rewriter_.number(node.inputs[3]) == 0;
    for (size_t i = 0; is_first && i < rewriter_.trials().size(); ++i) {
      const Trial& trial = rewriter_.trials()[i];
      const auto& [batches, rows, past, others] = rewriter_.sizes()[i];
      if (trial.number(node.inputs[1]) != static_cast<double>(past)) return false;
      if (trial.number(node.inputs[2]) != static_cast<double>(past + rows)) return false;
    }
    return is_first;
  }

  // [B, S, H] instead of [S, H], where that is added to something, or made [1, S, H].
  void give_rows(const Node& node, const std::string& table, const std::string& value) {
    const auto sides = rewriter_.shapes(table);
    if (sides.empty() || sides.front().size() != 2 || rewriter_.is_output(value)) return;
    std::vector<std::string> replaced;
    bool is_only_added = true;
    for (const Node* reader : rewriter_.readers(value)) {
      const auto made = rewriter_.shapes(reader->outputs[0]);
      is_only_added = is_only_added && reader->op == "Add" && !made.empty() && made.front().size() == 3;
      const bool is_wider =
          reader->op == "Unsqueeze" && !made.empty() && made.front().size() == 3 && made.front()[0] == 1;
      if (is_wider) replaced.push_back(reader->outputs[0]);
    }
    if (is_only_added) replaced = {value};
    if (!is_only_added && replaced.size() != rewriter_.readers(value).size()) return;
    const std::string rows =
        rewriter_.add("Gather", {table, std::string(kPositions)}, {{"axis", int64_t{0}}}, node.name);
    for (const std::string& old : replaced) read_instead_of(old, rows);
  }

  Rewriter& rewriter_;
  bool is_read_ = false;
};

}  // namespace

void read_positions(Rewriter& rewriter) { PositionReader(rewriter).run(); }

}  // namespace qgen::onnx
