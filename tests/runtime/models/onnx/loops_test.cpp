// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Loop and Scan whose number of iterations is known, nodes that gather computed places (GridSample, GatherND, Einsum),
// and windows of volumes. The values are computed here by their definitions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/runtime/models/onnx/compared.h"
#include "tests/support/expected_text.h"

namespace qgen::onnx::testing {
namespace {

using qgen::testing::tensor_of;
using ::testing::HasSubstr;

std::vector<double> values_of(const HostTensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < element_count(tensor.shape); ++i) values.push_back(element(tensor, i));
  return values;
}

// The outputs in the model's order.
std::vector<HostTensor> run(const ModelBuilder& m, const Tensors& inputs) {
  const auto imported = m.import();
  EXPECT_TRUE(imported) << to_text(imported.error());
  if (!imported) return {};
  const auto outputs = judged(imported->graph, inputs);
  EXPECT_TRUE(outputs) << to_text(outputs.error());
  std::vector<HostTensor> results;
  for (const ValueInfo& output : m.model.graph.outputs) {
    if (outputs) results.push_back(outputs->at(output.name));
  }
  return results;
}

// ---- loops ----------------------------------------------------------------------------------------------------------

// v = v * 2 + x, with each v as a scanned output. `condition` is what the body computes of its own.
Subgraph doubling(std::vector<Node> condition = {
                      {.name = "same", .op = "Identity", .inputs = {"on"}, .outputs = {"next"}}}) {
  ModelGraph body;
  body.inputs = {{.name = "i", .type = ElementType::i64, .shape = std::vector<InputSide>()},
                 {.name = "on", .type = ElementType::boolean, .shape = std::vector<InputSide>()},
                 {.name = "v"}};
  body.nodes = std::move(condition);
  body.nodes.push_back({.name = "twice", .op = "Add", .inputs = {"v", "v"}, .outputs = {"doubled"}});
  body.nodes.push_back({.name = "sum", .op = "Add", .inputs = {"doubled", "x"}, .outputs = {"v_next"}});
  body.outputs = {{.name = "next"}, {.name = "v_next"}, {.name = "v_next"}};
  return {std::make_shared<const ModelGraph>(std::move(body))};
}

std::string loop(ModelBuilder& m, const std::string& count, const std::string& condition, Subgraph body) {
  const std::string last = m.node("Loop", {count, condition, "start"}, {{"body", std::move(body)}});
  m.model.graph.nodes.back().outputs.push_back("all");
  return last;
}

ModelBuilder with_inputs() {
  ModelBuilder m;
  m.input("x", {2});
  m.input("start", {2});
  return m;
}

const Tensors kInputs = {{"x", tensor_of(DType::f32, {2}, {1, -2})}, {"start", tensor_of(DType::f32, {2}, {0, 1})}};

TEST(Loops, OfAKnownCount) {
  for (const int64_t count : {1, 3}) {
    ModelBuilder m = with_inputs();
    m.output(loop(m, m.integers(ElementType::i64, {}, {count}), "", doubling()));
    m.output("all");
    const auto results = run(m, kInputs);
    ASSERT_EQ(results.size(), 2U);
    std::vector<double> last{0, 1}, all;
    for (int64_t i = 0; i < count; ++i) {
      last = {2 * last[0] + 1, 2 * last[1] - 2};
      all.insert(all.end(), last.begin(), last.end());
    }
    EXPECT_EQ(values_of(results[0]), last);
    EXPECT_EQ(results[1].shape, (Shape{count, 2}));
    EXPECT_EQ(values_of(results[1]), all);
  }
}

// QuickGelu becomes three nodes, whose names must not be those of values around the body.
TEST(Loops, SpelledOutNodesHideNoValueAround) {
  ModelBuilder m = with_inputs();
  ModelGraph body;
  body.inputs = {{.name = "i", .type = ElementType::i64, .shape = std::vector<InputSide>()},
                 {.name = "on", .type = ElementType::boolean, .shape = std::vector<InputSide>()},
                 {.name = "v"}};
  body.nodes = {{.name = "same", .op = "Identity", .inputs = {"on"}, .outputs = {"next"}},
                {.name = "gelu", .op = "QuickGelu", .domain = "com.microsoft", .inputs = {"v"}, .outputs = {"g"}},
                {.name = "sum", .op = "Add", .inputs = {"g", "g Sigmoid"}, .outputs = {"v_next"}}};
  body.outputs = {{.name = "next"}, {.name = "v_next"}, {.name = "v_next"}};
  m.model.graph.nodes.push_back({.name = "around", .op = "Add", .inputs = {"x", "x"}, .outputs = {"g Sigmoid"}});
  m.output(loop(m, m.integers(ElementType::i64, {}, {1}), "", {std::make_shared<const ModelGraph>(std::move(body))}));
  const auto results = run(m, kInputs);
  ASSERT_EQ(results.size(), 1U);
  const std::vector<double> last = values_of(results[0]);  // of 0 and 1, and twice 1 and -2
  EXPECT_NEAR(last[0], 2, 1e-6);
  EXPECT_NEAR(last[1], 1 / (1 + std::exp(-1.702)) - 4, 1e-6);
}

// Until i is 2; the count is larger, or not there.
TEST(Loops, OfAConditionThatIsKnown) {
  const auto until_two = [](ModelBuilder& m) {
    return doubling(
        {{.name = "less", .op = "Less", .inputs = {"i", m.integers(ElementType::i64, {}, {2})}, .outputs = {"next"}}});
  };
  for (const bool has_count : {true, false}) {
    ModelBuilder m = with_inputs();
    const std::string count = has_count ? m.integers(ElementType::i64, {}, {100}) : "";
    m.output(loop(m, count, m.integers(ElementType::boolean, {}, {1}), until_two(m)));
    const auto results = run(m, kInputs);
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(values_of(results[0]), (std::vector<double>{7, -6}));
  }
  // A condition that is false at first: no iteration.
  ModelBuilder m = with_inputs();
  m.output(m.node("Relu", {loop(m, "", m.integers(ElementType::boolean, {}, {0}), until_two(m))}));
  const auto results = run(m, kInputs);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(values_of(results[0]), (std::vector<double>{0, 1}));
}

TEST(Loops, OfANumberThatIsComputed) {
  ModelBuilder m = with_inputs();
  m.input("count", {}, ElementType::i64);
  m.output(loop(m, "count", "", doubling()));
  EXPECT_TEXT(imported_operators(m),
              "node 'Loop_0' (Loop): its number of iterations is computed, and must be known before the model runs");
  ModelBuilder of_values = with_inputs();
  of_values.input("limit", {}, ElementType::f32);
  of_values.output(loop(
      of_values, "", "",
      doubling(
          {{.name = "positive", .op = "Greater", .inputs = {"limit", of_values.scalar(0)}, .outputs = {"next"}}})));
  EXPECT_TEXT(imported_operators(of_values),
              "node 'Loop_0' (Loop): the condition in its body is computed, and must be known before the model runs");
  ModelBuilder endless = with_inputs();
  endless.output(loop(endless, "", "", doubling()));
  EXPECT_TEXT(imported_operators(endless),
              "node 'Loop_0' (Loop): it has more than 256 iterations, and each is written out");
  ModelBuilder few = with_inputs();
  few.output(few.node("Loop", {few.integers(ElementType::i64, {}, {2}), ""}, {{"body", doubling()}}));
  EXPECT_TEXT(imported_operators(few), "node 'Loop_0' (Loop): its body has 3 inputs, and it gives 2");
}

// Sums of the columns up to each one, from the last on if it is reversed.
Subgraph summing() {
  ModelGraph body;
  body.inputs = {{.name = "s"}, {.name = "part"}};
  body.nodes = {{.name = "sum", .op = "Add", .inputs = {"s", "part"}, .outputs = {"s_next"}}};
  body.outputs = {{.name = "s_next"}, {.name = "s_next"}};
  return {std::make_shared<const ModelGraph>(std::move(body))};
}

TEST(Loops, ScansAlongAnyAxis) {
  for (const int64_t reverse : {0, 1}) {
    ModelBuilder m;
    m.input("s", {2});
    m.input("x", {2, 3});
    m.output(m.node("Scan", {"s", "x"},
                    {{"num_scan_inputs", int64_t{1}},
                     {"scan_input_axes", std::vector<int64_t>{1}},
                     {"scan_output_axes", std::vector<int64_t>{-1}},
                     {"scan_input_directions", std::vector<int64_t>{reverse}},
                     {"scan_output_directions", std::vector<int64_t>{reverse}},
                     {"body", summing()}}));
    m.model.graph.nodes.back().outputs.push_back("all");
    m.output("all");
    const auto results =
        run(m, {{"s", tensor_of(DType::f32, {2}, {10, 20})}, {"x", tensor_of(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6})}});
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(values_of(results[0]), (std::vector<double>{16, 35}));
    EXPECT_EQ(results[1].shape, (Shape{2, 3}));
    EXPECT_EQ(values_of(results[1]), reverse == 0 ? (std::vector<double>{11, 13, 16, 24, 29, 35})
                                                  : (std::vector<double>{16, 15, 13, 35, 31, 26}));
  }
}

