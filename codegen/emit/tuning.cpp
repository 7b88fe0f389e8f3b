// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// cpp/tunings.cpp: the times of each device as plain arrays. A problem is spelled once, a choice once for a device.
#include "codegen/emit/tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "codegen/emit/cpp_names.h"
#include "codegen/emit/products.h"
#include "codegen/spec/device_names.h"
#include "codegen/support/text_writer.h"
#include "runtime/engine/library/tuning_info.h"
#include "runtime/engine/selector/force.h"
#include "runtime/engine/selector/select.h"

namespace qgen::emit {
namespace {

// ---- ids ------------------------------------------------------------------------------------------------------------

// "workgroup128" of each row, as runtime/engine/selector spells them; the fields of a record follow each other.
std::set<std::string, std::less<>> specialization_ids(const spec::Spec& spec) {
  std::set<std::string, std::less<>> ids;
  for (const std::vector<uint32_t>& row : specialization_rows(spec)) {
    std::string id;
    const spec::Axis* before = nullptr;
    for (size_t i = 0; i < row.size(); ++i) {
      const spec::Axis& axis = spec.specialization[i];
      const bool goes_on = before && !axis.record.empty() && axis.record == before->record;
      const std::string& name = axis.name.value;
      if (before && !goes_on) id += '.';
      id += fmt::format("{}{}", axis.record.empty() ? name : name.substr(axis.record.size() + 1), row[i]);
      before = &axis;
    }
    ids.insert(id);
  }
  return ids;
}

class Finder {
 public:
  explicit Finder(std::span<const Family> families) : families_(families) {
    for (size_t f = 0; f < families.size(); ++f) {
      places_.emplace(families[f].spec->name.value, f);
      specializations_.push_back(specialization_ids(*families[f].spec));
    }
  }

  // Why no problem of the operator can have this key; empty: one can.
  std::string fault_of_key(std::string_view key) {
    const auto family = places_.find(operator_of(key));
    if (family == places_.end()) return "";
    auto [shape, is_new] = shapes_.try_emplace(family->second);
    if (is_new) shape->second.describe(*families_[family->second].spec);
    const auto problem = problem_of(key, shape->second.op);
    return problem ? "" : problem.error().message;
  }

  // The kernels that a choice of the operator launches; nullopt: there is no such choice.
  std::optional<std::vector<KernelIndex>> find(std::string_view op, std::string_view choice) const {
    const auto family = places_.find(op);
    if (family == places_.end()) return std::nullopt;
    const size_t parenthesis = choice.find('(');
    if (parenthesis == choice.npos) {
      const auto place = find_kernel(family->second, choice);
      return place ? std::optional(std::vector{*place}) : std::nullopt;
    }
    return find_steps(*families_[family->second].spec, choice.substr(0, parenthesis), selector::step_ids(choice));
  }

 private:
  std::optional<KernelIndex> find_kernel(size_t family, std::string_view id) const {
    const size_t slash = id.find('/');
    const auto& kernels = families_[family].kernels;
    const auto kernel =
        std::ranges::find(kernels, id.substr(0, slash), [](const Kernel& k) { return std::string_view(k.variant.id); });
    const std::string_view specialization = slash == id.npos ? "" : id.substr(slash + 1);
    if (kernel == kernels.end() || !specializations_[family].contains(specialization)) return std::nullopt;
    return KernelIndex{family, static_cast<size_t>(kernel - kernels.begin())};
  }

  std::optional<std::vector<KernelIndex>> find_steps(const spec::Spec& spec, std::string_view id,
                                                     const std::vector<std::string>& kernels) const {
    const auto recipe = std::ranges::find_if(
        spec.recipes, [&](const spec::Recipe& r) { return id == fmt::format("{}.{}", spec.name.value, r.name.value); });
    if (recipe == spec.recipes.end() || recipe->steps.size() != kernels.size()) return std::nullopt;
    std::vector<KernelIndex> places;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const auto family = places_.find(recipe->steps[i].kernel.value);
      const auto place = family == places_.end() ? std::nullopt : find_kernel(family->second, kernels[i]);
      if (!place) return std::nullopt;
      places.push_back(*place);
    }
    return places;
  }

  static_assert(static_cast<int>(spec::FieldKind::u32) == static_cast<int>(FieldInfo::Kind::u32) &&
                static_cast<int>(spec::FieldKind::i32) == static_cast<int>(FieldInfo::Kind::i32) &&
                static_cast<int>(spec::FieldKind::f32) == static_cast<int>(FieldInfo::Kind::f32));

  // The possible values in keys of an operator, according to its tables.
  struct Shape {
    std::deque<std::vector<std::string_view>> words;
    std::vector<FieldInfo> fields;
    std::vector<OperandInfo> operands;
    OperatorInfo op{};

