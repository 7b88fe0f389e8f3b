// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <spirv-tools/libspirv.hpp>

#include "codegen/expression/terms.h"
#include "codegen/spec/axes.h"
#include "codegen/spec/cost_sum.h"
#include "codegen/spec/parse_spec.h"
#include "common/text.h"
#include "vocabulary/features.h"

namespace qgen {
namespace {

using spec::Axis;
using spec::Spec;

constexpr size_t kMostCombinationsShown = 20;
constexpr size_t kMostCombinationsCounted = 1'000'000'000'000;

Diagnostics complaint(std::string message, std::string expected = "", std::string hint = "") {
  Diagnostic error;
  error.message = std::move(message);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return {error};
}

const SpecJob* find_job(const Product& product, std::string_view name) {
  const auto job = std::find_if(product.jobs.begin(), product.jobs.end(),
                                [&](const SpecJob& j) { return j.spec.name.value == name; });
  return job == product.jobs.end() ? nullptr : &*job;
}

std::string disassembled(const blob_format::Module& words) {
  std::string text;
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  tools.Disassemble(words, &text, SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_NO_HEADER);
  return text;
}

std::string heading(std::string_view id) { return fmt::format("==== {}\n", id); }

const blob_format::Module& words_of(const SpecJob& job, size_t variant) {
  return *job.pack.spirv(job.modules[variant]->spirv);
}

std::string variant_text(const SpecJob& job, size_t v, Room room) {
  const std::string head = heading(job.variants[v].id);
  if (room == Room::render) return head + job.rendered[v].text;
  if (room == Room::compile) return head + disassembled(words_of(job, v));
  return head + reflect::to_text(job.modules[v]->interface);
}

// ---- --explain ------------------------------------------------------------------------------------------------------

std::string bindings_text(const Spec& spec, const reflect::Interface& interface) {
  std::string text;
  for (const auto& binding : interface.bindings) {
    const bool is_operand = binding.binding < spec.operands.size();
    text += fmt::format("  binding {}: {} ({})\n", binding.binding,
                        is_operand ? spec.operands[binding.binding].name.value : "problem fields",
                        binding.kind == BindingKind::storage_image ? "storage image" : "storage buffer");
  }
  return text;
}

std::string members_text(const std::vector<reflect::Member>& members) {
  std::string text;
  for (const auto& member : members) {
    const std::string count = member.count == 1 ? "" : fmt::format("[{}]", member.count);
    text += fmt::format("  offset {:>3}: {}{}\n", member.offset, member.name, count);
  }
  return text;
}

std::string specializations_text(const Spec& spec, const std::vector<reflect::Resources>& resources) {
  std::string text;
  const auto rows = emit::specialization_rows(spec);
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string values;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      values += fmt::format("{}{}={}", i == 0 ? "" : " ", spec.specialization[i].name.value, rows[r][i]);
    }
    std::string matrices;
    for (const auto& shape : resources[r].cooperative_matrices) {
      matrices += fmt::format(", matrices {} x {} x {}", shape.m, shape.n, shape.k);
    }
    text += fmt::format("  {}{}workgroup {}, {} bytes of shared memory{}\n", values, values.empty() ? "" : ": ",
                        fmt::join(resources[r].workgroup, " x "), resources[r].shared_bytes, matrices);
  }
  return text;
}

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format("{}:\n{}", title, body);
}

std::string conditions_text(const std::vector<spec::Condition>& conditions) {
  std::string text;
  for (const auto& condition : conditions) text += fmt::format("  {}\n", condition.text);
  return text;
}

std::string rarely_best_text(const std::vector<spec::RarelyBest>& rows) {
  std::string text;
  for (const auto& row : rows)
    text += fmt::format("  {} on {}: {}\n", row.when.text, fmt::join(spec::texts_of(row.on), ", "), row.because);
  return text;
}

// What the conditions name, in the order of the spec: each reads those above it.
std::string definitions_text(const Spec& spec) {
  std::set<std::string, std::less<>> named;
  for (const auto* conditions : {&spec.applies_when, &spec.require_device}) {
    for (const auto& condition : *conditions) named.merge(expression::definitions_of(condition.expression));
  }
  for (const auto& row : spec.rarely_best) named.merge(expression::definitions_of(row.when.expression));
  std::string text;
  for (const auto& [name, meaning] : spec.scope.definitions()) {
    if (named.contains(name)) text += fmt::format("  {} = {}\n", name, expression::short_text(meaning));
  }
  return text;
}