// ---- sums of products -----------------------------------------------------------------------------------------------

TEST(Einsums, OfOneAndTwoTensors) {
  struct Case {
    std::string equation;
    std::vector<Shape> shapes;
  };
  const Case cases[] = {{"ij->ji", {{2, 3}}},
                        {"ij->i", {{2, 3}}},
                        {"bij, bjk -> bik", {{2, 3, 4}, {2, 4, 5}}},
                        {"i,i", {{5}, {5}}},
                        {"bhwc,hkc->bhwk", {{2, 3, 4, 5}, {3, 6, 5}}},
                        {"ab,cd->dacb", {{2, 3}, {4, 5}}},
                        {"abx,cb->ca", {{2, 3, 4}, {5, 3}}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.equation);
    ModelBuilder m;
    Tensors inputs;
    std::vector<std::string> names;
    for (const Shape& shape : c.shapes) {
      names.push_back(m.input(fmt::format("x{}", names.size()), shape));
      inputs[names.back()] = Random(static_cast<uint32_t>(names.size())).reals(DType::f32, shape, -1, 1);
    }
    m.output(m.node("Einsum", names, {{"equation", c.equation}}));
    const auto results = run(m, inputs);
    ASSERT_EQ(results.size(), 1U);
    // All combinations of the letters' values.
    std::string plain;
    for (const char letter : c.equation) {
      if (letter != ' ') plain += letter;
    }
    const size_t arrow = plain.find("->");
    const std::string left = plain.substr(0, arrow), right = arrow == std::string::npos ? "" : plain.substr(arrow + 2);
    std::map<char, int64_t> sides;
    for (size_t i = 0, operand = 0, d = 0; i < left.size(); ++i) {
      if (left[i] == ',') ++operand, d = 0;
      else sides[left[i]] = c.shapes[operand][d++];
    }
    int64_t count = 1;
    for (const auto& [letter, side] : sides) count *= side;
    std::vector<double> sums(static_cast<size_t>(element_count(results[0].shape)));
    for (int64_t n = 0; n < count; ++n) {
      std::map<char, int64_t> at;
      int64_t rest = n;
      for (const auto& [letter, side] : sides) {
        at[letter] = rest % side;
        rest /= side;
      }
      const auto place = [&](std::string_view letters) {
        int64_t index = 0;
        for (const char letter : letters) index = index * sides[letter] + at[letter];
        return index;
      };
      const size_t comma = left.find(',');
      double product = element(inputs["x0"], place(left.substr(0, comma)));
      if (comma != std::string::npos) product *= element(inputs["x1"], place(left.substr(comma + 1)));
      sums[static_cast<size_t>(place(right))] += product;
    }
    for (size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(element(results[0], static_cast<int64_t>(i)), sums[i], 1e-5);
  }
}

TEST(Einsums, WithADiagonalAreRefused) {
  ModelBuilder m;
  m.output(m.node("Einsum", {m.input("x", {3, 3})}, {{"equation", std::string("ii->i")}}));
  EXPECT_TEXT(imported_operators(m),
              "node 'Einsum_0' (Einsum): its equation 'ii->i' has a diagonal, 'i' twice in one tensor");
}

// ---- grids ----------------------------------------------------------------------------------------------------------

struct Grid {
  std::string mode, padding;
  bool aligns;
};

double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range == 0) return low;
  const double rest = std::fmod(std::abs(x - low), 2 * range);
  return low + std::min(rest, 2 * range - rest);
}

