// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Attention, rotary embeddings and caches that a model writes as several nodes: which nodes become one, and that its
// results are those of the nodes. Whole models are in generator_test.cpp.
#include "runtime/models/onnx/join_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/models/onnx/inline_branches.h"
#include "tests/runtime/models/onnx/compared.h"
#include "tests/support/document.h"

namespace qgen::onnx::testing::attention_forms {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using List = std::vector<int64_t>;

constexpr int64_t kBatches = 2, kHeads = 4, kRows = 3, kKeys = 5, kSize = 8;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Queries, keys and values with their heads first, and the nodes between them.
class Form {
 public:
  ModelBuilder m;
  std::string q, k, v;

  explicit Form(int64_t opset = 13, int64_t key_heads = kHeads) : m(opset) {
    q = m.input("q", {kBatches, kHeads, kRows, kSize});
    k = m.input("k", {kBatches, key_heads, kKeys, kSize});
    v = m.input("v", {kBatches, key_heads, kKeys, 6});
  }
  std::string turned(const std::string& x) { return m.node("Transpose", {x}, {{"perm", List{0, 1, 3, 2}}}); }
  std::string scores() { return m.node("MatMul", {q, turned(k)}); }
  std::string scaled(const std::string& x) { return m.node("Div", {x, m.scalar(2.5f)}); }
  std::string softmax(const std::string& x, int64_t axis = -1) { return m.node("Softmax", {x}, {{"axis", axis}}); }
  std::string booleans(const Shape& shape) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < element_count(shape); ++i) values.push_back(i % 5 == 0 || i % 3 == 1 ? 1 : 0);
    return m.integers(ElementType::boolean, shape, values);
  }
  // Keys and values of two heads, each twice, where `axis` says which heads are neighbours: 2, or 1.
  void repeat_heads(int64_t axis) {
    const auto repeated = [&](const std::string& x, int64_t width) {
      const std::string wide =
          m.node("Expand", {m.node("Unsqueeze", {x, m.list({axis})}), m.list({kBatches, 2, 2, kKeys, width})});
      return m.node("Reshape", {wide, m.list({kBatches, kHeads, kKeys, width})});
    };
    k = repeated(k, kSize);
    v = repeated(v, 6);
  }
  void end(const std::string& weights) { m.output(m.node("MatMul", {weights, v})); }
};

Tensors random_inputs(const graph::Graph& graph) {
  Random random(5);
  Tensors inputs;
  for (const ValueId id : graph.inputs) {
    const graph::Value& input = graph.values[id];
    inputs.emplace(input.name, random.reals(input.dtype, input.shape, -2, 2));
  }
  return inputs;
}

std::string told(const Imported& imported) {
  std::string text;
  for (const std::string& note : texts_of(imported.notes)) text += note + "\n";
  return text;
}

// The operators, and the reason if the nodes stay. The results are those without fusion.
std::string becomes(const ModelBuilder& builder, double tolerance = 1e-5) {
  const auto fused = builder.import(), unfused = import_model(builder.model, {.fuses = false});
  EXPECT_TRUE(fused && unfused) << (fused ? "" : to_text(fused.error()));
  if (!fused || !unfused) return "";
  EXPECT_THAT(operators_of(unfused->graph), HasSubstr("softmax"));
  const Tensors inputs = random_inputs(unfused->graph);
  const auto outputs = judged(fused->graph, inputs), wanted = judged(unfused->graph, inputs);
  EXPECT_TRUE(outputs && wanted) << (outputs ? "" : to_text(outputs.error()));
  if (!outputs || !wanted) return "";
  for (const auto& [name, want] : *wanted) {
    const HostTensor& output = outputs->at(name);
    EXPECT_EQ(output.shape, want.shape) << name;
    for (int64_t i = 0; i < element_count(want.shape); ++i)
      EXPECT_NEAR(element(output, i), element(want, i), tolerance) << name << " " << i;
  }
  const std::string text = told(*fused);
  const size_t reason = text.find("its attention stays several nodes");
  return operators_of(fused->graph) +
         (reason == text.npos ? "" : "; " + text.substr(reason, text.find('\n', reason) - reason));
}
std::string becomes(const std::function<void(Form&)>& build, int64_t opset = 13, int64_t key_heads = kHeads) {
  Form form(opset, key_heads);
  build(form);
  return becomes(form.m);
}

TEST(JoinAttention, ScalesOnAnySide) {
  EXPECT_EQ(becomes([](Form& f) { f.end(f.softmax(f.scores())); }), "attention");
  EXPECT_EQ(becomes([](Form& f) { f.end(f.softmax(f.scaled(f.scores()))); }), "attention");
  EXPECT_EQ(becomes([](Form& f) { f.end(f.softmax(f.m.node("Mul", {f.m.scalar(0.3f), f.scores()}))); }), "attention");
  EXPECT_EQ(becomes([](Form& f) {
              f.q = f.scaled(f.q);
              f.end(f.softmax(f.scores()));
            }),
            "attention");
  // scaled_dot_product_attention has the root of the scale on both sides, of the turned keys too.
  EXPECT_EQ(becomes([](Form& f) {
              const std::string root = f.m.reals({1}, {0.6f});
              const std::string keys = f.m.node("Mul", {f.turned(f.k), root});
              f.end(f.softmax(f.m.node("MatMul", {f.m.node("Mul", {f.q, root}), keys})));
            }),
            "attention");
  // One that is computed of the queries' shape.
  EXPECT_EQ(
      becomes([](Form& f) {
        const std::string side = f.m.node("Slice", {f.m.node("Shape", {f.q}), f.m.list({-1}), f.m.list({INT64_MAX})});
        const std::string root = f.m.node("Sqrt", {f.m.node("Cast", {side}, {{"to", int64_t{1}}})});
        f.end(f.softmax(f.m.node("Div", {f.scores(), root})));
      }),
      "attention");
}

// What is added before a scale is scaled too.
TEST(JoinAttention, ScalesAfterTheMask) {
  EXPECT_EQ(becomes([](Form& f) {
              f.end(f.softmax(f.scaled(f.m.node("Add", {f.scores(), f.m.input("mask", {kRows, kKeys})}))));
            }),
            "fused_mul attention");
  EXPECT_EQ(becomes([](Form& f) {
              const std::string fill = f.m.scalar(-3e4f), seen = f.booleans({kRows, kKeys});
              const std::string masked = f.m.node("Where", {seen, f.scores(), fill});
              f.end(f.softmax(f.scaled(f.m.node("Add", {f.m.input("bias", {kHeads, 1, kKeys}), f.scaled(masked)}))));
            }),
            "fused_mul fused_add attention");
}

// One number of each head and batch, where these are one dimension.
TEST(JoinAttention, FlatMasks) {
  EXPECT_EQ(becomes([](Form& f) {
              const std::string q = f.m.node("Reshape", {f.q, f.m.list({-1, kRows, kSize})});
              const std::string k = f.m.node("Reshape", {f.k, f.m.list({-1, kKeys, kSize})});
              const std::string turned = f.m.node("Transpose", {k}, {{"perm", List{0, 2, 1}}});
              const std::string mask = f.m.input("mask", {kBatches * kHeads, 1, kKeys});
              const std::string sum = f.m.node("Add", {mask, f.m.node("MatMul", {q, turned})});
              f.end(f.softmax(f.m.node("Reshape", {sum, f.m.list({kBatches, kHeads, kRows, kKeys})})));
            }),
            "reshape reshape attention");
}

