// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Computes a model in floats, node by node, without fusion: an independent implementation of ONNX's text for the
// operators that the tests use.
#pragma once

#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "runtime/models/onnx/order.h"

namespace qgen::onnx::testing {

struct Floats {
  Shape shape;
  std::vector<double> values;

  double& at(const Shape& index) {
    size_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place = place * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
    return values[place];
  }
};

class FloatJudge {
 public:
  explicit FloatJudge(const Model& model) : model_(model) {}

  std::map<std::string, Floats> run(std::map<std::string, Floats> inputs) {
    known_ = std::move(inputs);
    for (const auto& [name, tensor] : model_.graph.initializers) {
      Floats floats{tensor->shape, {}};
      for (int64_t i = 0; i < tensor->size(); ++i)
        floats.values.push_back(is_real(tensor->type) ? tensor->real(i) : static_cast<double>(tensor->integer(i)));
      known_[name] = std::move(floats);
      types_[name] = tensor->type;
    }
    const auto order = order_of(model_.graph);
    for (const size_t i : order->nodes) {
      const Node& node = model_.graph.nodes[i];
      known_[node.outputs[0]] = result(node);
    }
    return known_;
  }

 private:
  Floats& in(const Node& node, size_t i) { return known_.at(node.inputs[i]); }

  static float rounded(double x) { return static_cast<float>(x); }

  static Floats each(Floats x, auto function) {
    for (double& value : x.values) value = rounded(function(value));
    return x;
  }

  // The parameter of element i: one for all, one for each place along the axis, or one for each block along it.
  double parameter(const Node& node, size_t input, const Floats& x, size_t i) {
    const Floats& parameters = in(node, input);
    if (parameters.values.size() == 1) return parameters.values[0];
    const size_t axis = axis_at(node.integer("axis", 1), x);
    const int64_t side = x.shape[axis], block = node.integer("block_size", 0), element = static_cast<int64_t>(i);
    const int64_t inner = element_count({x.shape.begin() + static_cast<int64_t>(axis) + 1, x.shape.end()});
    const int64_t outer = element / (inner * side), place = element / inner % side;
    if (block == 0) return parameters.values[static_cast<size_t>(place)];
    return parameters.values[static_cast<size_t>((outer * (side / block) + place / block) * inner + element % inner)];
  }

  Floats quantize(const Node& node) {
    Floats x = in(node, 0);
    const ElementType type = node.has_input(2) ? types_[node.inputs[2]] : ElementType::u8;
    const bool is_signed = type == ElementType::i8 || type == ElementType::i4;
    const double values = type == ElementType::i4 || type == ElementType::u4 ? 16 : 256;
    const double low = is_signed ? -values / 2 : 0, high = low + values - 1;
    for (size_t i = 0; i < x.values.size(); ++i) {
      const double zero = node.has_input(2) ? parameter(node, 2, x, i) : 0;
      const double q = std::nearbyint(rounded(x.values[i]) / rounded(parameter(node, 1, x, i)));
      x.values[i] = std::clamp(q + zero, low, high);
    }
    return x;
  }
  Floats dequantize(const Node& node) {
    Floats x = in(node, 0);
    for (size_t i = 0; i < x.values.size(); ++i) {
      const double zero = node.has_input(2) ? parameter(node, 2, x, i) : 0;
      x.values[i] = rounded(x.values[i] - zero) * rounded(parameter(node, 1, x, i));
    }
    return x;
  }

  static std::vector<int64_t> list(const Node& node, std::string_view name, std::vector<int64_t> otherwise) {
    const auto said = node.integers(name);
    return said.empty() ? otherwise : said;
  }

