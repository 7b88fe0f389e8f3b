// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Requests by name: completions and refusals; and attributes from text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/operators/shipped.h"
#include "tests/support/expected_text.h"

namespace qgen {
namespace {

using Kind = AttributeInfo::Kind;

constexpr std::string_view kModes[] = {"sum", "mean"};
constexpr std::string_view kReals[] = {"f32", "f16"};
constexpr ShapeInfo kAny[] = {{.has_leading = true}};
constexpr ShapeInfo kRow[] = {{.has_leading = true, .rank = 1, .sides = {"K"}}};
constexpr ShapeInfo kBias[] = {{.rank = 1, .sides = {"K"}}, {.rank = 2, .sides = {"K", "1"}}};
constexpr TensorInfo kTensors[] = {
    {.name = "input", .operand = 0, .role = TensorInfo::Role::input, .dtypes = bit(DType::f32), .shapes = kRow},
    {.name = "bias",
     .operand = 1,
     .role = TensorInfo::Role::input,
     .is_optional = true,
     .dtypes = bit(DType::f32) | bit(DType::f16),
     .shapes = kBias,
     .help = "without: 0"},
    {.name = "output",
     .operand = 2,
     .role = TensorInfo::Role::output,
     .dtypes = bit(DType::f32),
     .shapes = kAny,
     .source = 0}};
constexpr AttributeInfo kAttributes[] = {
    {.name = "axis",
     .kind = Kind::integer,
     .otherwise = "",
     .help = "which dimension",
     .least = 0,
     .greatest = 7,
     .range = "0 to 7"},
    {.name = "eps", .kind = Kind::real, .otherwise = "1e-5", .help = ""},
    {.name = "mode", .kind = Kind::word, .otherwise = "sum", .help = "", .words = kModes},
    {.name = "dtype", .kind = Kind::dtype, .otherwise = "f32", .help = "", .words = kReals},
    {.name = "sides", .kind = Kind::integers, .otherwise = "(the input's)", .help = ""},
    {.name = "keepdim", .kind = Kind::boolean, .otherwise = "true", .help = ""}};
const OperatorEntry kReduce{
    {.name = "reduce", .summary = "", .op = nullptr, .tensors = kTensors, .attributes = kAttributes}, nullptr};

Request request_with(std::map<std::string, AttributeValue, std::less<>> attributes) {
  return {.inputs = {{"input", zeros(DType::f32, {1})}}, .attributes = std::move(attributes)};
}

TEST(Registry, FillsInDefaults) {
  const auto request = complete(kReduce, request_with({{"axis", int64_t{2}}, {"eps", int64_t{1}}}));
  ASSERT_TRUE(request) << to_text(request.error());
  std::string text;
  for (const auto& [name, value] : request->attributes) text += name + "=" + to_text(value) + " ";
  EXPECT_EQ(text, "axis=2 dtype=f32 eps=1 keepdim=true mode=sum ");
  EXPECT_TRUE(std::holds_alternative<double>(request->attributes.at("eps")));  // 1 is a real too
  EXPECT_EQ(dtype_attribute(*request, "dtype"), DType::f32);
  EXPECT_EQ(find_attribute<Shape>(*request, "sides"), std::nullopt);  // the operator sees to it
}

TEST(Registry, RefusesTornInputs) {
  Request request = request_with({{"axis", int64_t{2}}});
  request.inputs.at("input").data.resize(3);
  const auto completed = complete(kReduce, request);
  ASSERT_FALSE(completed);
  EXPECT_TEXT(completed.error().message, "input 'input' holds 3 bytes, and its shape [1] takes 4");
}

// Each leads to an operator that there is, by no operator's own name, and stands in order.
TEST(Registry, FindsOperatorsByOtherNames) {
  EXPECT_TRUE(std::ranges::is_sorted(aliases_of(operators()), {}, &OperatorAlias::name));
  for (const OperatorAlias& alias : aliases_of(operators())) {
    const OperatorEntry* entry = find_operator(alias.name);
    ASSERT_TRUE(entry) << alias.name;
    EXPECT_EQ(entry->name, alias.op);
    EXPECT_FALSE(std::ranges::binary_search(operators(), alias.name, {}, &OperatorEntry::name));
  }
  EXPECT_TEXT(to_text(unknown_operator(operators(), "linear_qcs8w")),
              "unknown operator 'linear_qcs8w'\n  hint: did you mean "
              "'linear_qcs4w'?");
}

struct RefusalCase {
  const char* name;
  Request request;
  std::string_view message;
};
// clang-format off
const RefusalCase kRefusals[] = {
    {"attribute_missing", request_with({}), "'reduce' needs attribute 'axis'\n  hint: an integer: which dimension"},
    {"attribute_unknown", request_with({{"axis", int64_t{0}}, {"mod", "sum"}}),
     "'reduce' has no attribute 'mod'\n  hint: did you mean 'mode'?"},
    {"attribute_of_another_kind", request_with({{"axis", true}}), "axis is true, and must be an integer"},
    {"integer_from_a_real", request_with({{"axis", 1.0}}), "axis is 1, and must be an integer"},
    {"word_unknown", request_with({{"axis", int64_t{0}}, {"mode", "meen"}}),
     "mode is 'meen', and must be one of sum, mean\n  hint: did you mean 'mean'?"},
    {"dtype_unknown", request_with({{"axis", int64_t{0}}, {"dtype", "real"}}),
     "dtype is 'real', and must be one of f32, f16"},
    {"input_missing", {.attributes = {{"axis", int64_t{0}}}}, "'reduce' needs input 'input'\n  hint: f32 [..., K]"},
    {"input_unknown", {.inputs = {{"inputs", zeros(DType::f32, {1})}}},
     "'reduce' has no input 'inputs'\n  hint: did you mean 'input'?"},
    {"representation_of_nothing", {.inputs = {{"input", zeros(DType::f32, {1})}}, .representations = {{"scratch", {}}}},
     "'reduce' has no tensor 'scratch'\n  hint: possible are input, bias, output"},
};
// clang-format on

class RegistryRefusals : public testing::TestWithParam<RefusalCase> {};
TEST_P(RegistryRefusals, SayWhatThereIs) {
  const auto completed = complete(kReduce, GetParam().request);
  ASSERT_FALSE(completed);
  EXPECT_TEXT(to_text(completed.error()), GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(Requests, RegistryRefusals, testing::ValuesIn(kRefusals),
                         [](const auto& row) { return std::string(row.param.name); });

struct GivenCase {
  const char* name;
  InferArguments arguments;
  std::string_view message;  // empty: it passes
};
ViewedDesc reals(const Shape& shape, DType dtype = DType::f32) { return TensorDesc{dtype, shape}; }
InferArguments given_with(std::vector<std::optional<ViewedDesc>> tensors,
                          std::vector<std::optional<AttributeValue>> attributes,
                          std::vector<std::optional<Representation>> representations = {{}, {}, {}}) {
  tensors.emplace_back();  // the output
  InferArguments arguments(kReduce);
  arguments.tensors = std::move(tensors);
  arguments.attributes = std::move(attributes);
  arguments.representations = std::move(representations);
  return arguments;
}
const GivenCase kGiven[] = {
    {"all", given_with({reals({2, 3}), reals({3})}, {int64_t{1}}), ""},
    {"without_bias", given_with({reals({3}), {}}, {{}}), ""},
    {"the_other_shape", given_with({reals({3}), reals({3, 1})}, {{}}), ""},
    {"another_dtype", given_with({reals({3}, DType::i8), {}}, {{}}), "input is i8, and can be f32"},
    {"another_rank", given_with({reals({}), {}}, {{}}), "input has shape []\n  hint: it is [..., K]"},
    {"sides_that_differ", given_with({reals({2, 3}), reals({4})}, {{}}),
     "bias has shape [4]\n  hint: it is [K] or [K, 1], and K of input is 3"},
    {"a_side_that_is_a_number", given_with({reals({3}), reals({3, 2})}, {{}}),
     "bias has shape [3, 2]\n  hint: it is [K] or [K, 1], and K of input is 3"},
    {"real_past_f32", given_with({reals({3}), {}}, {{}, 1e39}),
     "eps is 1e+39, and must be a number within the range of f32, up to 3.4e38"},
    {"real_that_f32_holds_as_0", given_with({reals({3}), {}}, {{}, -1e-46}),
     "eps is -1e-46, and must be 0, or at least 1.4e-45 in magnitude, the least that f32 holds"},
    {"the_least_of_f32", given_with({reals({3}), {}}, {{}, 1e-45}), ""},
    {"nan", given_with({reals({3}), {}}, {{}, std::nan("")}), "eps is nan, and must be a finite number"},
    {"infinity", given_with({reals({3}), {}}, {{}, -INFINITY}), "eps is -inf, and must be a finite number"},
    {"word_of_no_enumerator", given_with({reals({3}), {}}, {{}, {}, "?"}), "mode is '?', and must be one of sum, mean"},
    {"of_another_layout", given_with({TensorDesc{DType::f32, {3}, Storage::buffer, Layout::packed_4w}, {}}, {{}}),
     "input is packed_4w in a buffer, and can be strided"},
    {"past_what_kernels_count", given_with({reals({int64_t{1} << 32}), {}}, {{}}),
     "input of shape [4294967296] takes 4294967296 elements as strided, and kernels count at most 4294967295\n"
     "  hint: split the tensor"},
    {"out_of_range", given_with({reals({3}), {}}, {int64_t{8}}), "axis is 8, and can be 0 to 7"},
    {"no_such_representation",
     given_with({reals({3}), {}}, {{}}, {{}, {}, Representation{Storage::texture3d, Layout::width_packed}}),
     "output of 'reduce' has a fixed storage and layout, and a texture3d as width_packed was requested"},
};

class GivenToOperators : public testing::TestWithParam<GivenCase> {};
TEST_P(GivenToOperators, IsHeldToTheSignature) {
  const Done sound = check_signature(GetParam().arguments);
  EXPECT_TEXT(sound ? "" : to_text(sound.error()), GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(Rows, GivenToOperators, testing::ValuesIn(kGiven),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(InferArguments, TheOutputHasTheRepresentationOfItsInputByDefault) {
  InferArguments arguments = given_with({reals({3}), {}}, {{}});
  arguments.tensors[0]->tensor.layout = Layout::packed_4w;
  EXPECT_EQ(arguments.representation(2), (Representation{Storage::buffer, Layout::packed_4w}));
  arguments.representations[2] = Representation{};
  EXPECT_EQ(arguments.representation(2), Representation{});
}

TEST(Registry, InfersWithoutADevice) {
  const OperatorEntry& entry = *find_operator("q8ta_relu");
  InferArguments arguments(entry);
  arguments.set_tensor(0, {DType::i8, {2, 3}});
  arguments.attributes = {0.5, int64_t{-3}, 0.25, int64_t{7}};
  ASSERT_TRUE(check_signature(arguments));
  const auto call = entry.infer(arguments);
  ASSERT_TRUE(call) << to_text(call.error());
  EXPECT_EQ(call->operands[1]->shape, (Shape{2, 3}));
  arguments.attributes[0] = 0.0;
  EXPECT_TEXT(to_text(check_signature(arguments).error()), "input_scale is 0, and can be 2^-125 to 2^119");
}

TEST(Registry, KnowsOperatorsByName) {
  EXPECT_TRUE(std::ranges::is_sorted(operators(), {}, &OperatorEntry::name));
  for (const OperatorEntry& entry : operators()) EXPECT_EQ(find_operator(entry.name), &entry);
  EXPECT_EQ(find_operator("quantise_affine"), nullptr);
  EXPECT_TEXT(to_text(unknown_operator(operators(), "quantise_affine")),
              "unknown operator 'quantise_affine'\n  hint: did you mean 'quantize_affine'?");
  EXPECT_TEXT(to_text(unknown_operator(operators(), "fft")),
              "unknown operator 'fft'\n  hint: the nearest are bmm, pad, concat; qgen-run --list prints all");
  EXPECT_TEXT(to_text(unknown_operator(operators().first(2), "fft")),
              "unknown operator 'fft'\n  hint: possible are attention, attention_paged");
}

// Each default has its attribute's kind, and text in parentheses is for people.
TEST(Registry, DefaultsCanBeRead) {
  for (const OperatorEntry& entry : operators()) {
    for (const AttributeInfo& info : entry.attributes) {
      if (!info.has_value()) continue;
      const auto value = parse_attribute(info, info.otherwise);
      EXPECT_TRUE(value) << entry.name << ": " << to_text(value.error());
    }
  }
}

struct ParseCase {
  Kind kind;
  const char* text;
  const char* value;  // or the error
};
const ParseCase kParses[] = {
    {Kind::integer, "-8", "-8"},
    {Kind::integer, "1e3", "x is '1e3', and must be an integer"},
    {Kind::integer, "", "x is '', and must be an integer"},
    {Kind::integer, "9223372036854775808", "x is '9223372036854775808', and must be an integer"},
    {Kind::real, "1e-5", "1e-05"},
    {Kind::real, "1.5x", "x is '1.5x', and must be a number"},
    {Kind::real, "3.4e38", "3.4e+38"},
    {Kind::real, "1e-45", "1e-45"},  // the least that f32 has
    {Kind::real, "0", "0"},
    {Kind::real, "1e39", "1e+39"},  // check_signature() refuses it
    {Kind::real, "1e999", "x is '1e999', which is past the range of f32"},
    {Kind::boolean, "true", "true"},
    {Kind::boolean, "0", "false"},
    {Kind::boolean, "yes", "x is 'yes', and must be true or false"},
    {Kind::integers, "1,64", "[1, 64]"},
    {Kind::integers, "[1, 64]", "[1, 64]"},
    {Kind::integers, "7", "[7]"},
    {Kind::integers, "[]", "[]"},
    {Kind::integers, "1,,2", "x is '1,,2', and must be a list of integers"},
};

TEST(Attributes, FromText) {
  for (const auto& [kind, text, expected] : kParses) {
    const auto value = parse_attribute({.name = "x", .kind = kind, .otherwise = "", .help = ""}, text);
    EXPECT_EQ(value ? to_text(*value) : value.error().message, expected);
  }
}

}  // namespace
}  // namespace qgen