// cap * tanh(score / cap), before the mask.
TEST(JoinAttention, SoftCaps) {
  const auto capped = [](float before, float after) {
    return [=](Form& f) {
      const std::string scores = f.m.node("Div", {f.scaled(f.scores()), f.m.scalar(before)});
      const std::string sum = f.m.node("Mul", {f.m.node("Tanh", {scores}), f.m.scalar(after)});
      f.end(f.softmax(f.m.node("Add", {sum, f.m.input("mask", {kRows, kKeys})})));
    };
  };
  EXPECT_EQ(becomes(capped(3, 3)), "attention");
  EXPECT_EQ(becomes(capped(3, 2)), "attention");
  EXPECT_THAT(becomes(capped(3, -2)), Not(HasSubstr("attention")));
  EXPECT_THAT(becomes([](Form& f) {
                const std::string sum = f.m.node("Add", {f.scores(), f.m.input("mask", {kRows, kKeys})});
                f.end(f.softmax(f.m.node("Tanh", {sum})));
              }),
              Not(HasSubstr("attention")));
}

TEST(JoinAttention, Masks) {
  for (const Shape& shape : {Shape{kRows, kKeys}, Shape{kBatches, 1, 1, kKeys}, Shape{1, kHeads, kRows, kKeys},
                             Shape{kKeys}, Shape{kBatches, 1, kRows, 1}}) {
    SCOPED_TRACE(to_text(shape));
    EXPECT_EQ(becomes([&](Form& f) {
                f.end(f.softmax(f.m.node("Add", {f.scaled(f.scores()), f.m.input("mask", shape)})));
              }),
              "attention");
    EXPECT_EQ(becomes([&](Form& f) {
                f.end(f.softmax(f.m.node("Add", {f.m.random_reals(shape, -3, 3), f.scores()})));
              }),
              "attention");
  }
  const auto where = [](bool keeps_true, float fill) {
    return [=](Form& f) {
      const std::string mask = f.booleans({1, 1, kRows, kKeys}), scores = f.scaled(f.scores()),
                        other = f.m.scalar(fill);
      f.end(f.softmax(f.m.node("Where", {mask, keeps_true ? scores : other, keeps_true ? other : scores})));
    };
  };
  EXPECT_EQ(becomes(where(true, -kInfinity)), "attention");
  EXPECT_EQ(becomes(where(false, -1e9f)), "attention");
  EXPECT_EQ(becomes(where(true, std::numeric_limits<float>::lowest())), "attention");
  EXPECT_THAT(becomes(where(true, -5)), Not(HasSubstr("attention")));  // such scores have a weight
  // Two masks become their sum.
  EXPECT_EQ(
      becomes([](Form& f) {
        const std::string scores = f.m.node("Where", {f.booleans({kRows, kKeys}), f.scores(), f.m.scalar(-1e30f)});
        f.end(f.softmax(f.m.node("Add", {scores, f.m.input("mask", {kBatches, 1, 1, kKeys})})));
      }),
      "fused_add attention");
}

// Attention broadcasts a mask, so nothing repeats it.
TEST(JoinAttention, RepeatedMasks) {
  const auto repeated = [](const Shape& from, const std::string& op) {
    return [=](Form& f) {
      const std::string mask = f.m.input("mask", from), other = f.m.input("other", {kBatches, 1, 1, kKeys});
      const std::string wide = f.m.node("Expand", {mask, f.m.list({kBatches, 1, kRows, kKeys})});
      f.end(f.softmax(f.m.node("Add", {f.scores(), f.m.node(op, {f.m.node("Neg", {wide}), other})})));
    };
  };
  for (const Shape& from : {Shape{kBatches, 1, 1, kKeys}, Shape{kRows, 1}, Shape{kKeys}, Shape{}}) {
    SCOPED_TRACE(to_text(from));
    EXPECT_THAT(becomes(repeated(from, "Add")), AllOf(HasSubstr("attention"), Not(HasSubstr("expand"))));
    EXPECT_THAT(becomes(repeated(from, "Max")), HasSubstr("attention"));
  }
}

TEST(JoinAttention, CausalMasksAreNoOperand) {
  const auto causal = [](int64_t diagonal) {
    return [=](Form& f) {
      std::vector<float> values;
      for (int64_t i = 0; i < kRows * kKeys; ++i)
        values.push_back(i % kKeys > i / kKeys + diagonal ? -std::numeric_limits<float>::max() : 0.0f);
      f.end(f.softmax(f.m.node("Add", {f.scores(), f.m.reals({1, 1, kRows, kKeys}, values)})));
    };
  };
  // Without a past, ONNX's Attention counts from the first key on. So a mask that counts from the last one stays.
  Form form;
  causal(kKeys - kRows)(form);
  const auto imported = form.m.import();
  ASSERT_TRUE(imported) << to_text(imported.error());
  ASSERT_EQ(operators_of(imported->graph), "attention");
  EXPECT_EQ(imported->graph.nodes[0].inputs.size(), 4u);
  EXPECT_EQ(becomes(causal(kKeys - kRows)), "attention");
  EXPECT_EQ(becomes(causal(0)), "attention");
  EXPECT_EQ(becomes(causal(kKeys)), "attention");  // none of the scores is masked

  // The same after a past.
  Form joined;
  joined.k = joined.m.node("Concat",
                           {joined.m.input("past_k", {kBatches, kHeads, kKeys - kRows, kSize}),
                            joined.m.input("new_k", {kBatches, kHeads, kRows, kSize})},
                           {{"axis", int64_t{2}}});
  joined.v = joined.m.node("Concat",
                           {joined.m.input("past_v", {kBatches, kHeads, kKeys - kRows, 6}),
                            joined.m.input("new_v", {kBatches, kHeads, kRows, 6})},
                           {{"axis", int64_t{-2}}});
  causal(kKeys - kRows)(joined);
  EXPECT_EQ(becomes(joined.m), "concat concat attention");
  const auto with_past = joined.m.import();
  ASSERT_TRUE(with_past);
  const graph::Node& node = with_past->graph.nodes.back();
  EXPECT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(std::get<std::string>(node.attributes.at("causal")), "to_last");
}

// Of any number of tokens, without a cache: what `change` makes of the product of queries and keys, with the positions of
// keys and of rows.
Expected<Imported> prompt_with(
    const std::function<std::string(ModelBuilder&, const std::string& scores, const std::string& keys,
                                    const std::string& rows)>& change) {
  constexpr int64_t kAny = -1;
  ModelBuilder m;
  const std::string tokens = m.input("input_ids", {1, kAny}, ElementType::i64);
  const std::string q = m.input("q", {1, kHeads, kAny, kSize}), k = m.input("k", {1, kHeads, kAny, kSize});
  const std::string v = m.input("v", {1, kHeads, kAny, kSize});
  const std::string one = m.integers(ElementType::i64, {}, {1}), zero = m.integers(ElementType::i64, {}, {0});
  const std::string count = m.node("Gather", {m.node("Shape", {tokens}), one});
  const std::string keys = m.node("Range", {zero, count, one}), rows = m.node("Unsqueeze", {keys, m.list({1})});
  const std::string scores = m.node("MatMul", {q, m.node("Transpose", {k}, {{"perm", List{0, 1, 3, 2}}})});
  const std::string weights = m.node("Softmax", {change(m, scores, keys, rows)}, {{"axis", int64_t{-1}}});
  m.output(m.node("MatMul", {weights, v}));
  return m.import();
}
// Whether it is attention that sees all keys up to its row, or all.
bool is_plain(const Expected<Imported>& imported) {
  if (!imported) return false;
  const auto node = std::ranges::find(imported->graph.nodes, "attention", &graph::Node::op);
  if (node == imported->graph.nodes.end() || graph::value_of(node->inputs, "mask")) return false;
  const auto window = node->attributes.find("window");
  return window == node->attributes.end() || std::get<int64_t>(window->second) == 0;
}