// ONNX's definition, one element.
double sampled(const Grid& grid, const HostTensor& image, int64_t plane, double gx, double gy) {
  const auto height = static_cast<double>(image.shape[2]), width = static_cast<double>(image.shape[3]);
  const auto low = [&] { return grid.aligns ? 0.0 : -0.5; };
  const auto high = [&](double side) { return grid.aligns ? side - 1 : side - 0.5; };
  const auto coordinate = [&](double g, double side) {
    double x = grid.aligns ? (g + 1) / 2 * (side - 1) : ((g + 1) * side - 1) / 2;
    if (grid.mode == "nearest") x = std::nearbyint(x);
    if (grid.padding == "border") x = std::clamp(x, 0.0, side - 1);
    if (grid.padding == "reflection") x = reflected(x, low(), high(side));
    return x;
  };
  const auto pixel = [&](double row, double column) {
    if (grid.padding == "zeros" && (row < 0 || row >= height || column < 0 || column >= width)) return 0.0;
    if (grid.padding == "reflection") {
      row = std::trunc(reflected(row, low(), high(height)));
      column = std::trunc(reflected(column, low(), high(width)));
    }
    row = std::clamp(row, 0.0, height - 1);
    column = std::clamp(column, 0.0, width - 1);
    return element(
        image, (plane * image.shape[2] + static_cast<int64_t>(row)) * image.shape[3] + static_cast<int64_t>(column));
  };
  const double x = coordinate(gx, width), y = coordinate(gy, height);
  if (grid.mode == "nearest") return pixel(y, x);
  const bool is_cubic = grid.mode == "cubic";
  const auto weight = [&](double t) {
    t = std::abs(t);
    constexpr double a = -0.75;
    if (!is_cubic) return std::max(0.0, 1 - t);
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  };
  double sum = 0;
  for (int row = is_cubic ? -1 : 0; row < (is_cubic ? 3 : 2); ++row) {
    for (int column = is_cubic ? -1 : 0; column < (is_cubic ? 3 : 2); ++column) {
      const double r = std::floor(y) + row, c = std::floor(x) + column;
      sum += pixel(r, c) * weight(y - r) * weight(x - c);
    }
  }
  return sum;
}

