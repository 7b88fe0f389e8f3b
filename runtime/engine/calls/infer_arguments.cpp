// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/engine/calls/infer_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "common/number.h"
#include "runtime/engine/calls/attributes.h"
#include "runtime/engine/calls/placement.h"
#include "vocabulary/layouts.h"

namespace qgen {
namespace {

// ---- shapes ---------------------------------------------------------------------------------------------------------

std::string to_text(const ShapeInfo& info) {
  std::vector<std::string_view> sides;
  if (info.has_leading) sides.emplace_back("...");
  sides.insert(sides.end(), info.sides.begin(), info.sides.begin() + info.rank);
  return fmt::format("[{}]", fmt::join(sides, ", "));
}

// The number that a side is, or nothing if it is a name.
std::optional<int64_t> number_of(std::string_view side) { return read_number<int64_t>(side); }

// The length of each named dimension, and the tensor that set it.
struct Side {
  int64_t length;
  const TensorInfo* of;
};
using Sides = std::map<std::string_view, Side>;

bool has_rank(const ShapeInfo& info, const Shape& shape) {
  return info.has_leading ? shape.size() >= info.rank : shape.size() == info.rank;
}

// The dimension of `shape` that differs from the known ones; nullptr: none.
const std::string_view* first_misfit(const ShapeInfo& info, const Shape& shape, const Sides& known) {
  for (size_t i = 0; i < info.rank; ++i) {
    const int64_t length = shape[shape.size() - info.rank + i];
    const auto number = number_of(info.sides[i]);
    const auto side = known.find(info.sides[i]);
    const bool differs = number ? length != *number : side != known.end() && side->second.length != length;
    if (differs) return &info.sides[i];
  }
  return nullptr;
}

void learn(const ShapeInfo& info, const Shape& shape, const TensorInfo& tensor, Sides& known) {
  for (size_t i = 0; i < info.rank; ++i) {
    if (!number_of(info.sides[i])) known.emplace(info.sides[i], Side{shape[shape.size() - info.rank + i], &tensor});
  }
}

std::string lengths_text(std::span<const ShapeInfo> infos, const Sides& known) {
  std::vector<std::string> texts;
  for (const auto& [name, side] : known) {
    const bool is_read = std::ranges::any_of(infos, [&name = name](const ShapeInfo& info) {
      return std::find(info.sides.begin(), info.sides.begin() + info.rank, name) != info.sides.begin() + info.rank;
    });
    if (is_read) texts.push_back(fmt::format("{} of {} is {}", name, side.of->name, side.length));
  }
  return texts.empty() ? "" : fmt::format(", and {}", fmt::join(texts, ", "));
}

Done check_sides(const TensorInfo& info, const Shape& shape, Sides& known) {
  for (const ShapeInfo& possible : info.shapes) {
    if (!has_rank(possible, shape) || first_misfit(possible, shape, known)) continue;
    learn(possible, shape, info, known);
    return std::monostate{};
  }
  return refused(fmt::format("{} has shape {}", info.name, qgen::to_text(shape)),
                 fmt::format("it is {}{}", to_text(info.shapes), lengths_text(info.shapes, known)));
}

// ---- representations ------------------------------------------------------------------------------------------------

Done check_lying(const TensorInfo& info, const ViewedDesc& tensor) {
  // A weight has the form that the chosen kernel reads.
  if (info.role == TensorInfo::Role::weight) return check_size(info.name, tensor.tensor);
  if (Done possible = check_representation(info, tensor.tensor); !possible) return possible;
  return check_view(info.name, tensor);
}

// Checks the outputs of infer(): their shapes may be too large for kernels.
Done check_outputs(const SignatureInfo& signature, const Call& call) {
  for (const TensorInfo& info : signature.tensors) {
    const auto& tensor = call.operands[info.operand];
    if (info.role != TensorInfo::Role::output || !tensor) continue;
    if (Done possible = check_dtype(info.name, tensor->dtype, info.dtypes); !possible) return possible;
    if (Done lies = check_representation(info, *tensor); !lies) return lies;
  }
  return std::monostate{};
}

// ---- all of it ------------------------------------------------------------------------------------------------------

Done check_tensors(const InferArguments& arguments) {
  Sides known;
  for (const TensorInfo& info : arguments.signature->tensors) {
    if (info.role != TensorInfo::Role::input && info.role != TensorInfo::Role::weight) continue;
    const auto& tensor = arguments.tensors[info.operand];
    if (!tensor && info.is_optional) continue;
    if (!tensor) return refused(fmt::format("'{}' needs input '{}'", arguments.signature->name, info.name));
    if (tensor->tensor.is_moved_from) return moved_from(fmt::format("tensor '{}'", info.name));
    if (Done possible = check_dtype(info.name, tensor->tensor.dtype, info.dtypes); !possible) return possible;
    if (Done lies = check_lying(info, *tensor); !lies) return lies;
    if (Done fits = check_sides(info, tensor->view.shape, known); !fits) return fits;
  }
  return std::monostate{};
}

// Kernels compute in f32: a number that f32 holds only as infinity or 0 is none that they could be given.
Done check_real(const AttributeInfo& info, double value) {
  const auto given = static_cast<float>(value);
  if (std::isfinite(given) && (given == 0) == (value == 0)) return std::monostate{};
  const char* why = !std::isfinite(value) ? "a finite number"
                    : given == 0          ? "0, or at least 1.4e-45 in magnitude, the least that f32 holds"
                                          : "a number within the range of f32, up to 3.4e38";
  return refused(fmt::format("{} is {}, and must be {}", info.name, value, why));
}

Done check_attribute(const AttributeInfo& info, const AttributeValue& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  if (std::holds_alternative<std::string>(value)) {
    const auto known = converted(info, value);
    return known ? Done(std::monostate{}) : known.error();
  }
  if (real) {
    if (Done sound = check_real(info, *real); !sound) return sound;
  }
  if (info.range.empty() || (!integer && !real)) return std::monostate{};
  const double number = integer ? static_cast<double>(*integer) : *real;
  if (number >= info.least && number <= info.greatest) return std::monostate{};
  return refused(fmt::format("{} is {}, and can be {}", info.name, qgen::to_text(value), info.range));
}

Done check_representations(const InferArguments& arguments) {
  for (const TensorInfo& info : arguments.signature->tensors) {
    const auto& representation = arguments.representations[info.operand];
    if (info.role != TensorInfo::Role::output || !representation) continue;
    if (info.has_representation) {
      if (Done possible =
              check_representation(info, {.storage = representation->storage, .layout = representation->layout});
          !possible)
        return possible;
      continue;
    }
    if (*representation == Representation{}) continue;
    return refused(fmt::format("{} of '{}' has a fixed storage and layout, and a {} as {} was requested", info.name,
                               arguments.signature->name, name(representation->storage), name(representation->layout)));
  }
  return std::monostate{};
}

}  // namespace

std::string to_text(std::span<const ShapeInfo> infos) {
  std::vector<std::string> texts;
  for (const ShapeInfo& info : infos) texts.push_back(to_text(info));
  return fmt::format("{}", fmt::join(texts, " or "));
}

InferArguments::InferArguments(const SignatureInfo& of)
    : signature(&of),
      tensors(of.tensors.size()),
      attributes(of.attributes.size()),
      representations(of.tensors.size()) {}

Representation InferArguments::representation(size_t operand) const {
  if (representations[operand]) return *representations[operand];
  const TensorInfo& info = signature->tensors[operand];
  if (info.source == kAbsent || !tensors[info.source]) return {};
  return {tensors[info.source]->tensor.storage, tensors[info.source]->tensor.layout};
}

DType InferArguments::dtype(size_t index) const { return *dtype_named(std::get<std::string>(*attributes[index])); }

Layout InferArguments::layout(size_t index) const { return *find_layout(std::get<std::string>(*attributes[index])); }

size_t InferArguments::word(size_t index) const {
  const auto& words = signature->attributes[index].words;
  return static_cast<size_t>(std::ranges::find(words, std::get<std::string>(*attributes[index])) - words.begin());
}

AttributeValue InferArguments::spelled(size_t index, size_t word) const {
  const auto& words = signature->attributes[index].words;
  return std::string(word < words.size() ? words[word] : "?");
}

Done check_signature(const InferArguments& arguments) {
  if (Done sound = check_tensors(arguments); !sound) return sound;
  for (size_t i = 0; i < arguments.attributes.size(); ++i) {
    if (!arguments.attributes[i]) continue;
    if (Done sound = check_attribute(arguments.signature->attributes[i], *arguments.attributes[i]); !sound)
      return sound;
  }
  return check_representations(arguments);
}

Expected<Call> checked(const InferArguments& arguments, Expected<Call> (*infer)(const InferArguments&)) {
  if (Done sound = check_signature(arguments); !sound) return sound.error();
  auto call = infer(arguments);
  if (!call) return call;
  if (Done possible = check_outputs(*arguments.signature, *call); !possible) return possible.error();
  call->arguments = std::make_shared<const InferArguments>(arguments);
  return call;
}

Done add_derived(Executor& executor, const SignatureInfo& signature, const Call& call, ArgumentList& arguments) {
  for (const TensorInfo& info : signature.tensors) {
    if (info.role != TensorInfo::Role::derived) continue;
    const auto sums = row_sums(executor, call, *std::get<Weight*>(arguments[info.source]));
    if (!sums) return sums.error();
    arguments[info.operand] = *sums;
  }
  return std::monostate{};
}

std::string question_of(const Call& call, const DeviceProfile& device) {
  const SignatureInfo& signature = *call.arguments->signature;
  std::vector<std::string> inputs, outputs, attributes;
  for (const TensorInfo& info : signature.tensors) {
    const bool is_output = info.role == TensorInfo::Role::output;
    const auto& input = call.arguments->tensors[info.operand];
    const std::optional<TensorDesc> tensor = is_output ? call.operands[info.operand]
                                             : input   ? std::optional(input->tensor)
                                                       : std::nullopt;
    if (!tensor) continue;
    (is_output ? outputs : inputs).push_back(fmt::format("{} {}", info.name, operand_text(operand_of(*tensor))));
  }
  for (size_t i = 0; i < signature.attributes.size(); ++i) {
    const auto& value = call.arguments->attributes[i];
    if (!value) continue;
    const auto standard = parse_attribute(signature.attributes[i], signature.attributes[i].otherwise);
    if (standard && *standard == *value) continue;
    attributes.push_back(fmt::format("{} {}", signature.attributes[i].name, qgen::to_text(*value)));
  }
  return fmt::format("{} of {} -> {}{}{} on \"{}\"", signature.name, fmt::join(inputs, ", "), fmt::join(outputs, ", "),
                     attributes.empty() ? "" : " with ", fmt::join(attributes, ", "), device.name);
}

}  // namespace qgen
