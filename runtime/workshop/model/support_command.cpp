// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Lists all nodes of a model that have no operator, so that a person can decide whether the model is worth changing.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "common/files.h"
#include "common/json/write.h"
#include "common/text.h"
#include "runtime/workshop/model/commands.h"
#include "runtime/workshop/model/load.h"
#include "runtime/workshop/runner/arguments.h"

namespace qgen::model {
namespace {

using Json = nlohmann::ordered_json;

size_t count_of(const onnx::Support& support) {
  return std::accumulate(support.lacks.begin(), support.lacks.end(), size_t{0},
                         [](size_t sum, const onnx::Lack& lack) { return sum + lack.nodes.size(); });
}

// Lines after the first name the reasons why other rows of an operation do not fit.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string text_of(const std::string& file, const onnx::Support& support) {
  if (support.lacks.empty()) return fmt::format("{}: each of its {} nodes has an operator\n", file, support.nodes);
  std::string text = fmt::format("{}: {} of {} nodes have no operator\n", file, count_of(support), support.nodes);
  constexpr size_t kIndent = 6;
  for (const onnx::Lack& lack : support.lacks) {
    const std::string domain = lack.domain.empty() ? "" : fmt::format(" of {}", lack.domain);
    text += fmt::format("  {}{}, {} node{}, {}'{}'\n", lack.op, domain, lack.nodes.size(),
                        lack.nodes.size() == 1 ? "" : "s", lack.nodes.size() == 1 ? "" : "the first ", lack.nodes[0]);
    text += fmt::format("      {}\n", wrapped(first_line(lack.reason), kIndent));
    if (!lack.hint.empty()) text += fmt::format("      {}\n", wrapped("hint: " + lack.hint, kIndent));
  }
  return text;
}

std::string json_of(const std::string& file, const onnx::Support& support) {
  Json lacks = Json::array();
  for (const onnx::Lack& lack : support.lacks) {
    lacks.push_back(Json{{"op", lack.op},
                         {"domain", lack.domain},
                         {"count", lack.nodes.size()},
                         {"reason", first_line(lack.reason)},
                         {"hint", lack.hint},
                         {"nodes", lack.nodes}});
  }
  return json::to_text(Json{{"model", file},
                            {"nodes", support.nodes},
                            {"without_operator", count_of(support)},
                            {"lacks", std::move(lacks)}}) +
         "\n";
}

}  // namespace

Expected<int> check_support(const Arguments& arguments) {
  auto model = onnx::load_model(arguments.model);
  if (!model) return model.error();
  const auto stated = stated_by(arguments, model->graph);
  if (!stated) return stated.error();
  onnx::ImportOptions options{.constants = stated->constants};
  auto support = onnx::check_support(*model, options);
  if (!support || !support->lacks.empty()) {
    options.shapes = stated->shapes;
    auto bound = onnx::check_support(*model, options);
    if (bound && (stated->are_complete || bound->lacks.empty())) support = std::move(bound);
  }
  if (!support) return in_file(arguments.model, support.error());
  fmt::print("{}", arguments.is_json ? json_of(arguments.model, *support) : text_of(arguments.model, *support));
  return support->lacks.empty() ? runner::kDone : runner::kCasesFailed;
}

}  // namespace qgen::model