TEST(GridSample, InEveryModeAndPadding) {
  const HostTensor image = Random(3).reals(DType::f32, {2, 3, 5, 4}, -1, 1);
  HostTensor places = Random(4).reals(DType::f32, {2, 3, 2, 2}, -2.5, 2.5);
  for (const auto& [index, value] : {std::pair<int64_t, double>{0, -1}, {1, 1}, {2, 0.25}})
    set_element(places, index, value);
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string padding : {"zeros", "border", "reflection"}) {
      for (const bool aligns : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", mode, padding, aligns));
        ModelBuilder m(20);
        m.output(m.node("GridSample", {m.input("x", image.shape), m.input("grid", places.shape)},
                        {{"mode", mode}, {"padding_mode", padding}, {"align_corners", int64_t{aligns}}}));
        const auto results = run(m, {{"x", image}, {"grid", places}});
        ASSERT_EQ(results.size(), 1U);
        ASSERT_EQ(results[0].shape, (Shape{2, 3, 3, 2}));
        for (int64_t i = 0; i < element_count(results[0].shape); ++i) {
          const int64_t plane = i / 6, at = plane / 3 * 6 + i % 6;
          EXPECT_NEAR(
              element(results[0], i),
              sampled({mode, padding, aligns}, image, plane, element(places, 2 * at), element(places, 2 * at + 1)),
              1e-4)
              << i;
        }
      }
    }
  }
}