// A mask or a factor that differs in long prompts only must not be lost.
TEST(JoinAttention, WhatOnlyLongPromptsShow) {
  const auto kept = [](ModelBuilder& m, const std::string& scores, const std::string& seen) {
    return m.node("Where", {seen, scores, m.scalar(-1e9f)});
  };
  const auto number = [](ModelBuilder& m, int64_t value) { return m.integers(ElementType::i64, {}, {value}); };
  EXPECT_TRUE(is_plain(prompt_with([&](auto& m, auto& scores, auto& keys, auto& rows) {
    return kept(m, scores, m.node("LessOrEqual", {keys, rows}));
  })));
  EXPECT_FALSE(is_plain(prompt_with([&](auto& m, auto& scores, auto& keys, auto& rows) {  // a window
    const std::string near = m.node("Greater", {keys, m.node("Sub", {rows, number(m, 200)})});
    return kept(m, scores, m.node("And", {near, m.node("LessOrEqual", {keys, rows})}));
  })));
  EXPECT_FALSE(is_plain(prompt_with([&](auto& m, auto& scores, auto& keys, auto& rows) {  // neighbours of an encoder
    const std::string distance = m.node("Abs", {m.node("Sub", {keys, rows})});
    return kept(m, scores, m.node("LessOrEqual", {distance, number(m, 64)}));
  })));
  EXPECT_FALSE(is_plain(prompt_with([&](auto& m, auto& scores, auto&, auto&) {  // log(n) / log(64), and at least 1
    const std::string count = m.node("Gather", {m.node("Shape", {"input_ids"}), number(m, 1)});
    const std::string log = m.node("Log", {m.node("Cast", {count}, {{"to", int64_t{1}}})});
    return m.node("Mul", {scores, m.node("Max", {m.node("Div", {log, m.scalar(4.1588831f)}), m.scalar(1)})});
  })));
}

// Their inputs would have more bytes than there are, or other ranks in each size.
TEST(JoinAttention, HostileSides) {
  for (const Shape& sides : {Shape{int64_t{1} << 31, int64_t{1} << 30}, Shape{1, int64_t{1} << 36},
                             Shape{int64_t{1} << 62, int64_t{1} << 62}, Shape{0, 0}}) {
    SCOPED_TRACE(to_text(sides));
    Form f;
    f.m.input("attention_mask", sides, ElementType::i64);
    f.m.input("position_ids", sides, ElementType::i64);
    f.end(f.softmax(f.scores()));
    const auto imported = f.m.import();
    EXPECT_TRUE(imported || !imported.error().message.empty());
  }
  Form f;
  const std::string scalar = f.m.input("scalar", {});
  f.m.output(f.m.node("LayerNormalization", {scalar, f.m.reals({}, {1})}));
  const std::string many = f.m.input("many", {-1, -1, -1});
  const std::string flat = f.m.node("Reshape", {f.m.node("Squeeze", {many}), f.m.list({-1, 1})});
  const std::string product = f.m.node("Gemm", {flat, f.m.reals({1, 2}, {1, 2})});
  f.m.output(f.m.node("Reshape", {product, f.m.list({-1, 2})}));
  f.end(f.softmax(f.scores()));
  const auto imported = f.m.import();
  EXPECT_TRUE(imported || !imported.error().message.empty());
}

TEST(JoinAttention, FormsOfKeys) {
  EXPECT_EQ(becomes([](Form& f) {
              const std::string keys = f.m.input("turned", {kBatches, kHeads, kSize, kKeys});
              f.end(f.softmax(f.m.node("MatMul", {f.q, keys})));
            }),
            "permute attention");
  EXPECT_EQ(becomes([](Form& f) {
              const std::string rows = f.m.input("rows", {kBatches, kKeys, kHeads, kSize});
              const std::string keys = f.m.node("Transpose", {rows}, {{"perm", List{0, 2, 3, 1}}});
              f.end(f.softmax(f.m.node("MatMul", {f.q, keys})));
            }),
            "permute attention");
  // With two Reshapes around it, as torchlib turns keys.
  EXPECT_EQ(becomes([](Form& f) {
              const std::string flat = f.m.node("Reshape", {f.k, f.m.list({-1, kKeys, kSize})});
              const std::string turned = f.m.node("Transpose", {flat}, {{"perm", List{0, 2, 1}}});
              const std::string keys = f.m.node("Reshape", {turned, f.m.list({kBatches, kHeads, kSize, kKeys})});
              f.end(f.softmax(f.m.node("MatMul", {f.q, keys})));
            }),
            "attention");
  // Each head of the keys several times, for groups of heads.
  EXPECT_EQ(becomes(
                [](Form& f) {
                  f.repeat_heads(2);
                  f.end(f.softmax(f.scores()));
                },
                13, 2),
            "attention");
  // The other order of heads is none that attention has.
  EXPECT_THAT(becomes(
                  [](Form& f) {
                    f.repeat_heads(1);
                    f.end(f.softmax(f.scores()));
                  },
                  13, 2),
              HasSubstr("expand"));
}

// Batches and heads in one dimension, as models for bmm have them.
TEST(JoinAttention, ThreeDimensions) {
  EXPECT_EQ(becomes([](Form& f) {
              const auto flat = [&](const std::string& x, int64_t rows, int64_t width) {
                return f.m.node("Reshape", {x, f.m.list({kBatches * kHeads, rows, width})});
              };
              const std::string keys = f.m.node("Transpose", {flat(f.k, kKeys, kSize)}, {{"perm", List{0, 2, 1}}});
              std::string scores = f.m.node("MatMul", {flat(f.q, kRows, kSize), keys});
              scores = f.m.node("Reshape", {scores, f.m.list({kBatches, kHeads, kRows, kKeys})});
              scores = f.m.node("Add", {scores, f.m.input("mask", {kBatches, 1, kRows, kKeys})});
              scores = f.m.node("Reshape", {scores, f.m.list({kBatches * kHeads, kRows, kKeys})});
              const std::string sums = f.m.node("MatMul", {f.softmax(scores), flat(f.v, kKeys, 6)});
              f.m.output(f.m.node("Reshape", {sums, f.m.list({kBatches, kHeads, kRows, 6})}));
            }),
            "attention");
}

TEST(JoinAttention, RowsWithoutAKey) {
  EXPECT_EQ(becomes([](Form& f) {
              std::vector<float> values(kRows * kKeys, 0.0f);
              std::fill(values.begin(), values.begin() + kKeys, -kInfinity);
              const std::string weights = f.softmax(f.m.node("Add", {f.scores(), f.m.reals({kRows, kKeys}, values)}));
              f.end(f.m.node("Where", {f.m.node("IsNaN", {weights}), f.m.scalar(0), weights}));
            }),
            "attention");
}

