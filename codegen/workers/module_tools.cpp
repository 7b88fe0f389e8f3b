// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A tool in a worker is its request as bytes, the same tool there, and its answer as bytes.
#include "codegen/workers/module_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "codegen/reflect/fields.h"
#include "codegen/support/byte_stream.h"

namespace qgen::workers {

template <typename Stream>
void fields(Stream& s, Fault& f) {
  s(f.line, f.message, f.expected, f.hint);
}
template <typename Stream>
void fields(Stream& s, Refusal& r) {
  s(r.faults);
}
template <typename Stream>
void fields(Stream& s, Reflected& r) {
  s(r.interface, r.resources, r.stripped);
}

namespace {

using compile::Optimization;
using compile::Spirv;
using reflect::Language;
using reflect::NoTranslation;
using Rows = std::vector<std::vector<uint32_t>>;

// ---- in this process ------------------------------------------------------------------------------------------------

Outcome<Spirv, Refusal> compile_here(std::string_view glsl, compile::Options options) {
  auto spirv = compile::compile(glsl, options);
  if (spirv) return *std::move(spirv);
  Refusal refusal;
  for (const compile::Message& message : spirv.error()) refusal.faults.push_back({message.line, message.text, {}, {}});
  return refusal;
}

Refusal refused(const Diagnostics& errors) {
  Refusal refusal;
  for (const Diagnostic& error : errors) refusal.faults.push_back({0, error.message, error.expected, error.hint});
  return refusal;
}

Outcome<Reflected, Refusal> reflect_here(const Spirv& spirv, const Rows& rows) {
  Reflected reflected;
  auto interface = reflect::reflect(spirv);
  if (!interface) return refused(interface.error());
  reflected.interface = *std::move(interface);
  auto resources = reflect::resources_of_rows(spirv, rows);
  if (!resources) return refused(resources.error());
  reflected.resources = *std::move(resources);
  reflected.stripped = compile::strip(spirv);
  return reflected;
}

// ---- requests and answers -------------------------------------------------------------------------------------------

enum class Tool : uint8_t { compile, reflect, translate };

struct Request {
  Tool tool = Tool::compile;
  std::string glsl;
  Optimization optimization = Optimization::none;
  compile::Target target = compile::Target::vulkan1_3;
  Spirv spirv;
  Rows rows;
  Language language = Language::msl;
};
template <typename Stream>
void fields(Stream& s, Request& r) {
  s(r.tool, r.glsl, r.optimization, r.target, r.spirv, r.rows, r.language);
}

// The result of any tool; exactly one is there.
struct Answer {
  std::vector<Spirv> spirv;
  std::vector<Reflected> reflected;
  std::vector<std::string> source;
  std::vector<Refusal> refusal;
};
template <typename Stream>
void fields(Stream& s, Answer& a) {
  s(a.spirv, a.reflected, a.source, a.refusal);
}

Answer answer_to(const Request& request) {
  Answer answer;
  const auto take = [&answer](auto result, auto& into) {
    if (result) into.push_back(*std::move(result));
    else answer.refusal.push_back(std::move(result).error());
  };
  switch (request.tool) {
    case Tool::compile: take(compile_here(request.glsl, {request.optimization, request.target}), answer.spirv); break;
    case Tool::reflect: take(reflect_here(request.spirv, request.rows), answer.reflected); break;
    case Tool::translate: {
      auto source = reflect::translate(request.spirv, request.language);
      if (source) answer.source.push_back(*std::move(source));
      else answer.refusal.push_back({{{0, source.error().reason, {}, {}}}, false, 0});
      break;
    }
  }
  return answer;
}

std::string work(std::string_view bytes) {
  const auto request = from_bytes<Request>(bytes);
  return request ? to_bytes(answer_to(*request)) : "";
}

// ---- kinds of requests ----------------------------------------------------------------------------------------------

// "450": the number after #version, for which glslang makes its tables; the first of a text.
std::string kind_of(std::string_view glsl) {
  constexpr std::string_view kDirective = "#version ";
  const size_t at = glsl.find(kDirective);
  if (at == glsl.npos) return "";
  const std::string_view rest = glsl.substr(at + kDirective.size());
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return digits <= 4 ? std::string(rest.substr(0, digits)) : "";
}

void prepare(std::string_view version) {
  if (version.empty()) return;
  const std::string smallest = fmt::format("#version {}\nlayout(local_size_x = 1) in;\nvoid main() {{}}\n", version);
  (void)compile::compile(smallest, Optimization::none);
}

// ---- what a limit is called -----------------------------------------------------------------------------------------

Fault fault_of(const CutOff& cut_off, const Limits& limits) {
  constexpr std::string_view kLess =
      "possible causes are macros, unrolled loops, and functions that are inlined "
      "many times";
  Fault fault;
  switch (cut_off.cause) {
    case CutOff::Cause::cpu_time:
      fault.message = fmt::format("compiling this takes more than {} s of CPU time", limits.cpu_seconds);
      fault.hint = fmt::format("{}; --compile-seconds allows more", kLess);
      break;
    case CutOff::Cause::real_time: fault.message = "compiling this does not end, and uses no CPU time"; break;
    case CutOff::Cause::memory:
      fault.message = fmt::format("compiling this takes more than {} MiB of memory", limits.memory_mib);
      fault.hint = fmt::format("{}; --compile-memory allows more", kLess);
      break;
    case CutOff::Cause::stack:
      fault.message = fmt::format("the compiler runs out of its stack of {} MiB", limits.stack_mib);
      fault.hint = "something is nested many thousands deep: split it";
      break;
    case CutOff::Cause::crash:
      fault.message = "the compiler crashes on this";
      if (cut_off.signal != 0) fault.message += fmt::format(" ({})", ::strsignal(cut_off.signal));
      fault.hint =
          "this is a fault of glslang, SPIRV-Tools or SPIRV-Cross: remove parts of the template to find the "
          "cause";
      break;
    case CutOff::Cause::killed:
      fault.message = "the process that compiled this was killed";
      fault.hint = "the system does this if there is too little memory: a smaller -j needs less";
      break;
  }
  return fault;
}

Refusal refused(const CutOff& cut_off, const Limits& limits) {
  return {{fault_of(cut_off, limits)}, true, cut_off.real_seconds};
}

// The requested part of the answer, or the refusal.
template <typename T>
Outcome<T, Refusal> ask(ProcessPool& pool, const Request& request, std::vector<T> Answer::*part) {
  const auto bytes = pool.call(to_bytes(request), kind_of(request.glsl));
  if (!bytes) return refused(bytes.error(), pool.limits());
  auto answer = from_bytes<Answer>(*bytes);
  if (answer && (*answer.*part).size() == 1) return std::move((*answer.*part).front());
  if (answer && answer->refusal.size() == 1) return std::move(answer->refusal.front());
  return refused(CutOff{}, pool.limits());
}

}  // namespace

ModuleTools in_this_process() { return {compile_here, reflect_here, reflect::translate}; }

std::unique_ptr<ProcessPool> make_pool(size_t most_workers, const Limits& limits) {
  return std::make_unique<ProcessPool>(ProcessPool::Function{work, prepare}, most_workers, limits);
}

ModuleTools in_workers(ProcessPool& pool) {
  ModuleTools tools;
  tools.compile = [&pool](std::string_view glsl, compile::Options options) {
    Request request;
    request.tool = Tool::compile;
    request.glsl = glsl;
    request.optimization = options.optimization;
    request.target = options.target;
    return ask(pool, request, &Answer::spirv);
  };
  tools.reflect = [&pool](const Spirv& spirv, const Rows& rows) {
    Request request;
    request.tool = Tool::reflect;
    request.spirv = spirv;
    request.rows = rows;
    return ask(pool, request, &Answer::reflected);
  };
  tools.translate = [&pool](std::span<const uint32_t> spirv, Language language) -> Outcome<std::string, NoTranslation> {
    Request request;
    request.tool = Tool::translate;
    request.spirv.assign(spirv.begin(), spirv.end());
    request.language = language;
    auto source = ask(pool, request, &Answer::source);
    if (source) return *std::move(source);
    return NoTranslation{source.error().faults.front().message};
  };
  return tools;
}

}  // namespace qgen::workers
