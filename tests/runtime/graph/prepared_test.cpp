// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Small networks on a device, in one arena, beside the definitions of their operators: every value is an integer, and
// every one is the same.
#include <gtest/gtest.h>

#include <thread>

#include "operators.h"
#include "registry.h"
#include "runtime/graph/model.h"
#include "runtime/model/judge.h"
#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

namespace qgen::graph {
namespace {

using testing::Random;

OperatorEntries operators() { return generated::operators::entries(); }

// Layers with weights of their own, one after the other.
class Network {
 public:
  explicit Network(uint32_t seed) : random_(seed) {}

  ValueId input(Shape shape) { return graph.add_input("image", DType::f32, std::move(shape)); }
  ValueId quantized(ValueId x) {
    return graph.add({.op = "q8ta_quantize", .inputs = {{"input", x}}, .attributes = {{"output_scale", kScale}}});
  }
  ValueId convolution(ValueId x, int64_t channels, int64_t outputs, int64_t taps, int64_t stride, int64_t groups = 1,
                      std::optional<ValueId> residual = {}) {
    Node node{.op = "q8ta_conv2d", .inputs = {{"input", x}}, .attributes = scales()};
    add_weight(node, {outputs, channels / groups, taps, taps}, outputs);
    node.attributes.emplace("stride", std::vector<int64_t>{stride});
    node.attributes.emplace("padding", std::vector<int64_t>{taps / 2});
    node.attributes.emplace("groups", groups);
    node.attributes.emplace("activation", "relu");
    if (residual) {
      node.inputs.push_back({"residual", *residual});
      node.attributes.emplace("residual_scale", kScale);
      node.attributes.emplace("result_scale", kScale);
    }
    return graph.add(std::move(node));
  }
  ValueId pooled(ValueId x, std::string_view op) {
    Attributes attributes;
    if (op == "q8ta_avg_pool2d") attributes = scales();
    return graph.add({.op = std::string(op), .inputs = {{"input", x}}, .attributes = attributes});
  }
  ValueId reshaped(ValueId x, std::vector<int64_t> shape) {
    return graph.add({.op = "reshape", .inputs = {{"input", x}}, .attributes = {{"shape", std::move(shape)}}});
  }
  ValueId linear(ValueId x, int64_t from, int64_t to) {
    Node node{.op = "q8ta_linear", .inputs = {{"input", x}}, .attributes = scales()};
    add_weight(node, {to, from}, to);
    return graph.add(std::move(node));
  }
  ValueId real(ValueId x) {
    return graph.add({.op = "q8ta_dequantize", .inputs = {{"input", x}}, .attributes = {{"input_scale", kScale}}});
  }

  Graph graph;

 private:
  static constexpr double kScale = 0.0625;
  static Attributes scales() { return {{"input_scale", kScale}, {"output_scale", kScale}}; }

  void add_weight(Node& node, const Shape& shape, int64_t outputs) {
    const std::string name = "weight" + std::to_string(graph.nodes.size());
    const int64_t k = element_count(shape) / outputs;
    const double scale = 0.02 / std::sqrt(static_cast<double>(k));
    node.inputs.push_back({"weight", graph.add_constant(name, random_.integers(DType::i8, shape, -127, 127))});
    node.inputs.push_back({"weight_scales", graph.add_constant(name + "_scales", random_.reals(DType::f32, {outputs},
                                                                                               scale / 2, scale))});
    node.inputs.push_back(
        {"bias", graph.add_constant(name + "_bias", random_.reals(DType::f32, {outputs}, -0.5, 0.5))});
  }