    void describe(const spec::Spec& spec) {
      uint16_t offset = 0;
      for (const spec::ProblemField& field : spec.problem) {
        auto& of_field = words.emplace_back();
        for (const auto& word : field.words) of_field.push_back(word.value);
        // A key may leave out values that only kernels read. The tables decide which; here it may leave out any.
        fields.push_back({field.name.value, static_cast<FieldInfo::Kind>(field.kind), offset,
                          static_cast<uint16_t>(field.count), of_field, true});
        offset = static_cast<uint16_t>(offset + field.count * sizeof(uint32_t));
      }
      for (const spec::Operand& operand : spec.operands) {
        operands.push_back({operand.name.value, Access::read, operand.is_optional});
      }
      op.name = spec.name.value;
      op.fields = fields;
      op.operands = operands;
      op.problem_bytes = offset;
    }
  };

  std::span<const Family> families_;
  std::map<size_t, Shape> shapes_;                                   // of families whose keys were looked up
  std::map<std::string, size_t, std::less<>> places_;                // of families, by name
  std::vector<std::set<std::string, std::less<>>> specializations_;  // of each family
};

uint64_t digest_of(const std::vector<KernelIndex>& kernels, bool is_recipe, std::span<const Family> families) {
  std::vector<uint64_t> digests;
  for (const KernelIndex& place : kernels)
    digests.push_back(families[place.family].kernels[place.kernel].module_digest);
  return is_recipe ? joined_digest(digests) : digests.front();
}

// ---- tables ---------------------------------------------------------------------------------------------------------

std::string numbers_of(const DeviceNumbers& numbers) {
  std::vector<std::string> members;
  for (const spec::DeviceName& number : spec::device_names()) {
    members.push_back(fmt::format(".{} = {}", number.name, expression::to_text(number.value(numbers))));
  }
  return fmt::format("{{{}}}", fmt::join(members, ", "));
}

// With an explicit length, no compiler counts its characters: Clang gives up a constant expression after 2^20 steps.
std::string view_of(std::string_view text) { return quoted(text) + "sv"; }

struct TunedTables {
  std::vector<std::string> choices, problems, times;
  std::string date;  // the newest
};

// ", false, true": those of TunedTime, up to the last one that is set.
std::string flags_of(const tuning::TunedRow& row) {
  std::string text;
  size_t length = 0;
  for (const bool flag : {row.is_cold, row.is_final, row.is_marked()}) {
    text += flag ? ", true" : ", false";
    if (flag) length = text.size();
  }
  return text.substr(0, length);
}

TunedTables tables_of(const CheckedTuning& tuning) {
  std::map<std::string_view, size_t> choices;
  for (const CheckedRow& row : tuning.rows) choices.emplace(row.row->kernel, 0);
  TunedTables tables;
  for (auto& [id, place] : choices) {
    place = tables.choices.size();
    tables.choices.push_back(view_of(id));
  }
  for (size_t i = 0; i < tuning.rows.size(); ++i) {
    const tuning::TunedRow& row = *tuning.rows[i].row;
    tables.times.push_back(fmt::format("{{{}, {:.6g}{}}}", choices.at(row.kernel), row.us, flags_of(row)));
    tables.date = std::max(tables.date, row.date);
    const bool is_last = i + 1 == tuning.rows.size() || tuning.rows[i + 1].row->problem != row.problem;
    if (is_last) tables.problems.push_back(fmt::format("{{{}, {}}}", view_of(row.problem), i + 1));
  }
  return tables;
}

void print_lines(TextWriter& out, std::string_view head, const std::vector<std::string>& rows) {
  out.text(head);
  {
    const auto indented = out.indent();
    for (const std::string& row : rows) out.line("{},", row);
  }
  out.text("};");
}

// No operator's namespace.
std::string name_of(const CheckedTuning& tuning) { return identifier("tuning_" + tuning.name); }

void print_device(TextWriter& out, const CheckedTuning& tuning) {
  const std::string name = name_of(tuning);
  const DeviceProfile& device = tuning.file->device;
  const TunedTables tables = tables_of(tuning);
  out.line("namespace {} {{", name);
  out.text("using namespace std::string_view_literals;");
  print_lines(out, "constexpr std::string_view kChoices[] = {", tables.choices);
  print_lines(out, "constexpr TunedProblem kProblems[] = {", tables.problems);
  out.filled("constexpr TunedTime kTimes[] = {", tables.times, "};");
  out.text("constexpr TuningInfo kTuning = {");
  {
    const auto fields = out.indent();
    const auto more = out.indent();
    out.line(".name = {},", quoted(device.name));
    out.line(".vendor_id = 0x{:04x},", device.vendor_id);
    out.line(".device_id = 0x{:04x},", device.device_id);
    out.line(".architecture = {},", quoted(device.architecture));
    out.line(".driver_name = {},", quoted(device.driver_name));
    out.line(".driver_info = {},", quoted(device.driver_info));
    out.line(".date = {},", quoted(tables.date));
    out.code(fmt::format(".numbers = {},", numbers_of(device.numbers)));
    out.text(".choices = kChoices,");
    out.text(".problems = kProblems,");
    out.text(".times = kTimes,");
  }
  out.text("};");
  out.line("}}  // namespace {}", name);
  out.blank();
}

}  // namespace