std::string explain_variant(const SpecJob& job, size_t v) {
  const Spec& spec = job.spec;
  const cache::CachedModule& module = *job.modules[v];
  const auto needs = names(module.interface.needs);
  std::string text = job.variants[v].id + "\n";
  text += fmt::format("  spec:       {}\n", job.file->path);
  text += fmt::format("  template:   {}\n", spec.template_path->value);
  text += fmt::format("  parameters: {}\n", expand::describe(spec, job.variants[v]));
  text += fmt::format("  needs:      {}\n",
                      needs.empty() ? "nothing beyond Vulkan 1.1" : fmt::format("{}", fmt::join(needs, " ")));
  if (const unsigned size = job.variants[v].subgroup_size) text += fmt::format("  subgroups:  of {}\n", size);
  text += fmt::format("  module:     {} bytes of SPIR-V\n", words_of(job, v).size() * sizeof(uint32_t));
  text += section("bindings", bindings_text(spec, module.interface));
  text += section("push constants", members_text(module.interface.push_constants));
  text += section("kernels", specializations_text(spec, module.resources));
  text += section("applies when", conditions_text(spec.applies_when));
  text += section("requires of the device", conditions_text(spec.require_device));
  text += section("rarely the best", rarely_best_text(spec.rarely_best));
  text += section("definitions", definitions_text(spec));
  return wrapped_lines(text);
}

// ---- --why-not ------------------------------------------------------------------------------------------------------

struct Question {
  std::string op;
  std::vector<std::pair<std::string, std::string>> values;
};

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

Result<Question> parse_question(std::string_view text) {
  const auto malformed = [&](std::string_view fault) {
    return complaint(fmt::format("cannot read '{}': {}", text, fault),
                     "an operator and values of its parameters, such as 'copy(dtype=f32, vec=4)'");
  };
  Question question;
  const size_t open = text.find('(');
  if (open == text.npos) {  // all combinations
    question.op = trimmed(text);
    return question;
  }
  if (!trimmed(text).ends_with(')')) return malformed("it does not end with ')'");
  question.op = trimmed(text.substr(0, open));
  std::string_view rest = text.substr(open + 1, text.rfind(')') - open - 1);
  while (!trimmed(rest).empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view pair = rest.substr(0, comma);
    const size_t equals = pair.find('=');
    if (equals == pair.npos) return malformed(fmt::format("'{}' has no '='", trimmed(pair)));
    const std::string name(trimmed(pair.substr(0, equals)));
    const auto is_given = [&](const auto& value) { return value.first == name; };
    if (std::ranges::any_of(question.values, is_given)) return malformed(fmt::format("'{}' is given twice", name));
    question.values.emplace_back(name, trimmed(pair.substr(equals + 1)));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return question;
}

// An axis, with the values that the question does not fix.
struct Admitted {
  spec::AxisGroup group;
  std::vector<size_t> choices;
};

std::vector<Admitted> all_admitted(const Spec& spec) {
  std::vector<Admitted> admitted;
  for (const spec::AxisGroup& group : spec::groups_of(spec.parameters)) {
    Admitted& one = admitted.emplace_back(Admitted{group, {}});
    for (size_t i = 0; i < group.size(); ++i) one.choices.push_back(i);
  }
  return admitted;
}

// The texts of a parameter's values, one a choice; none if the axis has no parameter of this name.
std::vector<std::string> value_texts(const spec::AxisGroup& group, std::string_view name) {
  const auto axis = std::ranges::find(group.axes, name, [](const Axis& a) { return a.name.value; });
  return axis != group.axes.end() ? spec::texts_of(*axis) : std::vector<std::string>();
}

Result<std::vector<Admitted>> admitted_choices(const Spec& spec, const Question& question) {
  std::vector<Admitted> admitted = all_admitted(spec);
  std::vector<std::string> names;
  for (const Axis& axis : spec.parameters) names.push_back(axis.name.value);
  for (const auto& [name, text] : question.values) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return complaint(fmt::format("'{}' has no parameter '{}'", question.op, name), one_of(names),
                       suggest(name, names));
    }
    for (Admitted& one : admitted) {
      const std::vector<std::string> texts = value_texts(one.group, name);
      if (texts.empty()) continue;
      const bool is_number = text.find_first_not_of("0123456789") == text.npos;  // and near to every other
      if (std::find(texts.begin(), texts.end(), text) == texts.end()) {
        return complaint(fmt::format("parameter '{}' has no value '{}'", name, text), one_of(texts),
                         is_number ? "" : suggest(text, texts));
      }
      std::erase_if(one.choices, [&, &asked = text](size_t choice) { return texts[choice] != asked; });
    }
  }
  return admitted;
}

// Whether no record has both of two requested values.
bool is_empty(const std::vector<Admitted>& admitted) {
  return std::any_of(admitted.begin(), admitted.end(), [](const Admitted& one) { return one.choices.empty(); });
}

// The result for one combination.
std::string verdict(const SpecJob& job, const std::vector<expression::Value>& values) {
  const expand::Variant combination{"", values};
  std::string text = fmt::format("{}\n", expand::describe(job.spec, combination));
  bool is_removed = false;
  for (const auto& condition : job.spec.require) {
    if (std::get<bool>(expression::evaluate(condition.expression, values))) continue;
    text += fmt::format("  removed by {}: require {}\n", to_text(condition.expression.where()), condition.text);
    is_removed = true;
  }
  if (is_removed) return text;
  const auto variant = std::find_if(job.variants.begin(), job.variants.end(),
                                    [&](const expand::Variant& v) { return v.values == values; });
  return text + (variant == job.variants.end() ? "  exists\n" : fmt::format("  exists as {}\n", variant->id));
}