  // Goes through places and taps of a window; `visit` gets a tap's position, if that is in the input.
  struct Window2d {
    std::vector<int64_t> kernel, stride, pads, dilation;
  };
  static Window2d window(const Node& node, std::vector<int64_t> kernel) {
    return {kernel, list(node, "strides", {1, 1}), list(node, "pads", {0, 0, 0, 0}), list(node, "dilations", {1, 1})};
  }
  static int64_t places(const Window2d& w, const Shape& in, size_t axis) {
    return (in[axis + 2] + w.pads[axis] + w.pads[axis + 2] - (w.dilation[axis] * (w.kernel[axis] - 1) + 1)) /
               w.stride[axis] +
           1;
  }
  static void over_taps(const Window2d& w, const Shape& in, int64_t y, int64_t x, auto visit) {
    for (int64_t i = 0; i < w.kernel[0]; ++i) {
      for (int64_t j = 0; j < w.kernel[1]; ++j) {
        const int64_t h = y * w.stride[0] - w.pads[0] + i * w.dilation[0],
                      v = x * w.stride[1] - w.pads[1] + j * w.dilation[1];
        if (h >= 0 && v >= 0 && h < in[2] && v < in[3]) visit(i, j, h, v);
      }
    }
  }

  Floats conv(const Node& node) {
    Floats &x = in(node, 0), &w = in(node, 1);
    const Window2d window2d = window(node, {w.shape[2], w.shape[3]});
    const int64_t groups = node.integer("group", 1), per_group = w.shape[0] / groups;
    Floats y{{x.shape[0], w.shape[0], places(window2d, x.shape, 0), places(window2d, x.shape, 1)}, {}};
    for (int64_t n = 0; n < y.shape[0]; ++n)
      for (int64_t o = 0; o < y.shape[1]; ++o)
        for (int64_t h = 0; h < y.shape[2]; ++h)
          for (int64_t v = 0; v < y.shape[3]; ++v) {
            double sum = 0;
            over_taps(window2d, x.shape, h, v, [&](int64_t i, int64_t j, int64_t from_h, int64_t from_v) {
              for (int64_t c = 0; c < w.shape[1]; ++c)
                sum += x.at({n, o / per_group * w.shape[1] + c, from_h, from_v}) * w.at({o, c, i, j});
            });
            if (node.has_input(2)) sum += in(node, 2).values[static_cast<size_t>(o)];
            y.values.push_back(rounded(sum));
          }
    return y;
  }

  Floats conv_transposed(const Node& node) {
    Floats &x = in(node, 0), &w = in(node, 1);
    const auto stride = list(node, "strides", {1, 1}), pads = list(node, "pads", {0, 0, 0, 0});
    const auto more = list(node, "output_padding", {0, 0});
    const int64_t groups = node.integer("group", 1), inputs = w.shape[0] / groups;
    Floats y{{x.shape[0], w.shape[1] * groups, 0, 0}, {}};
    for (size_t d = 0; d < 2; ++d)
      y.shape[d + 2] = (x.shape[d + 2] - 1) * stride[d] + w.shape[d + 2] - pads[d] - pads[d + 2] + more[d];
    y.values.assign(static_cast<size_t>(element_count(y.shape)), 0);
    for (int64_t n = 0; n < x.shape[0]; ++n)
      for (int64_t c = 0; c < x.shape[1]; ++c)
        for (int64_t h = 0; h < x.shape[2]; ++h)
          for (int64_t v = 0; v < x.shape[3]; ++v)
            for (int64_t o = 0; o < w.shape[1]; ++o)
              for (int64_t i = 0; i < w.shape[2]; ++i)
                for (int64_t j = 0; j < w.shape[3]; ++j) {
                  const int64_t to_h = h * stride[0] - pads[0] + i, to_v = v * stride[1] - pads[1] + j;
                  if (to_h < 0 || to_v < 0 || to_h >= y.shape[2] || to_v >= y.shape[3]) continue;
                  y.at({n, c / inputs * w.shape[1] + o, to_h, to_v}) += x.at({n, c, h, v}) * w.at({c, o, i, j});
                }
    if (node.has_input(2)) {
      const int64_t pixels = y.shape[2] * y.shape[3];
      for (size_t i = 0; i < y.values.size(); ++i)
        y.values[i] += in(node, 2).values[static_cast<size_t>(static_cast<int64_t>(i) / pixels % y.shape[1])];
    }
    return each(std::move(y), [](double value) { return value; });
  }