  Random random_;
};

// A stem, a residual block with a projection, one without, a head: what ResNets are made of.
Graph residual_network(int64_t batch) {
  Network net(1);
  const ValueId stem = net.convolution(net.quantized(net.input({batch, 3, 20, 20})), 3, 16, 7, 2);
  const ValueId projection = net.convolution(stem, 16, 32, 1, 2);
  const ValueId a = net.convolution(net.convolution(stem, 16, 16, 3, 2), 16, 32, 1, 1, 1, projection);
  const ValueId b = net.convolution(net.convolution(a, 32, 8, 3, 1), 8, 32, 1, 1, 1, a);
  const ValueId flat = net.reshaped(net.pooled(b, "q8ta_avg_pool2d"), {0, -1});
  net.graph.add_output("scores", net.real(net.linear(flat, 32, 10)));
  return std::move(net.graph);
}

// Widened, filtered channel by channel, narrowed, with channel counts that fill no word.
Graph depthwise_network() {
  Network net(2);
  const ValueId x = net.quantized(net.input({kAnySide, 5, 9, 7}));
  const ValueId wide = net.convolution(x, 5, 18, 1, 1);
  const ValueId filtered = net.convolution(wide, 18, 18, 3, 1, 18);
  const ValueId narrow = net.convolution(filtered, 18, 5, 1, 1, 1, x);
  net.graph.add_output("features", narrow);
  net.graph.add_output("widest", net.pooled(wide, "q8ta_max_pool2d"));
  return std::move(net.graph);
}

class PreparedTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    auto library = KernelLibrary::open(generated::library());
    ASSERT_TRUE(library) << to_text(library.error());
    library_.emplace(*std::move(library));
    auto executor = Executor::create(device(), *library_, {});
    ASSERT_TRUE(executor) << to_text(executor.error());
    executor_.emplace(*std::move(executor));
    context_.emplace(Context{device().profile(), *library_, *executor_});
  }

  Model model_of(Graph graph) { return Model::create(*context_, operators(), std::move(graph), {}); }

  static void expect_reference(const Graph& graph, const Tensors& inputs, const Tensors& outputs) {
    const auto expected = model::by_reference(graph, operators(), inputs);
    ASSERT_TRUE(expected) << to_text(expected.error());
    for (const Named& output : graph.outputs) {
      const HostTensor& want = (*expected)[output.value];
      EXPECT_EQ(outputs.at(output.name).shape, want.shape) << output.name;
      EXPECT_TRUE(outputs.at(output.name).data == want.data) << output.name;
    }
  }

  std::optional<KernelLibrary> library_;
  std::optional<Executor> executor_;
  std::optional<Context> context_;
};

TEST_F(PreparedTest, ResidualNetworkIsItsReference) {
  const Graph graph = residual_network(2);
  Model model = model_of(graph);
  for (const uint32_t seed : {1u, 2u}) {  // the second time in memory that the first has used
    const Tensors inputs{{"image", Random(seed).reals(DType::f32, {2, 3, 20, 20}, -4, 4)}};
    const auto outputs = model.run(inputs);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    expect_reference(graph, inputs, *outputs);
  }
}

// The constants are on the device alone after the first of them.
TEST_F(PreparedTest, DepthwiseNetworkIsItsReferenceAtAnyBatch) {
  const Graph graph = depthwise_network();
  Model model = Model::create(*context_, operators(), graph, {.most_prepared = 2});
  for (const int64_t batch : {1, 3, 2, 1}) {
    const Tensors inputs{{"image", Random(7).reals(DType::f32, {batch, 5, 9, 7}, -4, 4)}};
    const auto outputs = model.run(inputs);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    expect_reference(graph, inputs, *outputs);
  }
}

TEST_F(PreparedTest, ThreadsShareWeights) {
  const Graph graph = residual_network(1);
  const Model model = model_of(graph);
  constexpr size_t kThreads = 4;
  std::vector<Tensors> inputs;
  for (uint32_t i = 0; i < kThreads; ++i)
    inputs.push_back({{"image", Random(i).reals(DType::f32, {1, 3, 20, 20}, -4, 4)}});
  std::vector<Expected<Tensors>> outputs(kThreads, Expected<Tensors>(Tensors()));
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        auto executor = Executor::create_beside(*executor_);
        if (!executor) {
          outputs[i] = executor.error();
          return;
        }
        Context context{device().profile(), *library_, *executor};
        Model own = model.beside(context);
        for (int replay = 0; replay < 3; ++replay) outputs[i] = own.run(inputs[i]);
      });
    }
  }
  for (size_t i = 0; i < kThreads; ++i) {
    ASSERT_TRUE(outputs[i]) << to_text(outputs[i].error());
    expect_reference(graph, inputs[i], *outputs[i]);
  }
}

