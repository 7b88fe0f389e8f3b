// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Every operator on extreme shapes: dimensions of 0 next to dimensions beyond 32 bits, in which kernels count, and
// extreme attributes. Each is refused in a sentence, or becomes a Call from which select() can choose; an output
// without elements gives a choice without work. The requests are made from signatures, so that a new operator needs no
// line.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <ostream>
#include <random>
#include <string>

#include "operators.h"
#include "registry.h"
#include "runtime/engine/operators/shipped.h"
#include "tests/runtime/engine/operators/h200.h"

namespace qgen {

void PrintTo(const OperatorEntry& entry, std::ostream* out) { *out << entry.name; }

namespace {

constexpr int kCallsOfEach = QGEN_HOSTILE_CALLS;  // of each operator

constexpr int64_t kSides[] = {0, 1, 3, 8, int64_t{1} << 31, int64_t{1} << 32, (int64_t{1} << 32) + 5, int64_t{1} << 59};
constexpr int64_t kSaneSides[] = {1, 1, 4, 8, 32};
constexpr int64_t kIntegers[] = {0,
                                 1,
                                 1,
                                 2,
                                 3,
                                 -1,
                                 -2,
                                 1 << 15,
                                 int64_t{1} << 40,
                                 std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max()};

// Makes calls of an operator up. Some are sane except for one dimension or number, so that some are not refused.
class Imagined {
 public:
  Imagined(const OperatorEntry& of, uint32_t seed) : entry(of), random(seed) {}

  Expected<Call> call() {
    sides.clear();
    dtypes.clear();
    wild = below(3);
    given_in = size_t{1} << below(5);
    leading.resize(below(wild == 0 ? 3 : 5));
    for (int64_t& length : leading) length = side();
    Attributes some;
    for (const AttributeInfo& info : entry.attributes) {
      if (info.is_required() || below(given_in) == 0) some.emplace(info.name, value_of(info));
    }
    const auto attributes = complete_attributes(entry, std::move(some));
    if (!attributes) return attributes.error();
    InferArguments arguments(entry);
    set_attributes(arguments, *attributes);
    for (const TensorInfo& info : entry.tensors) describe(info, arguments);
    return checked(arguments, entry.infer);
  }

 private:
  size_t below(size_t n) { return random() % n; }
  template <typename List>
  auto one_of(const List& list) {
    return list[below(std::size(list))];
  }

  // A third of calls are sane, in a third every eighth side is wild, in a third every other.
  int64_t side() { return wild == 0 || below(wild == 1 ? 8 : 2) > 0 ? one_of(kSaneSides) : one_of(kSides); }

  int64_t side_named(std::string_view name) {
    if (name.find_first_not_of("0123456789") == name.npos) return std::stoll(std::string(name));
    const auto [known, is_new] = sides.try_emplace(name, 0);
    if (is_new) known->second = side();
    return below(50) == 0 ? side() : known->second;
  }

  int64_t integer(const AttributeInfo& info) {
    const double in_range = std::clamp<double>(static_cast<double>(below(4)), info.least, info.greatest);
    return wild == 0 || below(4) > 0 ? static_cast<int64_t>(in_range) : one_of(kIntegers);
  }

  AttributeValue value_of(const AttributeInfo& info) {
    switch (info.kind) {
      case AttributeInfo::Kind::boolean: return below(2) == 0;
      case AttributeInfo::Kind::integer: return integer(info);
      case AttributeInfo::Kind::real: return 1.0;
      case AttributeInfo::Kind::integers: {
        std::vector<int64_t> list(below(2) == 0 ? leading.size() : below(5));
        for (int64_t& number : list) number = integer(info);
        return list;
      }
      default: return std::string(one_of(info.words));
    }
  }

  template <typename T>
  T bit_of(uint32_t mask) {
    std::vector<T> all;
    for (int i = 0; i < 32; ++i) {
      if ((mask >> i & 1) != 0) all.push_back(static_cast<T>(i));
    }
    return one_of(all);
  }

  // In sane calls, operands that may have the same dtypes have the same one.
  DType dtype_of(const TensorInfo& info) {
    const auto dtype = bit_of<DType>(info.dtypes);
    return wild == 0 ? dtypes.try_emplace(info.dtypes, dtype).first->second : dtype;
  }

  void describe(const TensorInfo& info, InferArguments& arguments) {
    const Representation representation{Storage::buffer,
                                        info.layouts != 0 ? bit_of<Layout>(info.layouts) : Layout::strided};
    if (info.role == TensorInfo::Role::output && info.has_representation && below(2) == 0)
      arguments.set_representation(info.operand, representation);
    if (info.role == TensorInfo::Role::output || info.role == TensorInfo::Role::derived) return;
    if (info.is_optional && below(given_in) > 0) return;
    const ShapeInfo shape = one_of(info.shapes);
    TensorDesc desc{dtype_of(info), shape.has_leading ? leading : Shape(), representation.storage,
                    representation.layout};
    if (shape.has_leading && shape.rank == 0 && below(4) == 0) std::ranges::fill(desc.shape, 1);  // one of all, a scale
    for (size_t i = 0; i < shape.rank; ++i) desc.shape.push_back(side_named(shape.sides[i]));
    arguments.set_tensor(info.operand, desc);
  }

  const OperatorEntry& entry;
  std::mt19937 random;
  size_t wild = 0;
  size_t given_in = 1;  // in how many calls an attribute or operand is given that can be left out
  Shape leading;
  std::map<std::string_view, int64_t> sides;
  std::map<uint32_t, DType> dtypes;
};

class HostileShapes : public ::testing::TestWithParam<OperatorEntry> {
 protected:
  // A Call that was made is one that the selector can read.
  void expect_sound(const Call& call) {
    const OperatorInfo& op = *call.problem.op;
    bool is_empty = true;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (!call.operands[i]) continue;
      EXPECT_TRUE(check_shape(call.operands[i]->shape)) << op.operands[i].name;
      is_empty &= op.operands[i].access == Access::read || element_count(call.operands[i]->shape) == 0;
    }
    const Selection selection = select(call.problem, device, library, {.best_only = true});
    if (selection.ranked.empty() || !is_empty) return;
    const auto& [x, y, z] = selection.ranked.front().launches.back().groups;
    EXPECT_EQ(x * y * z, 0u) << selection.question << ": " << selection.ranked.front().id;
  }

  KernelLibrary library = *KernelLibrary::open(generated::library());
  DeviceProfile device = testing::h200();
};

TEST_P(HostileShapes, AreRefusedOrSound) {
  Imagined imagined(GetParam(), 1);
  int made = 0, refused = 0;
  for (int i = 0; i < kCallsOfEach; ++i) {
    const auto call = imagined.call();
    ++(call ? made : refused);
    if (call) expect_sound(*call);
    else EXPECT_FALSE(call.error().message.empty());
  }
  const bool is_table = GetParam().name == "q8ta_table";  // no imagined table has its 256 elements
  EXPECT_GT(made, is_table ? -1 : kCallsOfEach / 500);
  EXPECT_GT(refused, kCallsOfEach / 100);
}
INSTANTIATE_TEST_SUITE_P(Of, HostileShapes, ::testing::ValuesIn(operators()),
                         [](const auto& entry) { return std::string(entry.param.name); });

}  // namespace
}  // namespace qgen