TEST(JoinAttention, WhatIsNoAttention) {
  EXPECT_THAT(becomes([](Form& f) { f.end(f.softmax(f.scores(), 2)); }),
              HasSubstr("its attention stays several nodes: 'Softmax_2' is not along the keys"));
  EXPECT_THAT(becomes(
                  [](Form& f) {
                    f.end(f.m.node("Softmax", {f.scores()}));  // of all axes from the first on
                  },
                  12),
              HasSubstr("'Softmax_2' is not along the keys"));
  EXPECT_THAT(becomes([](Form& f) {
                const std::string scores = f.scores();
                f.m.output(scores);
                f.end(f.softmax(scores));
              }),
              HasSubstr("several nodes read the scores of 'MatMul_1'"));
  EXPECT_THAT(becomes([](Form& f) {
                const std::string weights = f.softmax(f.scores());
                f.m.output(weights);
                f.end(weights);
              }),
              HasSubstr("several nodes read the weights of 'Softmax_2'"));
  EXPECT_THAT(becomes([](Form& f) {
                const std::string masked = f.m.node("Add", {f.scores(), f.m.input("mask", {kRows, kKeys})});
                f.end(f.softmax(f.m.node("Mul", {masked, f.m.scalar(-0.5f)})));
              }),
              HasSubstr("'Mul_3' multiplies scores by -0.5 after their mask"));
  // A mask that makes more of the scores.
  EXPECT_THAT(becomes([](Form& f) {
                const std::string one = f.m.node("Slice", {f.q, f.m.list({0}), f.m.list({1}), f.m.list({2})});
                const std::string scores = f.m.node("MatMul", {one, f.turned(f.k)});
                f.end(f.softmax(f.m.node("Add", {scores, f.m.input("mask", {kRows, kKeys})})));
              }),
              Not(HasSubstr("attention")));
  // Rows of keys that are the same for all batches.
  EXPECT_THAT(becomes([](Form& f) {
                f.k = f.m.input("one_k", {1, kHeads, kKeys, kSize});
                f.end(f.softmax(f.scores()));
              }),
              HasSubstr("are not known to be [batch, heads, rows, size]"));
  // A layer and a Softmax after it.
  EXPECT_THAT(becomes([](Form& f) {
                f.end(f.softmax(f.m.node("MatMul", {f.q, f.m.random_reals({kSize, kKeys}, -1, 1)})));
              }),
              Not(HasSubstr("attention")));
}

TEST(JoinAttention, Halves) {
  ModelBuilder m;
  const auto input = [&](const std::string& name, const Shape& shape) {
    return m.input(name, shape, ElementType::f16);
  };
  const std::string q = input("q", {1, 2, kRows, 16}), k = input("k", {1, 2, kKeys, 16});
  const std::string turned = m.node("Transpose", {k}, {{"perm", List{0, 1, 3, 2}}});
  const std::string scores = m.node("Cast", {m.node("MatMul", {q, turned})}, {{"to", int64_t{1}}});
  const std::string weights = m.node("Softmax", {m.node("Mul", {scores, m.scalar(0.25f)})});
  m.output(m.node("MatMul", {m.node("Cast", {weights}, {{"to", int64_t{10}}}), input("v", {1, 2, kKeys, 16})}));
  EXPECT_EQ(becomes(m, 4e-3), "attention");
}

// ---- caches as states -----------------------------------------------------------------------------------------------

Expected<Model> language_model(const std::string& name) {
  return load_model(qgen::tests::source_folder() + "/tests/runtime/models/graph/language_models/" + name + ".onnx");
}
Node& node_with(Model& model, std::string_view op) { return *std::ranges::find(model.graph.nodes, op, &Node::op); }
// The result of a new node.
std::string add(Model& model, const std::string& op, std::vector<std::string> inputs,
                std::map<std::string, AttributeData, std::less<>> attributes = {}) {
  const std::string name = "added " + std::to_string(model.graph.nodes.size());
  model.graph.nodes.push_back(
      {.name = name, .op = op, .inputs = std::move(inputs), .outputs = {name}, .attributes = std::move(attributes)});
  return name;
}
std::string add_integers(Model& model, const Shape& shape, const std::vector<int64_t>& values) {
  const std::string name = "added " + std::to_string(model.graph.initializers.size()) + " integers";
  model.graph.initializers.emplace(
      name, std::make_shared<const Tensor>(tensor_of<int64_t>(ElementType::i64, shape, values, name)));
  return name;
}
std::string refusal_of(const Model& model) {
  const auto imported = import_model(model, {.finds_states = true});
  return imported ? "imported" : imported.error().message;
}

TEST(JoinCaches, AWindow) {
  auto model = language_model("sdpa");
  ASSERT_TRUE(model) << to_text(model.error());
  // Keys that are less than 12 positions before the row.
  Node& seen = node_with(*model, "LessOrEqual");
  const std::string all = seen.outputs[0], keys = seen.inputs[0], rows = seen.inputs[1];
  seen.outputs[0] = "up to the row";
  const std::string near = add(*model, "Greater", {keys, add(*model, "Sub", {rows, add_integers(*model, {}, {12})})});
  model->graph.nodes.push_back({.name = "both", .op = "And", .inputs = {"up to the row", near}, .outputs = {all}});
  const auto imported = import_model(*model, {.finds_states = true});
  ASSERT_TRUE(imported) << to_text(imported.error());
  size_t count = 0;
  for (const graph::Node& node : imported->graph.nodes) {
    if (node.op != "attention") continue;
    ++count;
    EXPECT_EQ(std::get<int64_t>(node.attributes.at("window")), 12);
    EXPECT_EQ(std::get<std::string>(node.attributes.at("causal")), "to_last");
    EXPECT_FALSE(graph::value_of(node.inputs, "mask"));
  }
  EXPECT_EQ(count, 2u);
}

// The same with reals. A low number is a limit in comparisons, and what scores become elsewhere.
TEST(JoinCaches, AWindowOfReals) {
  const auto real = [](Model& model, float value) {
    const std::string name = "added real " + std::to_string(model.graph.initializers.size());
    model.graph.initializers.emplace(
        name, std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, {}, std::vector<float>{value}, name)));
    return name;
  };
  // Keys and their rows, as reals: what is seen besides.
  using Seen = std::function<std::string(Model&, const std::string& keys, const std::string& rows)>;
  const auto windows_with = [&](const Seen& seen_besides) {
    auto model = language_model("sdpa");
    Node& seen = node_with(*model, "LessOrEqual");
    const std::string all = seen.outputs[0], keys = seen.inputs[0], rows = seen.inputs[1];
    seen.outputs[0] = "up to the row";
    const auto as_real = [&](const std::string& value) { return add(*model, "Cast", {value}, {{"to", int64_t{1}}}); };
    const std::string near = seen_besides(*model, as_real(keys), as_real(rows));
    model->graph.nodes.push_back({.name = "both", .op = "And", .inputs = {"up to the row", near}, .outputs = {all}});
    const auto imported = import_model(*model, {.finds_states = true});
    if (!imported) return imported.error().message.substr(0, 40);
    std::string windows;
    for (const graph::Node& node : imported->graph.nodes) {
      if (node.op == "attention") windows += std::to_string(std::get<int64_t>(node.attributes.at("window"))) + " ";
    }
    return windows;
  };
  const std::string refusal = "its caches cannot stay on the device: the mask of";
  const auto distance_above = [&](float limit) {
    return [=](Model& model, const std::string& keys, const std::string& rows) {
      return add(model, "Greater", {add(model, "Sub", {keys, rows}), real(model, limit)});
    };
  };
  EXPECT_EQ(windows_with(distance_above(-12)), "12 12 ");
  EXPECT_EQ(windows_with(distance_above(-20000)), "20000 20000 ");
  EXPECT_EQ(windows_with(distance_above(-1e6f)), refusal.substr(0, 40));
  EXPECT_EQ(windows_with(distance_above(-1e9f)), "0 0 ");  // no cache is so long
  EXPECT_EQ(windows_with([&](Model& model, const std::string& keys, const std::string& rows) {
              const std::string moved = add(model, "Add", {add(model, "Sub", {rows, keys}), real(model, -20000)});
              return add(model, "Less", {moved, real(model, 0)});
            }),
            "20000 20000 ");
  EXPECT_EQ(windows_with([&](Model& model, const std::string& keys, const std::string& rows) {
              const std::string shape = add_integers(model, {1}, {1});
              const auto limit = std::make_shared<const Tensor>(
                  tensor_of<float>(ElementType::f32, {1}, std::vector<float>{-20000}, "limit"));
              const std::string limits = add(model, "ConstantOfShape", {shape}, {{"value", TensorPtr(limit)}});
              return add(model, "Greater", {add(model, "Sub", {keys, rows}), limits});
            }),
            "20000 20000 ");
}