  Floats pool(const Node& node, bool is_max) {
    Floats& x = in(node, 0);
    const Window2d w = window(node, node.integers("kernel_shape"));
    Floats y{{x.shape[0], x.shape[1], places(w, x.shape, 0), places(w, x.shape, 1)}, {}};
    for (int64_t n = 0; n < y.shape[0]; ++n)
      for (int64_t c = 0; c < y.shape[1]; ++c)
        for (int64_t h = 0; h < y.shape[2]; ++h)
          for (int64_t v = 0; v < y.shape[3]; ++v) {
            double greatest = -INFINITY, sum = 0;
            int64_t count = 0;
            over_taps(w, x.shape, h, v, [&](int64_t, int64_t, int64_t from_h, int64_t from_v) {
              greatest = std::max(greatest, x.at({n, c, from_h, from_v}));
              sum += x.at({n, c, from_h, from_v});
              ++count;
            });
            if (node.integer("count_include_pad", 0)) count = w.kernel[0] * w.kernel[1];
            y.values.push_back(rounded(is_max ? greatest : sum / static_cast<double>(count)));
          }
    return y;
  }

  Floats matmul(const Node& node) {
    Floats &a = in(node, 0), &b = in(node, 1);
    const bool is_turned = node.integer("transB", 0) != 0;
    const int64_t k = a.shape.back(), n = is_turned ? b.shape[0] : b.shape.back();
    const int64_t b_rows = element_count(b.shape) / std::max<int64_t>(k * n, 1);
    Floats y{a.shape, {}};
    y.shape.back() = n;
    const int64_t m = a.shape[a.shape.size() - 2];
    for (int64_t row = 0; row < element_count(a.shape) / k; ++row)
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0;
        const int64_t batch = b_rows == 1 ? 0 : row / m;
        for (int64_t i = 0; i < k; ++i)
          sum += a.values[static_cast<size_t>(row * k + i)] *
                 b.values[static_cast<size_t>(batch * k * n + (is_turned ? column * k + i : i * n + column))];
        sum *= node.real("alpha", 1);
        if (node.has_input(2)) {
          const auto& bias = in(node, 2).values;
          sum += node.real("beta", 1) * bias[bias.size() == 1 ? 0 : static_cast<size_t>(column)];
        }
        y.values.push_back(rounded(sum));
      }
    return y;
  }

  Floats binary(const Node& node, auto function) {
    Floats &a = in(node, 0), &b = in(node, 1);
    Floats y;
    const size_t rank = std::max(a.shape.size(), b.shape.size());
    const auto side = [&](const Floats& x, size_t d) {
      return d + x.shape.size() < rank ? 1 : x.shape[d + x.shape.size() - rank];
    };
    for (size_t d = 0; d < rank; ++d) y.shape.push_back(std::max(side(a, d), side(b, d)));
    const auto value = [&](Floats& x, const Shape& index) {
      Shape own;
      for (size_t d = rank - x.shape.size(); d < rank; ++d) own.push_back(side(x, d) == 1 ? 0 : index[d]);
      return x.at(own);
    };
    Shape index(rank, 0);
    for (int64_t i = 0; i < element_count(y.shape); ++i) {
      y.values.push_back(rounded(function(value(a, index), value(b, index))));
      for (size_t d = rank; d-- > 0 && ++index[d] == y.shape[d];) index[d] = 0;
    }
    return y;
  }