size_t count_of(const std::vector<Admitted>& admitted) {
  size_t count = 1;
  for (const Admitted& one : admitted) count = std::min(count * one.choices.size(), kMostCombinationsCounted);
  return count;
}

// Steps `places` to the next combination, the last axis fastest.
void advance(std::vector<size_t>& places, const std::vector<Admitted>& admitted) {
  for (size_t i = places.size(); i-- > 0;) {
    if (++places[i] < admitted[i].choices.size()) return;
    places[i] = 0;
  }
}

std::vector<expression::Value> values_at(const std::vector<size_t>& places, const std::vector<Admitted>& admitted) {
  std::vector<expression::Value> values;
  for (size_t i = 0; i < places.size(); ++i) {
    for (const Axis& axis : admitted[i].group.axes) values.push_back(axis.values[admitted[i].choices[places[i]]].value);
  }
  return values;
}

}  // namespace

std::string text_of(const Product& product, Room room) {
  std::string text;
  for (const emit::File& file : product.files) {
    if (file.path != kBlobFile) text += heading(file.path) + file.text;
  }
  for (const SpecJob& job : product.jobs) {
    if (room == Room::spec) text += spec::to_text(job.spec);
    if (room == Room::expand) text += expand::to_text(job.spec, job.variants);
    if (room == Room::spec || room == Room::expand || room == Room::emit) continue;
    for (size_t v = 0; v < job.variants.size(); ++v) text += variant_text(job, v, room);
  }
  return text;
}

std::string list_variants(const Product& product) {
  std::string text;
  for (const SpecJob& job : product.jobs) text += expand::to_text(job.spec, job.variants);
  return text;
}

Result<std::string> explain(const Product& product, std::string_view id) {
  for (const SpecJob& job : product.jobs) {
    for (size_t v = 0; v < job.variants.size(); ++v) {
      if (job.variants[v].id == id) return explain_variant(job, v);
    }
  }
  return complaint(fmt::format("no variant is named '{}'", id), "",
                   "--list names them all, --why-not prints why a combination was removed");
}

namespace {

Result<const SpecJob*> job_of(const Product& product, const std::string& name) {
  if (const SpecJob* job = find_job(product, name)) return job;
  std::vector<std::string> names;
  for (const SpecJob& one : product.jobs) names.push_back(one.spec.name.value);
  const std::string hint = suggest(name, names);  // else there are a hundred names
  return complaint(fmt::format("no operator is named '{}'", name), hint.empty() ? one_of(names) : "", hint);
}

}  // namespace

Result<std::string> explain_cost(const Product& product, std::string_view text,
                                 const std::vector<DeviceProfile>& devices) {
  if (devices.size() != 1)
    return complaint("a cost depends on the device", "--for FILE, once", "devices/ describes many devices");
  const auto question = parse_question(text);
  if (!question) return question.error();
  const auto job = job_of(product, question->op);
  if (!job) return job.error();
  const auto parts = spec::cost_sum((*job)->spec, question->values, devices.front().numbers);
  if (!parts) return parts.error();
  return fmt::format("{} on {}\n{}", question->op, devices.front().name, spec::to_text(*parts));
}

Result<std::string> why_not(const Product& product, std::string_view text) {
  const auto question = parse_question(text);
  if (!question) return question.error();
  const auto found = job_of(product, question->op);
  if (!found) return found.error();
  const SpecJob* job = *found;
  const auto admitted = admitted_choices(job->spec, *question);
  if (!admitted) return admitted.error();
  if (is_empty(*admitted)) return std::string("no record of the spec has these values together\n");

  std::string answer;
  const size_t count = count_of(*admitted);
  std::vector<size_t> places(admitted->size(), 0);
  for (size_t i = 0; i < std::min(count, kMostCombinationsShown); ++i) {
    answer += verdict(*job, values_at(places, *admitted));
    advance(places, *admitted);
  }
  if (count == kMostCombinationsCounted) answer += fmt::format("({} combinations or more)\n", count);
  else if (count > kMostCombinationsShown)
    answer += fmt::format("({} more combinations)\n", count - kMostCombinationsShown);
  return answer;
}

Translated translate_all(const Product& product, reflect::Language language, const workers::ModuleTools& tools) {
  const bool is_msl = language == reflect::Language::msl;
  Translated translated;
  for (const SpecJob& job : product.jobs) {
    for (size_t v = 0; v < job.variants.size(); ++v) {
      const std::string& id = job.variants[v].id;
      auto source = tools.translate(words_of(job, v), language);
      if (source) {
        translated.files.push_back(
            {fmt::format("{}/{}/{}.{}", is_msl ? "msl" : "hlsl", job.spec.name.value, id, is_msl ? "metal" : "hlsl"),
             *std::move(source)});
      } else {
        translated.refused.push_back(fmt::format("{}: {}", id, source.error().reason));
      }
    }
  }
  return translated;
}

}  // namespace qgen