// What scores become that are not seen, in the model's own masks and in halves.
TEST(JoinCaches, LowNumbers) {
  for (const float lowest : {-1e4f, -65504.0f, -1e9f}) {
    SCOPED_TRACE(lowest);
    auto model = language_model("llama");
    size_t count = 0;
    for (auto& [name, tensor] : model->graph.initializers) {
      if (!is_real(tensor->type) || tensor->size() != 1 || tensor->real(0) > -1e30f) continue;
      tensor = std::make_shared<const Tensor>(
          tensor_of<float>(ElementType::f32, tensor->shape, std::vector<float>{lowest}, name));
      ++count;
    }
    EXPECT_GT(count, 0u);
    EXPECT_EQ(refusal_of(*model), "imported");
  }
  // Added to positions: such scores are low for the first 10,000 tokens only.
  auto model = language_model("sdpa");
  const std::string rows = node_with(*model, "LessOrEqual").inputs[1], seen = node_with(*model, "And").outputs[0];
  const auto low = tensor_of<float>(ElementType::f32, {}, std::vector<float>{-20000}, "low");
  model->graph.initializers.emplace("low", std::make_shared<const Tensor>(low));
  const std::string sum = add(*model, "Add", {add(*model, "Cast", {rows}, {{"to", int64_t{1}}}), "low"});
  const std::string fill = add(*model, "Cast", {sum}, {{"to", int64_t{10}}});
  size_t count = 0;
  for (Node& node : model->graph.nodes) {
    if (node.op != "Where" || node.inputs[0] != seen) continue;
    node.inputs[2] = fill;
    ++count;
  }
  EXPECT_EQ(count, 2u);
  EXPECT_THAT(refusal_of(*model), HasSubstr("its caches cannot stay on the device: the mask of"));
}

TEST(JoinCaches, RefusedMasks) {
  auto model = language_model("sdpa");
  ASSERT_TRUE(model);
  EXPECT_EQ(refusal_of(*model), "imported");
  node_with(*model, "LessOrEqual").op = "Less";  // a row does not see its own key
  EXPECT_THAT(refusal_of(*model), HasSubstr("its caches cannot stay on the device: the mask of '/MatMul_"));
  // Without states, the mask is an operand.
  EXPECT_TRUE(import_model(
      *model,
      {.shapes = {{"input_ids", {1, 3}}, {"attention_mask", {1, 5}}, {"past_key_values.0.key", {1, 2, 2, 4}}}}));
}

// The mask is a part of a table. Only its last rows show that it is not causal.
TEST(JoinCaches, ATableThatIsNotCausalAtItsEnd) {
  auto model = language_model("gpt2");
  ASSERT_TRUE(model);
  EXPECT_EQ(refusal_of(*model), "imported");
  for (auto& [name, tensor] : model->graph.initializers) {
    if (tensor->type != ElementType::boolean) continue;
    Tensor changed = *tensor;  // [1, 1, 40, 40]
    changed.data[39 * 40 + 20] = std::byte{0};
    tensor = std::make_shared<const Tensor>(std::move(changed));
  }
  EXPECT_THAT(refusal_of(*model), HasSubstr("is not a causal one in all sizes"));
}

Expected<Model> exported_model(const std::string& name) {
  return load_model(qgen::tests::source_folder() + "/tests/runtime/models/graph/exported/" + name + ".onnx");
}

// Numbers that are added to scores for each head and position of a key, or its distance.
TEST(JoinCaches, BiasesOfPositions) {
  const std::string refusal = "a bias of positions with one";
  auto model = exported_model("bloom");
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(refusal_of(*model), "imported");
  // An input of this name has other values.
  auto named = *model;
  named.graph.inputs.push_back({"key_positions", ElementType::i64, std::vector<InputSide>{{0, "keys"}}});
  EXPECT_THAT(refusal_of(named), HasSubstr(refusal));
  // Rows that see later keys.
  auto open = *model;
  Node& seen = node_with(open, "LessOrEqual");
  seen.inputs[1] = seen.inputs[0];
  EXPECT_THAT(refusal_of(open), HasSubstr(refusal));
  // Slopes that become steeper.
  auto bent = *model;
  const auto is_product = [](const Node& node) { return node.op == "Mul" && node.inputs[0].starts_with("unsqueeze"); };
  const std::vector<std::string> factors = std::ranges::find_if(bent.graph.nodes, is_product)->inputs;
  const std::string steeper = add(bent, "Mul", factors);
  std::ranges::find_if(bent.graph.nodes, is_product)->inputs[0] = steeper;
  EXPECT_THAT(refusal_of(bent), HasSubstr(refusal));
}

// Buckets of distances, of which the last one has all far keys.
TEST(JoinCaches, RelativePositions) {
  auto model = exported_model("t5");
  ASSERT_TRUE(model) << to_text(model.error());
  const auto imported = import_model(*model, {.finds_states = true});
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto is_table = [](const graph::Node& node) { return node.name.starts_with("written out Gather"); };
  EXPECT_EQ(std::ranges::count_if(imported->graph.nodes, is_table), 1);  // for both layers
  // The table is quantized.
  auto quantized = *model;
  const auto is_of_buckets = [&](const Node& node) {
    const auto table = quantized.graph.initializers.find(node.op == "Gather" ? node.inputs[0] : "");
    return table != quantized.graph.initializers.end() && table->second->shape == Shape{32, 2};
  };
  std::vector<int8_t> codes(64);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(i % 7);
  const auto add_constant = [&](const std::string& name, Tensor tensor) {
    quantized.graph.initializers.emplace(name, std::make_shared<const Tensor>(std::move(tensor)));
  };
  add_constant("codes", tensor_of<int8_t>(ElementType::i8, {32, 2}, codes, "codes"));
  add_constant("scale", tensor_of<float>(ElementType::f32, {}, std::vector<float>{0.25f}, "scale"));
  Node& taken = *std::ranges::find_if(quantized.graph.nodes, is_of_buckets);
  taken.inputs[0] = "codes";
  const std::string bias = std::exchange(taken.outputs[0], "taken codes");
  quantized.graph.nodes.push_back(
      {.name = "reals", .op = "DequantizeLinear", .inputs = {"taken codes", "scale"}, .outputs = {bias}});
  EXPECT_EQ(refusal_of(quantized), "imported");
  // The last bucket begins far away.
  const auto far = std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, {}, std::vector<float>{9}));
  const std::string wide = add(*model, "Constant", {}, {{"value", TensorPtr(far)}});
  const std::string logarithm = node_with(*model, "Log").outputs[0];
  const auto quotient = std::ranges::find_if(
      model->graph.nodes, [&](const Node& node) { return node.op == "Div" && node.inputs[0] == logarithm; });
  ASSERT_NE(quotient, model->graph.nodes.end());
  quotient->inputs[1] = wide;
  EXPECT_THAT(refusal_of(*model), HasSubstr("a bias of positions with one"));
}