  Floats concat(const Node& node) {
    Floats y = in(node, 0);
    const int64_t said = node.integer("axis", 0), axis = said < 0 ? said + std::ssize(y.shape) : said;
    const auto row = [&](const Floats& x) { return element_count({x.shape.begin() + axis, x.shape.end()}); };
    const int64_t rows = element_count({y.shape.begin(), y.shape.begin() + axis});
    y.values.clear();
    y.shape[static_cast<size_t>(axis)] = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      y.shape[static_cast<size_t>(axis)] += in(node, i).shape[static_cast<size_t>(axis)];
    for (int64_t r = 0; r < rows; ++r) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const Floats& x = in(node, i);
        const auto from = x.values.begin() + r * row(x);
        y.values.insert(y.values.end(), from, from + row(x));
      }
    }
    return y;
  }

  // Each element of a shape, by its index.
  static Floats made(const Shape& shape, auto value) {
    Floats y{shape, {}};
    Shape index(shape.size(), 0);
    for (int64_t i = 0; i < element_count(shape); ++i) {
      y.values.push_back(value(index));
      for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) index[d] = 0;
    }
    return y;
  }
  static size_t axis_at(int64_t said, const Floats& x) {
    return static_cast<size_t>(said < 0 ? said + std::ssize(x.shape) : said);
  }
  std::vector<int64_t> numbers(const Node& node, size_t i) {
    std::vector<int64_t> list;
    if (!node.has_input(i)) return list;
    for (const double value : in(node, i).values) list.push_back(static_cast<int64_t>(value));
    return list;
  }

  // With the axis of opset 13.
  Floats softmax(const Node& node) {
    Floats& x = in(node, 0);
    const size_t axis = axis_at(node.integer("axis", -1), x);
    return made(x.shape, [&](Shape index) {
      const double own = x.at(index);
      double sum = 0;
      for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis]) sum += std::exp(x.at(index) - own);
      return double{rounded(1 / sum)};
    });
  }

  Floats batch_norm(const Node& node) {
    Floats x = in(node, 0);
    for (size_t i = 0; i < x.values.size(); ++i) {
      const double spread = std::sqrt(parameter(node, 4, x, i) + node.real("epsilon", 1e-5f));
      x.values[i] =
          (x.values[i] - parameter(node, 3, x, i)) / spread * parameter(node, 1, x, i) + parameter(node, 2, x, i);
    }
    return x;
  }

  Floats layer_norm(const Node& node) {
    Floats &x = in(node, 0), &weight = in(node, 1);
    const size_t axis = axis_at(node.integer("axis", -1), x);
    const auto row = static_cast<size_t>(element_count({x.shape.begin() + static_cast<int64_t>(axis), x.shape.end()}));
    Floats y = x;
    for (size_t first = 0; first < x.values.size(); first += row) {
      double mean = 0, variance = 0;
      for (size_t i = first; i < first + row; ++i) mean += x.values[i] / static_cast<double>(row);
      for (size_t i = first; i < first + row; ++i)
        variance += std::pow(x.values[i] - mean, 2) / static_cast<double>(row);
      for (size_t i = first; i < first + row; ++i) {
        const double bias = node.has_input(2) ? in(node, 2).values[i - first] : 0;
        y.values[i] = rounded(
            (x.values[i] - mean) / std::sqrt(variance + node.real("epsilon", 1e-5f)) * weight.values[i - first] + bias);
      }
    }
    return y;
  }

  // As opset 10 has it: places as inputs.
  Floats slice(const Node& node) {
    Floats& x = in(node, 0);
    std::vector<std::vector<int64_t>> taken;
    for (const int64_t side : x.shape) {
      taken.emplace_back(static_cast<size_t>(side));
      std::iota(taken.back().begin(), taken.back().end(), 0);
    }
    const auto starts = numbers(node, 1), ends = numbers(node, 2), axes = numbers(node, 3), steps = numbers(node, 4);
    for (size_t i = 0; i < starts.size(); ++i) {
      const size_t d = axes.empty() ? i : axis_at(axes[i], x);
      const int64_t side = x.shape[d], step = steps.empty() ? 1 : steps[i];
      const auto place = [&](int64_t said) { return said < 0 ? said + side : said; };
      taken[d].clear();
      if (step > 0) {
        for (int64_t p = place(starts[i]); p < std::min(place(ends[i]), side); p += step) taken[d].push_back(p);
      } else {
        for (int64_t p = std::min(place(starts[i]), side - 1); p > std::max<int64_t>(place(ends[i]), -1); p += step)
          taken[d].push_back(p);
      }
    }
    Shape shape;
    for (const auto& places : taken) shape.push_back(std::ssize(places));
    return made(shape, [&](Shape index) {
      for (size_t d = 0; d < index.size(); ++d) index[d] = taken[d][static_cast<size_t>(index[d])];
      return x.at(index);
    });
  }

  Floats pad(const Node& node) {
    Floats& x = in(node, 0);
    const auto pads = numbers(node, 1);
    const std::string_view mode = node.word("mode", "constant");
    Shape shape = x.shape;
    for (size_t d = 0; d < shape.size(); ++d) shape[d] += pads[d] + pads[d + shape.size()];
    return made(shape, [&](Shape index) {
      for (size_t d = 0; d < index.size(); ++d) {
        const int64_t last = x.shape[d] - 1, place = index[d] - pads[d];
        if (mode == "constant" && (place < 0 || place > last)) return node.has_input(2) ? in(node, 2).values[0] : 0;
        const int64_t mirrored = place < 0 ? -place : place > last ? 2 * last - place : place;
        index[d] = mode == "edge" ? std::clamp<int64_t>(place, 0, last) : mirrored;
      }
      return x.at(index);
    });
  }

  // Of images, with sizes or scales; opset 11.
  Floats resize(const Node& node) {
    Floats& x = in(node, 0);
    const std::string_view places = node.word("coordinate_transformation_mode", "half_pixel");
    const std::string_view nearest = node.word("nearest_mode", "round_prefer_floor");
    Shape shape = x.shape;
    for (size_t d = 2; d < 4; ++d)
      shape[d] = node.has_input(3) ? numbers(node, 3)[d]
                                   : static_cast<int64_t>(static_cast<double>(x.shape[d]) * in(node, 2).values[d]);
    const auto place = [&](int64_t at, size_t d) {
      const auto n = static_cast<double>(x.shape[d]), m = static_cast<double>(shape[d]), o = static_cast<double>(at);
      if (places == "align_corners") return m == 1 ? 0 : o * (n - 1) / (m - 1);
      return places == "asymmetric" ? o * n / m : (o + 0.5) * n / m - 0.5;
    };
    const auto inside = [&](double at, size_t d) {
      return std::clamp<int64_t>(static_cast<int64_t>(at), 0, x.shape[d] - 1);
    };
    return made(shape, [&](Shape index) {
      const double p[2] = {place(index[2], 2), place(index[3], 3)};
      if (node.word("mode", "nearest") == "nearest") {
        for (size_t d = 2; d < 4; ++d) {
          const double v = p[d - 2];
          index[d] = inside(nearest == "floor"               ? std::floor(v)
                            : nearest == "ceil"              ? std::ceil(v)
                            : nearest == "round_prefer_ceil" ? std::floor(v + 0.5)
                                                             : std::ceil(v - 0.5),
                            d);
        }
        return x.at(index);
      }
      double sum = 0;
      for (int corner = 0; corner < 4; ++corner) {
        double share = 1;
        for (size_t d = 2; d < 4; ++d) {
          const bool is_next = (corner >> (d - 2)) % 2 == 1;
          const double low = std::floor(p[d - 2]), rest = p[d - 2] - low;
          share *= is_next ? rest : 1 - rest;
          index[d] = inside(is_next ? low + 1 : low, d);
        }
        sum += share * x.at(index);
      }
      return double{rounded(sum)};
    });
  }

  Floats result(const Node& node) {
    const std::string& op = node.op;
    if (op == "QuantizeLinear") {
      types_[node.outputs[0]] = node.has_input(2) ? types_[node.inputs[2]] : ElementType::u8;
      return quantize(node);
    }
    if (op == "DequantizeLinear") return dequantize(node);
    if (op == "Concat") return concat(node);
    if (op == "Softmax") return softmax(node);
    if (op == "LayerNormalization") return layer_norm(node);
    if (op == "BatchNormalization") return batch_norm(node);
    if (op == "Slice") return slice(node);
    if (op == "Pad") return pad(node);
    if (op == "Resize") return resize(node);
    if (op == "Expand") {
      Floats& x = in(node, 0);
      return made(numbers(node, 1), [&](Shape index) {
        index.erase(index.begin(), index.end() - std::ssize(x.shape));
        for (size_t d = 0; d < index.size(); ++d) index[d] = std::min(index[d], x.shape[d] - 1);
        return x.at(index);
      });
    }
    if (op == "Shape") return {{std::ssize(in(node, 0).shape)}, {in(node, 0).shape.begin(), in(node, 0).shape.end()}};
    if (op == "Gather") return {{}, {in(node, 0).values[static_cast<size_t>(in(node, 1).values[0])]}};  // one number
    if (op == "Conv") return conv(node);
    if (op == "ConvTranspose") return conv_transposed(node);
    if (op == "MaxPool") return pool(node, true);
    if (op == "AveragePool") return pool(node, false);
    if (op == "GlobalAveragePool") {
      Floats& x = in(node, 0);
      Node all = node;
      all.attributes["kernel_shape"] = std::vector<int64_t>{x.shape[2], x.shape[3]};
      return pool(all, false);
    }
    if (op == "MatMul" || op == "Gemm") return matmul(node);
    if (op == "Add") return binary(node, [](double a, double b) { return a + b; });
    if (op == "Sub") return binary(node, [](double a, double b) { return a - b; });
    if (op == "Div") return binary(node, [](double a, double b) { return a / b; });
    if (op == "Mul") return binary(node, [](double a, double b) { return a * b; });
    if (op == "Relu") return each(in(node, 0), [](double x) { return std::max(x, 0.0); });
    if (op == "Clip") {
      const double low = node.has_input(1) ? in(node, 1).values[0] : -INFINITY;
      const double high = node.has_input(2) ? in(node, 2).values[0] : INFINITY;
      return each(in(node, 0), [=](double x) { return std::min(std::max(x, low), high); });
    }
    if (op == "Exp") return each(in(node, 0), [](double x) { return std::exp(x); });
    if (op == "Sigmoid") return each(in(node, 0), [](double x) { return 1 / (1 + std::exp(-x)); });
    if (op == "HardSwish") return each(in(node, 0), [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
    if (op == "LeakyRelu")
      return each(in(node, 0), [&](double x) { return x > 0 ? x : node.real("alpha", 0.01f) * x; });
    Floats x = in(node, 0);
    if (op == "Unsqueeze") x.shape = {1};  // of a number
    else if (op == "Flatten") x.shape = {x.shape[0], element_count(x.shape) / x.shape[0]};
    else if (op == "Reshape") {
      std::vector<int64_t> target;
      for (const double side : in(node, 1).values) target.push_back(static_cast<int64_t>(side));
      int64_t known = 1;
      for (size_t d = 0; d < target.size(); ++d) {
        if (target[d] == 0) target[d] = x.shape[d];
        if (target[d] > 0) known *= target[d];
      }
      for (int64_t& side : target) side = side < 0 ? element_count(x.shape) / known : side;
      x.shape = target;
    } else if (op == "Transpose") {
      const Floats from = x;
      const auto order = node.integers("perm");
      Shape index(order.size(), 0);
      for (size_t d = 0; d < order.size(); ++d) x.shape[d] = from.shape[static_cast<size_t>(order[d])];
      for (double& value : x.values) {
        Shape source(order.size());
        for (size_t d = 0; d < order.size(); ++d) source[static_cast<size_t>(order[d])] = index[d];
        value = Floats(from).at(source);
        for (size_t d = order.size(); d-- > 0 && ++index[d] == x.shape[d];) index[d] = 0;
      }
    } else {
      std::abort();  // an operator that no test needed before
    }
    return x;
  }

  const Model& model_;
  std::map<std::string, Floats> known_;
  std::map<std::string, ElementType> types_;
};

}  // namespace qgen::onnx::testing