TEST_F(PreparedTest, CompiledIsTheSame) {
  const Tensors inputs{{"image", Random(3).reals(DType::f32, {2, 3, 20, 20}, -4, 4)}};
  Model model = model_of(residual_network(2));
  const auto outputs = model.run(inputs);
  ASSERT_TRUE(outputs) << to_text(outputs.error());
  const auto compiled = model.compiled();
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  const std::vector<std::byte> file = write_compiled(*compiled);

  auto read = read_compiled(file);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(write_compiled(*read), file);
  Model again = Model::create(*context_, operators(), *std::move(read), {});
  const auto outputs_again = again.run(inputs);
  ASSERT_TRUE(outputs_again) << to_text(outputs_again.error());
  EXPECT_FALSE(again.is_chosen_anew());
  EXPECT_TRUE(outputs->at("scores").data == outputs_again->at("scores").data);
}

// At another batch, and as though it came from another device: kernels are chosen anew, weights packed again.
TEST_F(PreparedTest, CompiledForOthersIsChosenAnew) {
  const Graph graph = depthwise_network();
  Model model = model_of(graph);
  ASSERT_TRUE(model.prepare({{"image", {1, 5, 9, 7}}}));
  auto compiled = model.compiled();
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  for (const int64_t batch : {1, 5}) {
    Compiled other = *compiled;
    if (batch == 1) other.digests.front() ^= 1;
    Model again = Model::create(*context_, operators(), std::move(other), {});
    const Tensors inputs{{"image", Random(7).reals(DType::f32, {batch, 5, 9, 7}, -4, 4)}};
    const auto outputs = again.run(inputs);
    ASSERT_TRUE(outputs) << to_text(outputs.error());
    EXPECT_TRUE(again.is_chosen_anew());
    expect_reference(graph, inputs, *outputs);
  }
}

// Not one byte may differ; what is cut short, or has something behind it, is no model either.
TEST_F(PreparedTest, DamagedFilesAreRefused) {
  Model model = model_of(depthwise_network());
  ASSERT_TRUE(model.prepare({{"image", {1, 5, 9, 7}}}));
  const auto compiled = model.compiled();
  ASSERT_TRUE(compiled) << to_text(compiled.error());
  const std::vector<std::byte> file = write_compiled(*compiled);
  for (size_t at = 0; at < file.size(); at += at < 64 ? 1 : 97) {
    std::vector<std::byte> other = file;
    other[at] ^= std::byte{1};
    EXPECT_FALSE(read_compiled(other)) << at;
  }
  for (const size_t length : {size_t{0}, size_t{31}, size_t{40}, file.size() / 2, file.size() - 1})
    EXPECT_FALSE(read_compiled(std::span(file).first(length))) << length;
  std::vector<std::byte> longer = file;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(read_compiled(longer));
}

TEST_F(PreparedTest, SharesMemory) {
  Model model = model_of(residual_network(2));
  const auto prepared = model.prepare({});
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  const MemoryPlan& memory = (*prepared)->schedule().memory;
  EXPECT_EQ(memory.bytes, memory.lower_bound);
  EXPECT_LT(memory.bytes, memory.naive);
}

TEST_F(PreparedTest, TimesEachStep) {
  Model model = model_of(residual_network(1));
  const auto prepared = model.prepare({});
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  const auto times = (*prepared)->step_times_us();
  ASSERT_TRUE(times) << to_text(times.error());
  EXPECT_EQ(times->size(), (*prepared)->schedule().steps.size());
}

TEST_F(PreparedTest, RefusesOtherInputs) {
  Model model = model_of(residual_network(1));
  const auto prepared = model.prepare({});
  ASSERT_TRUE(prepared) << to_text(prepared.error());
  const HostTensor image = zeros(DType::f32, {1, 3, 20, 20});
  const auto missing = (*prepared)->run({});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "input 'image' is missing");
  const auto unknown = (*prepared)->run({{"image", image}, {"label", image}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "the model has no input 'label'");
  const auto smaller = (*prepared)->run({{"image", zeros(DType::f32, {1, 3, 19, 20})}});
  EXPECT_FALSE(smaller);
}

}  // namespace
}  // namespace qgen::graph