// A traced model in halves may multiply the weights and the values in f32.
TEST(JoinCaches, ValuesInWiderReals) {
  auto model = language_model("sdpa");
  ASSERT_TRUE(model);
  size_t count = 0;
  for (size_t i = 0; i < model->graph.nodes.size(); ++i) {
    const Node product = model->graph.nodes[i];
    if (product.op != "MatMul" || !product.inputs[0].starts_with("Where")) continue;
    std::vector<std::string> wide;
    for (const std::string& input : product.inputs) wide.push_back(add(*model, "Cast", {input}, {{"to", int64_t{1}}}));
    model->graph.nodes[i].inputs = wide;
    model->graph.nodes[i].outputs = {product.outputs[0] + " wide"};
    model->graph.nodes.push_back({.name = "narrow",
                                  .op = "Cast",
                                  .inputs = {product.outputs[0] + " wide"},
                                  .outputs = product.outputs,
                                  .attributes = {{"to", int64_t{10}}}});
    ++count;
  }
  EXPECT_EQ(count, 2u);
  const auto imported = import_model(*model, {.finds_states = true});
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(std::ranges::count(imported->graph.nodes, "attention", &graph::Node::op), 2);
}

// The mask of an encoder's result is read from the input. If it is limited, it is not.
TEST(JoinCaches, MasksOfAnInput) {
  auto model = exported_model("bart");
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(refusal_of(*model), "imported");
  const std::string mask = "encoder_attention_mask";
  Node& cast = *std::ranges::find_if(model->graph.nodes,
                                     [&](const Node& node) { return node.op == "Cast" && node.inputs[0] == mask; });
  const std::string whole = cast.outputs[0];
  cast.outputs[0] = "whole mask";
  const std::string length = add(*model, "Gather", {add(*model, "Shape", {mask}), add_integers(*model, {}, {1})});
  const std::string columns =
      add(*model, "Range", {add_integers(*model, {}, {0}), length, add_integers(*model, {}, {1})});
  const std::string near = add(*model, "Less", {columns, add_integers(*model, {}, {40})});
  model->graph.nodes.push_back({.name = "limited", .op = "And", .inputs = {"whole mask", near}, .outputs = {whole}});
  EXPECT_THAT(refusal_of(*model), HasSubstr("Range"));
}

// No rows, no batch, no cached tokens.
TEST(JoinCaches, SidesOfZero) {
  for (const std::string name : {"llama", "sdpa", "gpt2", "whisper", "encoded", "merged", "gptj"}) {
    for (const size_t input : {size_t{0}, size_t{1}, size_t{2}}) {
      for (const size_t axis : {size_t{0}, size_t{1}}) {
        auto model = language_model(name);
        ASSERT_TRUE(model);
        (*model->graph.inputs[input].shape)[axis] = {0, ""};
        SCOPED_TRACE(name + ": " + model->graph.inputs[input].name);
        for (const bool finds_states : {false, true}) {
          const auto imported = import_model(*model, {.finds_states = finds_states});
          EXPECT_TRUE(imported || !imported.error().message.empty());
        }
      }
    }
  }
}

TEST(JoinCaches, RefusedUsesOfTheLength) {
  auto model = language_model("llama");
  ASSERT_TRUE(model);
  // The logits, divided by the number of cached tokens.
  const std::string shape = add(*model, "Shape", {"past_key_values.1.value"});
  const std::string length = add(*model, "Gather", {shape, add_integers(*model, {}, {2})});
  const std::string real = add(*model, "Cast", {length}, {{"to", int64_t{1}}});
  model->graph.outputs.push_back({.name = add(*model, "Div", {"logits", real})});
  EXPECT_THAT(refusal_of(*model), HasSubstr("node 'added"));
  EXPECT_THAT(refusal_of(*model), HasSubstr("depends on how many tokens are cached"));
}

// Positions [1, S] that are used as [S]: of several sequences, they cannot be rows of position_ids.
TEST(JoinCaches, PositionsOfOneSequence) {
  auto model = language_model("sdpa");
  ASSERT_TRUE(model);
  const std::string positions = node_with(*model, "Unsqueeze").outputs[0];
  const std::string all = add(*model, "Reshape", {positions, add_integers(*model, {1}, {-1})});
  const std::string real = add(*model, "Cast", {all}, {{"to", int64_t{1}}});
  const std::string column = add(*model, "Unsqueeze", {real, add_integers(*model, {1}, {1})});
  const std::string wide = add(*model, "Concat", {column, column, column, column}, {{"axis", int64_t{1}}});
  const std::string half = add(*model, "Cast", {add(*model, "Cos", {wide})}, {{"to", int64_t{10}}});
  const std::string rows = add(*model, "Unsqueeze", {half, add_integers(*model, {1}, {0})});
  size_t count = 0;
  for (Node& node : model->graph.nodes) {
    if (node.op != "Gather" || node.inputs[1] != positions) continue;
    node.op = "Identity";
    node.inputs = {rows};
    node.attributes.clear();
    ++count;
  }
  ASSERT_EQ(count, 2u);
  EXPECT_THAT(refusal_of(*model), HasSubstr("its positions are of one sequence only"));
}

TEST(JoinCaches, LayersThatAreNotRecognised) {
  auto model = language_model("llama");
  ASSERT_TRUE(model);
  model->graph.outputs.push_back({.name = node_with(*model, "Softmax").outputs[0]});
  EXPECT_THAT(refusal_of(*model), HasSubstr("stays several nodes: several nodes read the weights"));
  auto other = language_model("llama");
  ASSERT_TRUE(other);
  other->graph.outputs.push_back({.name = node_with(*other, "Div").outputs[0]});
  node_with(*other, "Softmax").attributes["axis"] = int64_t{2};
  EXPECT_THAT(refusal_of(*other), HasSubstr("stays several nodes: "));
}

// A decoder with a cache in one branch of an If, as some exporters write it.
TEST(JoinCaches, InABranch) {
  auto decoder = language_model("llama");
  ASSERT_TRUE(decoder);
  Model model{decoder->opsets, {}};
  model.graph.inputs = decoder->graph.inputs;
  model.graph.inputs.push_back({"use_cache_branch", ElementType::boolean, std::vector<InputSide>()});
  Node choice{.name = "choice", .op = "If", .inputs = {"use_cache_branch"}};
  auto with_cache = std::make_shared<ModelGraph>(decoder->graph), without = std::make_shared<ModelGraph>();
  with_cache->inputs.clear();
  for (ValueInfo& output : with_cache->outputs) {
    model.graph.outputs.push_back(output);
    choice.outputs.push_back(output.name);
    for (Node& node : with_cache->nodes) {  // names of a branch are its own
      std::ranges::replace(node.inputs, output.name, "inner " + output.name);
      std::ranges::replace(node.outputs, output.name, "inner " + output.name);
    }
    output.name = "inner " + output.name;
    without->outputs.push_back({.name = "input_ids"});
  }
  choice.attributes = {{"then_branch", Subgraph{with_cache}}, {"else_branch", Subgraph{without}}};
  model.graph.nodes = {choice};
  const auto imported = import_model(
      model, {.constants = {{"use_cache_branch", qgen::testing::tensor_of(DType::u8, {}, {1})}}, .finds_states = true});
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(imported->graph.states.size(), 4u);
  EXPECT_THAT(operators_of(imported->graph), HasSubstr("rotary_embedding"));
  EXPECT_THAT(operators_of(imported->graph), Not(HasSubstr("softmax")));
}