namespace {

// "line 12: ", where it is known.
std::string place_in(const tuning::TuningFile& file, std::string_view problem) {
  const auto line = file.lines.find(problem);
  return line == file.lines.end() ? "" : fmt::format("line {}: ", line->second);
}

}  // namespace

CheckedTuning check_tuning(const std::string& name, const tuning::TuningFile& file, std::span<const Family> families) {
  Finder finder(families);
  std::map<std::string_view, std::string> faults;  // of keys
  CheckedTuning checked{.name = name, .file = &file};
  for (const tuning::TunedRow& row : file.rows) {
    const auto [fault, is_new] = faults.try_emplace(row.problem);
    if (is_new) fault->second = finder.fault_of_key(row.problem);
    if (!fault->second.empty()) {
      checked.impossible.add(place_in(file, row.problem) + fault->second);
      continue;
    }
    const auto kernels = finder.find(operator_of(row.problem), row.kernel);
    if (!kernels) {
      checked.unknown.add(row.kernel);
    } else if (digest_of(*kernels, row.kernel.find('(') != std::string::npos, families) != row.digest) {
      checked.changed.add(row.kernel);
    } else {
      checked.rows.push_back({&row, *kernels});
    }
  }
  std::ranges::stable_sort(checked.rows, {}, [](const CheckedRow& row) { return tuning::order_of(*row.row); });
  return checked;
}

uint64_t table_bytes(const CheckedTuning& tuning) {
  std::set<std::string_view> choices, problems;
  for (const CheckedRow& row : tuning.rows) {
    choices.insert(row.row->kernel);
    problems.insert(row.row->problem);
  }
  uint64_t bytes = choices.size() * sizeof(std::string_view) + problems.size() * sizeof(TunedProblem) +
                   tuning.rows.size() * sizeof(TunedTime);
  for (const auto& texts : {choices, problems}) {
    for (const std::string_view text : texts) bytes += text.size() + 1;
  }
  return bytes;
}

std::string to_text(const CheckedTuning& tuning) {
  const auto count = [](size_t number) { return fmt::format("{} time{}", number, number == 1 ? "" : "s"); };
  std::string text = fmt::format("tuning of {}: {}, {:.1f} kB of tables", tuning.file->device.name,
                                 count(tuning.rows.size()), static_cast<double>(table_bytes(tuning)) / 1000);
  const auto tell = [&](const tuning::LeftOut& rows, std::string_view why) {
    if (rows.rows == 0) return;
    text += fmt::format("; {} left out, of kernels that {}, the first of '{}'", count(rows.rows), why, rows.first);
  };
  tell(tuning.changed, "have changed since");
  if (tuning.impossible.rows != 0) {
    text += fmt::format("; {} left out, of problems that do not exist, the first in {}", count(tuning.impossible.rows),
                        tuning.impossible.first);
  }
  tell(tuning.unknown, "do not exist");
  return text;
}

std::string tunings_source(std::span<const CheckedTuning> tunings, const Options& options) {
  TextWriter out;
  out.line("// {}. Do not edit.", kGeneratedMark);
  out.text("//");
  out.text("// Times that were measured, as --tuning gave them.");
  out.text("#include \"registry.h\"");
  out.blank();
  out.text(open_namespace(options, ""));
  out.text("namespace {");
  out.blank();
  std::vector<std::string> pointers;
  for (const CheckedTuning& tuning : tunings) {
    if (tuning.rows.empty()) continue;
    print_device(out, tuning);
    pointers.push_back(fmt::format("&{}::kTuning", name_of(tuning)));
  }
  if (!pointers.empty()) {
    out.filled("constexpr const TuningInfo* kTunings[] = {", pointers, "};");
    out.blank();
  }
  out.text("}  // namespace");
  out.blank();
  out.line("extern constinit const std::span<const TuningInfo* const> tunings = {};",
           pointers.empty() ? "{}" : "kTunings");
  out.blank();
  out.text(close_namespace(options, ""));
  return std::move(out).take();
}

}  // namespace qgen::emit
