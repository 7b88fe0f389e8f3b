// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/digits.h"
#include "common/json/write.h"
#include "common/time_text.h"
#include "runtime/engine/tensor/weight_form.h"

namespace qgen::model {
namespace {

using graph::Schedule;
using graph::Source;
using graph::Step;
using Json = nlohmann::ordered_json;

// "1x64x56x56"
std::string sides_text(const Shape& shape) { return shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, "x")); }

// What `text` says of the tensors on each side: "a, b -> c".
template <typename Text>
std::string sides_of_step(const Schedule& schedule, const Step& step, Text text) {
  std::vector<std::string> inputs, outputs;
  for (const TensorInfo& info : step.entry->tensors) {
    const Source& source = step.operands[info.operand];
    if (source.kind != Source::Kind::tensor) continue;
    (info.role == TensorInfo::Role::output ? outputs : inputs).push_back(text(schedule.tensors[source.index]));
  }
  return fmt::format("{} -> {}", fmt::join(inputs, ", "), fmt::join(outputs, ", "));
}

std::string rate(double amount, double us, double unit) {
  return us <= 0 || amount <= 0 ? "" : three_digits(amount / us / unit);
}

bool is_measured(const std::vector<Layer>& layers) {
  return std::ranges::any_of(layers, [](const Layer& layer) { return layer.us.median > 0; });
}

double sum_of(const std::vector<Layer>& layers, double measure::Spread::*number) {
  return std::accumulate(layers.begin(), layers.end(), 0.0,
                         [&](double sum, const Layer& layer) { return sum + layer.us.*number; });
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// The rest of a row after its numbers: layouts, layer and kernel, each in its column. Ids of kernels and names of
// layers have any length. If a row would be wider than a terminal, the kernel is on a separate line below.
struct RowForm {
  static constexpr size_t kWidest = 100;
  static constexpr size_t kIndent = 4;

  size_t layouts = 7, layer = 5;  // the widths of the columns' heads, at least
  bool has_own_line = false;

  std::string head() const {
    return has_own_line ? fmt::format("{:<{}}  layer, and its kernel below\n", "layouts", layouts)
                        : fmt::format("{:<{}}  {:<{}}  kernel\n", "layouts", layouts, "layer", layer);
  }
  std::string row(const Layer& of) const {
    return has_own_line ? fmt::format("{:<{}}  {}\n{:{}}{}\n", of.layouts, layouts, of.name, "", kIndent, of.kernel)
                        : fmt::format("{:<{}}  {:<{}}  {}\n", of.layouts, layouts, of.name, layer, of.kernel);
  }
};

RowForm row_form_of(const std::vector<Layer>& layers, size_t before) {
  RowForm form;
  size_t kernel = 0;
  for (const Layer& layer : layers) {
    form.layouts = std::max(form.layouts, layer.layouts.size());
    form.layer = std::max(form.layer, layer.name.size());
    kernel = std::max(kernel, layer.kernel.size());
  }
  form.has_own_line = before + form.layouts + 2 + form.layer + 2 + kernel > RowForm::kWidest;
  return form;
}

}  // namespace

double operations_of(const Step& step) {
  const TensorDesc *weight = nullptr, *output = nullptr;
  for (const TensorInfo& info : step.entry->tensors) {
    const auto& operand = step.call.operands[info.operand];
    if (operand && info.role == TensorInfo::Role::weight) weight = &*operand;
    if (operand && info.role == TensorInfo::Role::output && !output) output = &*operand;
  }
  if (!output) return 0;
  const TensorDesc& input = *step.call.operands.front();
  const auto outputs = static_cast<double>(element_count(output->shape));
  if (step.entry->name == "matmul") return 2.0 * outputs * static_cast<double>(input.shape.back());
  // Where the first operand is indices, rows of the weight are only copied.
  if (!weight || input.dtype == DType::i32) return 0;
  if (step.call.turned_groups != 0)  // each element of the input meets each tap of its group's outputs
    return 2.0 * static_cast<double>(element_count(input.shape)) * static_cast<double>(element_count(weight->shape)) /
           static_cast<double>(input.shape[1]);
  // A gate halves the outputs of its product.
  const bool is_gated = step.entry->name == "rms_norm_gated_q4gsw";
  return 2.0 * outputs * static_cast<double>(matrix_of(weight->shape).k()) * (is_gated ? 2 : 1);
}