// A name that another graph of the model has too gets a suffix.
TEST(InlineBranches, NamesStayApart) {
  // The numbers that the results are.
  const auto results_of = [](const std::string& first, const std::string& second) {
    Model model;
    const auto yes = std::make_shared<const Tensor>(
        Tensor{"yes", ElementType::boolean, {}, std::vector<std::byte>(1, std::byte{1})});
    model.graph.initializers.emplace("yes", yes);
    float number = 1;
    for (const std::string& weight : {first, second}) {
      const auto branch = std::make_shared<ModelGraph>(), other = std::make_shared<ModelGraph>();
      branch->initializers.emplace(
          weight, std::make_shared<const Tensor>(tensor_of<float>(ElementType::f32, {}, std::vector<float>{number++})));
      branch->nodes.push_back({.name = "pass", .op = "Identity", .inputs = {weight}, .outputs = {weight + " passed"}});
      branch->outputs.push_back({.name = weight + " passed"});
      *other = *branch;
      const std::string result = "y" + std::to_string(model.graph.nodes.size());
      model.graph.nodes.push_back({.name = result, .op = "If", .inputs = {"yes"}, .outputs = {result}});
      model.graph.nodes.back().attributes = {{"then_branch", Subgraph{branch}}, {"else_branch", Subgraph{other}}};
    }
    EXPECT_EQ(inline_branches(model.graph).size(), 2u);
    List numbers;
    for (std::string value : {"y0", "y1"}) {
      for (const auto& node : {model.graph.nodes, model.graph.nodes}) {
        const auto writer = std::ranges::find_if(node, [&](const Node& one) { return one.outputs[0] == value; });
        EXPECT_EQ(writer->op, "Identity");
        value = writer->inputs[0];
      }
      numbers.push_back(static_cast<int64_t>(model.graph.initializers.at(value)->real(0)));
    }
    return numbers;
  };
  EXPECT_EQ(results_of("w", "w"), (List{1, 2}));
  EXPECT_EQ(results_of("w", "yes"), (List{1, 2}));
  EXPECT_EQ(results_of("w", "w (2)"), (List{1, 2}));
  EXPECT_EQ(results_of("a", "b"), (List{1, 2}));
}

// Keys of an encoder, which the branch with a cache passes on, or gives without elements.
TEST(ConstantStates, OfMergedDecoders) {
  const std::vector<StateNames> states = {{"past.own", "present.own"}, {"past.encoder", "present.encoder"}};
  const auto graph_with = [&](const std::string& of_keys, bool is_passed) {
    ModelGraph graph, taken, other;
    for (const char* input : {"input_ids", "encoded", "past.own", "past.encoder"})
      graph.inputs.push_back({.name = input});
    for (const char* output : {"present.own", "present.encoder"}) graph.outputs.push_back({.name = output});
    graph.initializers.emplace(
        "yes", std::make_shared<const Tensor>(Tensor{"yes", ElementType::boolean, {}, std::vector(1, std::byte{1})}));
    taken.nodes.push_back({.name = "a", .op = "Add", .inputs = {"past.own", "past.encoder"}, .outputs = {"sum"}});
    if (is_passed)
      taken.nodes.push_back({.name = "b", .op = "Identity", .inputs = {"past.encoder"}, .outputs = {"keys"}});
    else
      taken.initializers.emplace("keys", std::make_shared<const Tensor>(Tensor{"keys", ElementType::f32, {0, 4}, {}}));
    taken.outputs = {{.name = "sum"}, {.name = "keys"}};
    other.nodes.push_back({.name = "c", .op = "Neg", .inputs = {of_keys}, .outputs = {"sum"}});
    other.nodes.push_back({.name = "d", .op = "Abs", .inputs = {"sum"}, .outputs = {"keys"}});
    other.outputs = {{.name = "sum"}, {.name = "keys"}};
    Node choice{.name = "choice", .op = "If", .inputs = {"yes"}, .outputs = {"present.own", "present.encoder"}};
    choice.attributes = {{"then_branch", Subgraph{std::make_shared<ModelGraph>(taken)}},
                         {"else_branch", Subgraph{std::make_shared<ModelGraph>(other)}}};
    graph.nodes = {choice};
    return graph;
  };
  const auto inputs_of = [](const ModelGraph& graph) {
    std::string names;
    for (const ValueInfo& input : graph.inputs) names += input.name + " ";
    return names;
  };
  for (const bool is_passed : {false, true}) {
    ModelGraph graph = graph_with("encoded", is_passed);
    auto remaining = states;
    const auto others = inline_branches(graph);
    take_constant_states(graph, others, remaining);
    EXPECT_EQ(remaining, std::vector<StateNames>{states[0]});
    EXPECT_EQ(inputs_of(graph), "input_ids encoded past.own ");
    EXPECT_EQ(graph.outputs.size(), 1u);
    EXPECT_TRUE(order_of(graph));
    // Of tokens, or of a state, they are not the same in all runs: so they are an input.
    for (const std::string of_keys : {"input_ids", "past.own", "past.encoder"}) {
      ModelGraph changing = graph_with(of_keys, is_passed);
      remaining = states;
      take_constant_states(changing, inline_branches(changing), remaining);
      EXPECT_EQ(remaining, std::vector<StateNames>{states[0]});
      EXPECT_EQ(inputs_of(changing), "input_ids encoded past.own past.encoder ");
    }
  }
}

// ---- rotary embeddings ----------------------------------------------------------------------------------------------

// x [B, N, S, D], or [B, S, N, D] if heads are second, times cos and sin of [B, S, D].
std::string rotated(const std::function<std::pair<std::string, std::string>(ModelBuilder&)>& angles, bool is_swapped,
                    int64_t axis = 1) {
  ModelBuilder m;
  const Shape heads = axis == 1 ? Shape{kBatches, kHeads, kRows, kSize} : Shape{kBatches, kRows, kHeads, kSize};
  const std::string x = m.input("x", heads);
  const auto [cos, sin] = angles(m);
  const auto wide = [&](const std::string& value) { return m.node("Unsqueeze", {value, m.list({axis})}); };
  const auto half = [&](int64_t from, int64_t to) {
    return m.node("Slice", {x, m.list({from}), m.list({to}), m.list({3})});
  };
  const std::string first = half(0, kSize / 2), second = m.node("Neg", {half(kSize / 2, INT64_MAX)});
  const std::string turned =
      m.node("Concat", {is_swapped ? first : second, is_swapped ? second : first}, {{"axis", int64_t{-1}}});
  const std::string sum = m.node("Add", {m.node("Mul", {x, wide(cos)}), m.node("Mul", {turned, wide(sin)})});
  // Only models with a Softmax and products are looked at.
  const std::string weight = m.random_reals({kSize, kSize}, -0.5, 0.5);
  m.output(m.node("Softmax", {m.node("MatMul", {m.node("MatMul", {sum, weight}), weight})}));
  return becomes(m);
}