// ---- windows of volumes ---------------------------------------------------------------------------------------------

using Sides = std::array<int64_t, 3>;
using WindowAttributes = std::map<std::string, AttributeData, std::less<>>;

// One channel, and a window with the places that auto_pad or output_shape leave.
struct VolumeWindow {
  Sides side{4, 5, 3}, kernel{2, 3, 2}, stride{2, 1, 3}, dilation{2, 1, 1}, out{}, before{};

  int64_t reach(size_t axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }

  // As ONNX defines SAME_UPPER and SAME_LOWER.
  void pad_to_same(bool is_upper) {
    for (size_t i = 0; i < 3; ++i) {
      out[i] = (side[i] + stride[i] - 1) / stride[i];
      const int64_t total = std::max<int64_t>((out[i] - 1) * stride[i] + reach(i) - side[i], 0);
      before[i] = is_upper ? total / 2 : total - total / 2;
    }
  }
  // Of a transposed convolution.
  void trim_to(const Sides& wanted, bool is_upper) {
    for (size_t i = 0; i < 3; ++i) {
      out[i] = wanted[i];
      const int64_t total = std::max<int64_t>((side[i] - 1) * stride[i] + reach(i) - wanted[i], 0);
      before[i] = is_upper ? total / 2 : total - total / 2;
    }
  }
  WindowAttributes attributes(const std::string& auto_pad) const {
    const auto list = [](const Sides& sides) { return std::vector<int64_t>(sides.begin(), sides.end()); };
    return {{"kernel_shape", list(kernel)},
            {"strides", list(stride)},
            {"dilations", list(dilation)},
            {"auto_pad", auto_pad}};
  }
};

template <typename Use>
void for_each(const Sides& sides, const Use& use) {
  for (int64_t z = 0; z < sides[0]; ++z) {
    for (int64_t y = 0; y < sides[1]; ++y) {
      for (int64_t x = 0; x < sides[2]; ++x) use(Sides{z, y, x});
    }
  }
}

int64_t place_in(const Sides& sides, const Sides& at) { return (at[0] * sides[1] + at[1]) * sides[2] + at[2]; }

void expect_volume(const HostTensor& result, const Sides& sides, const std::vector<double>& wanted) {
  ASSERT_EQ(result.shape, (Shape{1, 1, sides[0], sides[1], sides[2]}));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(element(result, static_cast<int64_t>(i)), wanted[i], 1e-5) << i;
}

// Sum, maximum and mean of the elements that a window finds.
TEST(Volumes, PaddedToTheSameSides) {
  const HostTensor x = Random(3).reals(DType::f32, {1, 1, 4, 5, 3}, -1, 1);
  const HostTensor taps = Random(4).reals(DType::f32, {1, 1, 2, 3, 2}, -1, 1);
  std::vector<float> weights;
  for (int64_t i = 0; i < 12; ++i) weights.push_back(static_cast<float>(element(taps, i)));
  for (const std::string op : {"Conv", "MaxPool", "AveragePool"}) {
    for (const bool is_upper : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", op, is_upper));
      VolumeWindow window;
      if (op == "AveragePool") window.dilation = {2, 2, 1};
      window.pad_to_same(is_upper);
      ModelBuilder m(19);
      std::vector<std::string> inputs{m.input("x", x.shape)};
      if (op == "Conv") inputs.push_back(m.reals(taps.shape, weights));
      m.output(m.node(op, inputs, window.attributes(is_upper ? "SAME_UPPER" : "SAME_LOWER")));
      const auto results = run(m, {{"x", x}});
      ASSERT_EQ(results.size(), 1U);
      std::vector<double> wanted;
      for_each(window.out, [&](const Sides& at) {
        double sum = 0, most = -1e9, count = 0;
        for_each(window.kernel, [&](const Sides& tap) {
          Sides from{};
          bool is_inside = true;
          for (size_t i = 0; i < 3; ++i) {
            from[i] = at[i] * window.stride[i] + tap[i] * window.dilation[i] - window.before[i];
            is_inside = is_inside && from[i] >= 0 && from[i] < window.side[i];
          }
          if (!is_inside) return;
          const double value = element(x, place_in(window.side, from));
          sum += op == "Conv" ? value * element(taps, place_in(window.kernel, tap)) : value;
          most = std::max(most, value);
          ++count;
        });
        wanted.push_back(op == "Conv" ? sum : op == "MaxPool" ? most : sum / count);
      });
      expect_volume(results[0], window.out, wanted);
    }
  }
}