std::vector<Layer> layers_of(const Schedule& schedule, const std::vector<std::vector<double>>& samples) {
  std::vector<Layer> layers;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    Layer layer{.name = step.name,
                .op = std::string(step.entry->name),
                .kernel = step.choice->id,
                .source = step.choice->source,
                .estimated_us = step.choice->time_us,
                .operations = operations_of(step),
                .bytes = static_cast<double>(measure::bytes_moved(step.call))};
    layer.layouts = sides_of_step(schedule, step,
                                  [](const graph::PlacedValue& placed) { return std::string(name(placed.layout)); });
    layer.shapes = sides_of_step(schedule, step, [&](const graph::PlacedValue& placed) {
      return sides_text(schedule.values[placed.value].shape);
    });
    std::vector<double> times;
    for (const std::vector<double>& sample : samples) times.push_back(sample[i]);
    if (!times.empty()) {
      layer.least_us = *std::ranges::min_element(times);
      layer.average_us = std::reduce(times.begin(), times.end()) / static_cast<double>(times.size());
      layer.us = measure::spread_of(std::move(times));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::string table_of(const std::vector<Layer>& layers, double headline_us) {
  const bool has_times = is_measured(layers);
  const double sum = sum_of(layers, &measure::Spread::median);
  const std::string numbers = has_times ? "    us  share     GB/s    TOP/s  " : "est. us  ";
  const RowForm form = row_form_of(layers, numbers.size());
  std::string text = numbers + form.head();
  for (const Layer& layer : layers) {
    if (has_times) {
      text += fmt::format("{:>6.1f} {:>5.1f}% {:>8} {:>8}  ", layer.us.median, 100 * layer.us.median / sum,
                          rate(layer.bytes, layer.us.median, 1e3), rate(layer.operations, layer.us.median, 1e6));
    } else {
      text += fmt::format("{:>7.1f}  ", layer.estimated_us);
    }
    text += form.row(layer);
  }
  if (!has_times) return text;
  text += fmt::format("{:>6.1f} all layers together, each timed alone\n", sum);
  text += fmt::format("{:>6.1f} a replay without timestamps: differs by {:+.1f}\n", headline_us, headline_us - sum);
  return text;
}

std::string trace_of(const std::vector<Layer>& layers, std::string_view model, std::string_view device) {
  Json events = Json::array();
  const auto event = [&](std::string_view category, std::string_view event_name, double begin, double us, Json args) {
    events.push_back(Json{{"cat", category},
                          {"pid", 1},
                          {"tid", 1},
                          {"dur", us},
                          {"ts", begin},
                          {"ph", "X"},
                          {"name", event_name},
                          {"args", std::move(args)}});
  };
  event("Session", "model_run", 0, sum_of(layers, &measure::Spread::median),
        Json{{"model", model}, {"device", device}, {"time", "median of the profiled replays, microseconds"}});
  double at = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    event("Node", layer.name, at, layer.us.median,
          Json{{"op_name", layer.op},
               {"provider", "qgen"},
               {"node_index", std::to_string(i)},
               {"kernel", layer.kernel},
               {"layouts", layer.layouts},
               {"shapes", layer.shapes},
               {"bytes", layer.bytes},
               {"operations", layer.operations}});
    at += layer.us.median;
  }
  std::string text = "[\n";
  for (size_t i = 0; i < events.size(); ++i) text += json::to_line(events[i]) + (i + 1 < events.size() ? ",\n" : "\n");
  return text + "]\n";
}

std::string json_of(const std::vector<Layer>& layers, size_t replays) {
  const double sum = sum_of(layers, &measure::Spread::median);
  std::string text = fmt::format("[\n{}", json::to_line(Json{{"count", replays}}));
  for (const Layer& layer : layers) {
    text += ",\n" + json::to_line(Json{{"name", layer.name},
                                       {"timeMs", layer.average_us * static_cast<double>(replays) / 1e3},
                                       {"averageMs", layer.average_us / 1e3},
                                       {"medianMs", layer.us.median / 1e3},
                                       {"percentage", sum > 0 ? 100 * layer.us.median / sum : 0},
                                       {"minMs", layer.least_us / 1e3},
                                       {"kernel", layer.kernel},
                                       {"layouts", layer.layouts},
                                       {"bytes", layer.bytes},
                                       {"operations", layer.operations}});
  }
  return text + "\n]\n";
}

std::string dot_of(const graph::Graph& graph, const Schedule& schedule, const std::vector<Layer>& layers) {
  std::string text =
      "digraph model {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n";
  std::vector<std::string> writer(schedule.tensors.size());
  for (size_t i = 0; i < schedule.inputs.size(); ++i) {
    writer[schedule.inputs[i]] = fmt::format("input{}", i);
    text += fmt::format("  input{} [label=\"{}\", shape=ellipse];\n", i,
                        escaped(graph.values[schedule.tensors[schedule.inputs[i]].value].name));
  }
  // For a reshape, the writer of its input.
  const auto writer_of = [&](uint32_t tensor) {
    while (writer[tensor].empty()) tensor = schedule.tensors[tensor].alias_of;
    return writer[tensor];
  };
  const auto edge = [&](uint32_t tensor, const std::string& to) {
    const graph::PlacedValue& placed = schedule.tensors[tensor];
    text += fmt::format("  {} -> {} [label=\"{}\\n{}\"];\n", writer_of(tensor), to,
                        sides_text(schedule.values[placed.value].shape), name(placed.layout));
  };
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const double us = layer.us.median > 0 ? layer.us.median : layer.estimated_us;
    text +=
        fmt::format("  step{} [label=\"{}\\n{}\\n{} us\"{}];\n", i, escaped(layer.name), escaped(layer.kernel),
                    us_text(us), schedule.steps[i].node == Step::kConversion ? ", style=filled, fillcolor=orange" : "");
    for (const TensorInfo& info : schedule.steps[i].entry->tensors) {
      const Source& source = schedule.steps[i].operands[info.operand];
      if (source.kind != Source::Kind::tensor) continue;
      if (info.role == TensorInfo::Role::output) writer[source.index] = fmt::format("step{}", i);
      else edge(source.index, fmt::format("step{}", i));
    }
  }
  for (size_t i = 0; i < schedule.outputs.size(); ++i) {
    text += fmt::format("  output{} [label=\"{}\", shape=ellipse];\n", i, escaped(graph.outputs[i].name));
    edge(schedule.outputs[i], fmt::format("output{}", i));
  }
  return text + "}\n";
}

}  // namespace qgen::model