std::pair<std::string, std::string> angles_of(ModelBuilder& m, bool are_equal) {
  const std::string angle = m.input("angle", {kBatches, kRows, kSize / 2});
  const std::string other = are_equal ? angle : m.node("Neg", {angle});
  const std::string both = m.node("Concat", {angle, other}, {{"axis", int64_t{-1}}});
  return {m.node("Mul", {m.node("Cos", {both}), m.scalar(1)}), m.node("Sin", {both})};
}

TEST(JoinRotary, HalvesOfHeads) {
  const auto angles = [](ModelBuilder& m) { return angles_of(m, true); };
  EXPECT_THAT(rotated(angles, false), HasSubstr("rotary_embedding"));
  EXPECT_THAT(rotated(angles, false, 2), HasSubstr("rotary_embedding"));
  EXPECT_THAT(rotated(angles, true), Not(HasSubstr("rotary_embedding")));  // concat(first, -second)
  // The halves of cos and sin must be the same.
  EXPECT_THAT(rotated([](ModelBuilder& m) { return angles_of(m, false); }, false), Not(HasSubstr("rotary_embedding")));
}

// Of neighbours: how x's elements with even or odd numbers, and angles that are there twice, are written.
struct PairsForm {
  int64_t axis = 1;                 // of heads
  bool is_gathered = false;         // of x, parted in pairs, instead of every second element
  std::string repeated = "Expand";  // of angles
  int64_t first = 0;                // which elements are taken for the even ones
  bool is_negated = true;           // the odd ones
  bool is_stacked = false;          // angles once, and two sums
  std::string_view sum = "Sub";     // of the even elements, if stacked
  bool is_shared = true;            // cos of both sums, if stacked
};
std::string rotated_pairs(const PairsForm& form) {
  ModelBuilder m;
  const Shape heads = form.axis == 1 ? Shape{kBatches, kHeads, kRows, kSize} : Shape{kBatches, kRows, kHeads, kSize};
  const std::string x = m.input("x", heads), last = m.list({-1});
  const std::string angle = m.input("angle", {kBatches, kRows, kSize / 2});
  Shape sides = heads;
  sides.back() /= 2;
  sides.push_back(2);
  const auto every_second = [&](int64_t start) {
    if (form.is_gathered)
      return m.node("Gather", {m.node("Reshape", {x, m.list(sides)}), m.integers(ElementType::i64, {}, {start})},
                    {{"axis", int64_t{-1}}});
    return m.node("Slice", {x, m.list({start}), m.list({INT64_MAX}), m.list({3}), m.list({2})});
  };
  const auto stacked = [&](const std::string& a, const std::string& b) {
    const std::string both =
        m.node("Concat", {m.node("Unsqueeze", {a, last}), m.node("Unsqueeze", {b, last})}, {{"axis", int64_t{-1}}});
    return m.node("Reshape", {both, m.list(heads)});
  };
  const auto twice = [&](const std::string& value) {
    const Shape pairs = {kBatches, kRows, kSize / 2, 2};
    const std::string flat = m.list({kBatches, kRows, kSize});
    if (form.repeated == "halves") return m.node("Concat", {value, value}, {{"axis", int64_t{-1}}});
    if (form.repeated == "Gather")
      return m.node("Gather", {value, m.integers(ElementType::i64, {kSize}, {0, 0, 1, 1, 2, 2, 3, 3})},
                    {{"axis", int64_t{2}}});
    if (form.repeated == "others")
      return m.node("Gather", {value, m.integers(ElementType::i64, {kSize}, {0, 0, 1, 1, 2, 3, 3, 3})},
                    {{"axis", int64_t{2}}});
    const std::string wide = m.node("Unsqueeze", {value, last});
    if (form.repeated == "Concat")
      return m.node("Reshape", {m.node("Concat", {wide, wide}, {{"axis", int64_t{-1}}}), flat});
    return m.node("Reshape", {m.node("Expand", {wide, m.list(pairs)}), flat});
  };
  const auto with_heads = [&](const std::string& value) { return m.node("Unsqueeze", {value, m.list({form.axis})}); };
  const std::string even = every_second(form.first), odd = every_second(1 - form.first);
  const std::string cos = m.node("Cos", {angle}), sin = m.node("Sin", {angle});
  std::string result;
  if (form.is_stacked) {
    const std::string c = with_heads(cos), s = with_heads(sin),
                      other = form.is_shared ? c : with_heads(m.node("Neg", {cos}));
    const std::string a = m.node(std::string(form.sum), {m.node("Mul", {even, c}), m.node("Mul", {odd, s})});
    const std::string b = m.node("Add", {m.node("Mul", {even, s}), m.node("Mul", {odd, other})});
    result = stacked(a, b);
  } else {
    const std::string turned = stacked(form.is_negated ? m.node("Neg", {odd}) : odd, even);
    result =
        m.node("Add", {m.node("Mul", {x, with_heads(twice(cos))}), m.node("Mul", {turned, with_heads(twice(sin))})});
  }
  const std::string weight = m.random_reals({kSize, kSize}, -0.5, 0.5);
  m.output(m.node("Softmax", {m.node("MatMul", {m.node("MatMul", {result, weight}), weight})}));
  return becomes(m);
}

TEST(JoinRotary, Neighbours) {
  for (const int64_t axis : {int64_t{1}, int64_t{2}}) {
    for (const bool is_gathered : {false, true}) {
      for (const std::string repeated : {"Expand", "Concat", "Gather"}) {
        SCOPED_TRACE(repeated);
        EXPECT_THAT(rotated_pairs({.axis = axis, .is_gathered = is_gathered, .repeated = repeated}),
                    HasSubstr("rotary_embedding"));
      }
      EXPECT_THAT(rotated_pairs({.axis = axis, .is_gathered = is_gathered, .is_stacked = true}),
                  HasSubstr("rotary_embedding"));
    }
  }
  const auto none = Not(HasSubstr("rotary_embedding"));
  for (const PairsForm& form : {PairsForm{.repeated = "halves"},
                                {.repeated = "others"},
                                {.first = 1},
                                {.is_negated = false},
                                {.is_gathered = true, .first = 1},
                                {.first = 1, .is_stacked = true},
                                {.is_stacked = true, .sum = "Add"},
                                {.is_stacked = true, .is_shared = false}})
    EXPECT_THAT(rotated_pairs(form), none);
}

TEST(JoinRotary, RowsOfATable) {
  const auto table = [](bool are_equal) {
    return [=](ModelBuilder& m) {
      std::vector<float> values;
      for (int64_t i = 0; i < 10 * kSize; ++i)
        values.push_back(static_cast<float>(i / kSize + i % (kSize / 2)) + (!are_equal && i == 7 ? 0.5f : 0.0f));
      const std::string positions = m.integers(ElementType::i64, {kBatches, kRows}, {1, 2, 3, 9, 0, 4});
      const std::string rows = m.node("Gather", {m.reals({10, kSize}, values), positions});
      return std::pair(m.node("Cos", {m.node("Mul", {rows, m.scalar(1)})}), m.node("Sin", {rows}));
    };
  };
  EXPECT_THAT(rotated(table(true), false), HasSubstr("rotary_embedding"));
  EXPECT_THAT(rotated(table(false), false), Not(HasSubstr("rotary_embedding")));
}

}  // namespace
}  // namespace qgen::onnx::testing::attention_forms