// The mean of the pixels that the dilated windows of an image find. Of a row the height is 1.
TEST(Windows, DilatedMeans) {
  struct Row {
    std::vector<int64_t> side, kernel, stride, dilation, before, after;
    bool ceil, with_padding;
    std::vector<int64_t> out;
  };
  using List = std::vector<int64_t>;
  const Row rows[] = {
      {{4, 4}, {2, 2}, {1, 1}, {2, 2}, {0, 0}, {0, 0}, true, false, {2, 2}},  // ONNX's averagepool_2d_dilations
      {{7, 6}, {3, 2}, {2, 3}, {2, 3}, {1, 2}, {2, 0}, false, false, {3, 2}},
      {{7, 6}, {3, 2}, {2, 3}, {2, 3}, {1, 2}, {2, 0}, false, true, {3, 2}},
      {{7, 6}, {3, 2}, {2, 3}, {2, 3}, {1, 2}, {1, 0}, true, false, {3, 3}},
      {{7, 6}, {3, 2}, {2, 3}, {2, 3}, {1, 2}, {1, 0}, true, true, {3, 3}},
      {{9}, {3}, {2}, {2}, {1}, {1}, false, false, {4}},
      {{9}, {3}, {1}, {3}, {0}, {0}, false, false, {3}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(
        fmt::format("{} {} {} {}", fmt::join(row.side, "x"), fmt::join(row.out, "x"), row.ceil, row.with_padding));
    const auto with = [](List list, const List& more) {
      list.insert(list.end(), more.begin(), more.end());
      return list;
    };
    const HostTensor x = Random(3).reals(DType::f32, with({2, 3}, row.side), -1, 1);
    ModelBuilder m(19);
    m.output(m.node("AveragePool", {m.input("x", x.shape)},
                    {{"kernel_shape", row.kernel},
                     {"strides", row.stride},
                     {"dilations", row.dilation},
                     {"pads", with(row.before, row.after)},
                     {"ceil_mode", int64_t{row.ceil}},
                     {"count_include_pad", int64_t{row.with_padding}}}));
    const auto results = run(m, {{"x", x}});
    ASSERT_EQ(results.size(), 1U);
    ASSERT_EQ(results[0].shape, with({2, 3}, row.out));
    const auto two = [](const List& list, int64_t other) {
      return Sides{0, list.size() == 1 ? other : list[0], list.back()};
    };
    const Sides side = two(row.side, 1), out = two(row.out, 1), kernel = two(row.kernel, 1),
                stride = two(row.stride, 1), dilation = two(row.dilation, 1), before = two(row.before, 0),
                after = two(row.after, 0);
    for (int64_t i = 0; i < element_count(results[0].shape); ++i) {
      const Sides at{i / (out[1] * out[2]), i / out[2] % out[1], i % out[2]};
      double sum = 0, count = 0;
      for_each({1, kernel[1], kernel[2]}, [&](const Sides& tap) {
        Sides from = at;
        bool is_inside = true, is_padded = true;
        for (size_t d = 1; d < 3; ++d) {
          from[d] = at[d] * stride[d] + tap[d] * dilation[d] - before[d];
          is_inside = is_inside && from[d] >= 0 && from[d] < side[d];
          is_padded = is_padded && from[d] < side[d] + after[d];
        }
        if (is_inside)
          sum += element(x, place_in({1, side[1], side[2]}, {0, from[1], from[2]}) + at[0] * side[1] * side[2]);
        count += is_inside || (row.with_padding && is_padded) ? 1 : 0;
      });
      EXPECT_NEAR(element(results[0], i), sum / count, 1e-6) << i;
    }
  }
}

TEST(Volumes, TransposedToTheSameSides) {
  const HostTensor x = Random(3).reals(DType::f32, {1, 1, 4, 5, 3}, -1, 1);
  const HostTensor taps = Random(4).reals(DType::f32, {1, 1, 2, 3, 2}, -1, 1);
  std::vector<float> weights;
  for (int64_t i = 0; i < 12; ++i) weights.push_back(static_cast<float>(element(taps, i)));
  struct Row {
    std::string auto_pad;
    std::vector<int64_t> output_shape;
  };
  // The last is larger than what the input makes along two axes.
  for (const Row& row : {Row{"SAME_UPPER", {}}, Row{"SAME_LOWER", {}}, Row{"NOTSET", {8, 6, 7}},
                         Row{"SAME_UPPER", {8, 6, 7}}, Row{"NOTSET", {10, 4, 9}}}) {
    SCOPED_TRACE(fmt::format("{} {}", row.auto_pad, row.output_shape.size()));
    VolumeWindow window;
    const auto& said = row.output_shape;
    window.trim_to(said.empty() ? Sides{8, 5, 9} : Sides{said[0], said[1], said[2]}, row.auto_pad == "SAME_UPPER");
    ModelBuilder m(19);
    WindowAttributes attributes = window.attributes(row.auto_pad);
    if (!said.empty()) attributes["output_shape"] = said;
    m.output(m.node("ConvTranspose", {m.input("x", x.shape), m.reals(taps.shape, weights)}, attributes));
    const auto results = run(m, {{"x", x}});
    ASSERT_EQ(results.size(), 1U);
    std::vector<double> wanted(static_cast<size_t>(window.out[0] * window.out[1] * window.out[2]));
    for_each(window.side, [&](const Sides& from) {
      for_each(window.kernel, [&](const Sides& tap) {
        Sides at{};
        for (size_t i = 0; i < 3; ++i) {
          at[i] = from[i] * window.stride[i] + tap[i] * window.dilation[i] - window.before[i];
          if (at[i] < 0 || at[i] >= window.out[i]) return;
        }
        wanted[static_cast<size_t>(place_in(window.out, at))] +=
            element(x, place_in(window.side, from)) * element(taps, place_in(window.kernel, tap));
      });
    });
    expect_volume(results[0], window.out, wanted);
  }
}

TEST(Gathers, OfBatches) {
  ModelBuilder m;
  m.input("x", {2, 3, 2});
  m.output(m.node("GatherND", {"x", m.integers(ElementType::i64, {2, 1}, {1, 2})}, {{"batch_dims", int64_t{1}}}));
  m.output(m.node("Compress", {"x", m.integers(ElementType::boolean, {3}, {1, 0, 1})}, {{"axis", int64_t{1}}}));
  m.output(m.node("Compress", {"x", m.integers(ElementType::boolean, {6}, {0, 1, 0, 0, 0, 1})}));
  const auto results = run(m, {{"x", tensor_of(DType::f32, {2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(values_of(results[0]), (std::vector<double>{2, 3, 10, 11}));
  EXPECT_EQ(values_of(results[1]), (std::vector<double>{0, 1, 4, 5, 6, 7, 10, 11}));
  EXPECT_EQ(values_of(results[2]), (std::vector<double>{1, 5}));
}

TEST(Normalizations, MeanVariance) {
  ModelBuilder m;
  m.output(m.node("MeanVarianceNormalization", {m.input("x", {2, 2})}, {{"axes", std::vector<int64_t>{-1}}}));
  const auto results = run(m, {{"x", tensor_of(DType::f32, {2, 2}, {1, 3, -4, 4})}});
  ASSERT_EQ(results.size(), 1U);
  for (const int64_t i : {0, 1, 2, 3}) EXPECT_NEAR(element(results[0], i), i % 2 == 0 ? -1 : 1, 1e-6);
}

}  // namespace
}  // namespace qgen::onnx::testing
