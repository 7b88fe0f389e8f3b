// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// glslang keeps its built-ins in tables that the whole process shares, one per #version. The first shader of a version
// fills its table (about 60 ms); later shaders copy from it. The optimiser's and the validator's objects hold state of
// one run, so they are made anew each time; that costs microseconds.
//
// The validator checks the optimised module, which is the stored one. A fault in glslang's output is either still
// there, or was optimised away and cannot reach a driver.
#include "codegen/compile/compile.h"

#include <fmt/format.h>
#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>

#include "codegen/compile/exact_arithmetic.h"
#include "codegen/compile/instructions.h"
#include "codegen/compile/word_access.h"
#include "codegen/support/storage_access.h"
#include "common/text.h"

namespace qgen::compile {
namespace {

using Messages = std::vector<Message>;

// The target version in the form that each of the three tools needs.
struct TargetRow {
  glslang::EShTargetClientVersion client;
  glslang::EShTargetLanguageVersion language;
  spv_target_env environment;
};
constexpr TargetRow kTargets[] = {
    {glslang::EShTargetVulkan_1_1, glslang::EShTargetSpv_1_3, SPV_ENV_VULKAN_1_1},
    {glslang::EShTargetVulkan_1_2, glslang::EShTargetSpv_1_5, SPV_ENV_VULKAN_1_2},
    {glslang::EShTargetVulkan_1_3, glslang::EShTargetSpv_1_6, SPV_ENV_VULKAN_1_3},
};
const TargetRow& row(Target target) { return kTargets[static_cast<size_t>(target)]; }

constexpr int kDialect = 100;         // of GL_KHR_vulkan_glsl
constexpr int kDefaultVersion = 100;  // for a text without #version: glslang then requires one
constexpr std::string_view kParserIsFull = "memory exhausted";  // in bison's words
constexpr size_t kMostMessages = 100;                           // nobody mends more at once
constexpr size_t kMostMessageBytes = 400;                       // glslang quotes names, however long they are
constexpr size_t kMostModuleBytes = size_t{4} << 20;

// ---- glslang's log --------------------------------------------------------------------------------------------------

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// "42: rest" -> 42, leaving " rest".
std::optional<uint32_t> consume_number_and_colon(std::string_view& text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<size_t>(end - text.data());
  if (error != std::errc{} || length == text.size() || text[length] != ':') return std::nullopt;
  text.remove_prefix(length + 1);
  return number;
}

void remove_all(std::string& text, std::string_view part) {
  for (size_t at = 0; (at = text.find(part, at)) != text.npos;) text.erase(at, part.size());
}

// Precisions and "temp" are nobody's choice: "' temp highp float'" -> "'float'".
std::string without_qualifiers(std::string text) {
  remove_all(text, "highp ");
  remove_all(text, "temp ");
  for (const std::string_view preposition : {"from ' ", "to ' "}) {
    const size_t at = text.find(preposition);
    if (at != text.npos) text.erase(at + preposition.size() - 1, 1);
  }
  return text;
}

// "'acc' : undeclared identifier" -> "'acc': undeclared identifier"; an empty quotation says nothing and is dropped.
std::string tidy(std::string_view line) {
  const std::string plain = without_qualifiers(std::string(trim(line)));
  std::string_view text = plain;
  if (consume(text, "'' :")) return std::string(trim(text));
  const size_t quoted_end = text.find("' :");
  if (!text.starts_with('\'') || quoted_end == std::string_view::npos) return std::string(text);
  return fmt::format("{}': {}", text.substr(0, quoted_end), trim(text.substr(quoted_end + 3)));
}

// "ERROR: 0:42: 'acc' : undeclared identifier". Sums at the end ("2 compilation errors.") are not messages.
std::optional<Message> parse_log_line(std::string_view line) {
  if (!consume(line, "ERROR: ")) return std::nullopt;
  Message message;
  std::string_view placed = line;
  if (consume_number_and_colon(placed)) {  // the number of the source string: always 0 here
    if (const auto number = consume_number_and_colon(placed)) {
      message.line = *number;
      line = placed;
    }
  }
  if (line.find("compilation errors.") != line.npos || line.find("compilation terminated") != line.npos) {
    return std::nullopt;
  }
  message.text = tidy(line);
  if (message.text == kParserIsFull) message.text = "nested too deeply for glslang; each 'else if' is a further level";
  return message;
}

// Without its middle, if it is long; never half a character.
std::string shortened(std::string text) {
  if (text.size() <= kMostMessageBytes) return text;
  size_t head = kMostMessageBytes / 2, tail = text.size() - kMostMessageBytes / 2;
  while (head > 0 && continues_letter(text[head])) --head;
  while (tail < text.size() && continues_letter(text[tail])) ++tail;
  return text.replace(head, tail - head, " ... ");
}

// Later messages of a line follow from its first. For example, errors after an undeclared name are not reported.
void add_message(Messages& messages, Message message) {
  if (messages.size() >= kMostMessages) return;
  const bool is_echo = message.line != 0 && std::any_of(messages.begin(), messages.end(), [&](const Message& known) {
                         return known.line == message.line;
                       });
  if (!is_echo) messages.push_back(std::move(message));
}

Messages parse_log(std::string_view log) {
  Messages messages;
  while (!log.empty()) {
    const size_t newline = std::min(log.find('\n'), log.size());
    const std::string_view line = trim(log.substr(0, newline));
    const bool starts_message = line.starts_with("ERROR: ") || line.starts_with("WARNING: ");
    if (auto message = parse_log_line(line)) add_message(messages, std::move(*message));
    // "Possible extensions include:" goes on in the next lines.
    if (!starts_message && !line.empty() && !messages.empty() && messages.back().text.size() < kMostMessageBytes) {
      messages.back().text += fmt::format(" {}", line);
    }
    log.remove_prefix(std::min(newline + 1, log.size()));
  }
  for (Message& message : messages) message.text = shortened(std::move(message.text));
  if (messages.empty()) messages.push_back({0, "glslang refused the text and gave no reason"});
  return messages;
}

// ---- the three steps ------------------------------------------------------------------------------------------------

void initialize_once() {
  static const bool is_initialized = glslang::InitializeProcess();
  (void)is_initialized;
}

// Modes of floating point, such as DenormPreserve, are in SPIR-V since 1.4. Older modules need an extension for them,
// which templates do not declare: they are the same for all targets.
Spirv with_float_controls(Spirv spirv) {
  constexpr std::string_view kExtension = "SPV_KHR_float_controls";
  constexpr auto kFirst = static_cast<uint32_t>(spv::Capability::DenormPreserve);
  constexpr auto kLast = static_cast<uint32_t>(spv::Capability::RoundingModeRTZ);
  bool is_needed = false;
  size_t after_capabilities = kHeaderWords;
  for_each_instruction(spirv, [&](const Instruction& instruction) {
    if (instruction.op != spv::Op::OpCapability) return;
    is_needed |= instruction.words[1] >= kFirst && instruction.words[1] <= kLast;
    after_capabilities += instruction.words.size();  // they come first
  });
  if (!is_needed) return spirv;
  std::vector<uint32_t> words(1 + kExtension.size() / sizeof(uint32_t) + 1);
  words[0] = head(words.size(), spv::Op::OpExtension);
  std::memcpy(&words[1], kExtension.data(), kExtension.size());
  spirv.insert(spirv.begin() + static_cast<ptrdiff_t>(after_capabilities), words.begin(), words.end());
  return spirv;
}

Outcome<Spirv, Messages> run_glslang(std::string_view glsl, Target target) {
  if (glsl.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return Messages{{0, "the text is larger than 2 GiB"}};
  }
  initialize_once();
  const char* text = glsl.data();
  const int length = static_cast<int>(glsl.size());
  const auto rules = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);

  glslang::TShader shader(EShLangCompute);
  shader.setStringsWithLengths(&text, &length, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, kDialect);
  shader.setEnvClient(glslang::EShClientVulkan, row(target).client);
  shader.setEnvTarget(glslang::EShTargetSpv, row(target).language);
  if (!shader.parse(GetDefaultResources(), kDefaultVersion, false, rules)) return parse_log(shader.getInfoLog());

  glslang::TProgram program;
  program.addShader(&shader);
  if (!program.link(rules)) return parse_log(program.getInfoLog());

  Spirv spirv;
  glslang::SpvOptions options;  // no debug info; OpName is there without it
  spv::SpvBuildLogger logger;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), spirv, &logger, &options);
  if (const std::string log = logger.getAllMessages(); !log.empty()) {
    return Messages{
        {0, fmt::format("glslang cannot translate this to SPIR-V: {}", trim(log.substr(0, log.find('\n'))))}};
  }
  return target == Target::vulkan1_1 ? with_float_controls(std::move(spirv)) : spirv;
}

// SPIRV-Tools quotes the instruction in a second line.
std::string in_one_line(std::string_view text) {
  std::string joined;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, newline));
    if (!line.empty()) joined += (joined.empty() ? "" : "; ") + std::string(line);
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
  return joined;
}

// glslang 15.1 turns a change of component type and use at once into one conversion, which SPIR-V does not have.
std::string_view advice(std::string_view text) {
  const bool is_two_changes = text.find("Expected Use of Matrix type and Result Type to be identical") != text.npos;
  return is_two_changes ? " (glslang needs two steps: change the matrix's component type first, then its use)" : "";
}

spvtools::MessageConsumer collect_errors(Messages& messages, std::string_view who) {
  return [&messages, who](spv_message_level_t level, const char*, const spv_position_t&, const char* text) {
    if (level > SPV_MSG_ERROR || messages.size() >= kMostMessages) return;
    messages.push_back({0, fmt::format("{}: {}{}", who, shortened(in_one_line(text)), advice(text))});
  };
}

Outcome<Spirv, Messages> failed(Messages messages, std::string_view who) {
  if (messages.empty()) messages.push_back({0, fmt::format("{} failed and gave no reason", who)});
  return messages;
}

// `register_passes` gives false where the optimiser does not know one.
template <typename Register>
Outcome<Spirv, Messages> run_passes(const Spirv& spirv, Target target, Register register_passes) {
  constexpr std::string_view kWho = "the SPIR-V optimiser";
  Messages messages;
  spvtools::Optimizer optimizer(row(target).environment);
  optimizer.SetMessageConsumer(collect_errors(messages, kWho));
  if (!register_passes(optimizer)) return failed(std::move(messages), kWho);
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);  // validate() does, on the result
  options.set_preserve_spec_constants(true);
  Spirv optimized;
  if (!optimizer.Run(spirv.data(), spirv.size(), &optimized, options)) return failed(std::move(messages), kWho);
  return optimized;
}

bool register_performance_passes(spvtools::Optimizer& optimizer) {
  optimizer.RegisterPerformancePasses();
  return true;
}
bool register_size_passes(spvtools::Optimizer& optimizer) {
  optimizer.RegisterSizePasses();
  return true;
}
auto register_flags(const std::vector<std::string>& flags) {
  return [&flags](spvtools::Optimizer& optimizer) { return optimizer.RegisterPassesFromFlags(flags); };
}

// The performance passes by their flags, which are their names.
struct SplitPasses {
  std::vector<std::string> until_unrolled, of_unrolled;
};

SplitPasses performance_passes() {
  spvtools::Optimizer optimizer(row(Target::vulkan1_3).environment);  // for all, the same passes
  register_performance_passes(optimizer);
  SplitPasses passes;
  bool is_unrolled = false;
  for (const std::string_view name : optimizer.GetPassNames()) {
    (is_unrolled ? passes.of_unrolled : passes.until_unrolled).push_back(fmt::format("--{}", name));
    is_unrolled |= name == "loop-unroll";
  }
  return passes;
}

// Without what no invocation reads or calls: a module by words may have no capability for its types.
Outcome<Spirv, Messages> without_dead_code(const Spirv& spirv, Target target) {
  const std::vector<std::string> flags = {"--eliminate-dead-functions", "--eliminate-dead-code-aggressive"};
  return run_passes(spirv, target, register_flags(flags));
}

Outcome<Spirv, Messages> optimize(const Spirv& spirv, Options options) {
  const Target target = options.target;
  if (options.optimization == Optimization::none) return spirv;
  const bool is_small = options.optimization == Optimization::size;
  if (!has_exact_arithmetic(spirv))
    return run_passes(spirv, target, is_small ? register_size_passes : register_performance_passes);
  // Nothing may see copies of exact arithmetic before they are exact again.
  const SplitPasses passes = performance_passes();
  const auto unrolled = run_passes(marked(spirv), target, register_flags(passes.until_unrolled));
  if (!unrolled) return unrolled;
  if (!is_small) return run_passes(unmarked(*unrolled), target, register_flags(passes.of_unrolled));
  const auto small = run_passes(marked(unmarked(*unrolled)), target, register_size_passes);  // which unroll once more
  return small ? unmarked(*small) : small;
}

Outcome<Spirv, Messages> validate(Spirv spirv, Target target) {
  constexpr std::string_view kWho = "the SPIR-V validator";
  Messages messages;
  spvtools::SpirvTools tools(row(target).environment);
  tools.SetMessageConsumer(collect_errors(messages, kWho));
  spvtools::ValidatorOptions options;
  options.SetAllowLocalSizeId(true);             // maintenance4, which Vulkan 1.3 requires; only its modules have it
  options.SetUniformBufferStandardLayout(true);  // Vulkan 1.2 requires it, and 1.1 has it as an extension
  if (!tools.Validate(spirv.data(), spirv.size(), options)) return failed(std::move(messages), kWho);
  return spirv;
}

}  // namespace

Outcome<Spirv, Messages> compile(std::string_view glsl, Options options) {
  auto raw = run_glslang(glsl, options.target);
  if (!raw) return raw;
  if (glsl.find(kWordAccessPragma) != glsl.npos) {
    auto in_words = with_word_access(*raw);
    if (!in_words) return Messages{{0, fmt::format("storage_access is by_words, and {}", in_words.error())}};
    if (options.optimization == Optimization::none) raw = without_dead_code(*in_words, options.target);
    else raw = *std::move(in_words);
    if (!raw) return raw;
  }
  auto optimized = optimize(*raw, options);
  if (!optimized) return optimized;
  if (const size_t bytes = optimized->size() * sizeof(uint32_t); bytes > kMostModuleBytes) {
    return Messages{
        {0, fmt::format("the module has {} KiB of SPIR-V, and may have {}", bytes >> 10, kMostModuleBytes >> 10)}};
  }
  return validate(std::move(*optimized), options.target);
}

// Ids are renumbered in order of appearance, so that variants of one template differ where they differ and compress
// against each other everywhere else.
Spirv strip(const Spirv& spirv) {
  spvtools::Optimizer optimizer(row(Target::vulkan1_3).environment);  // which reads older modules too
  optimizer.RegisterPass(spvtools::CreateStripDebugInfoPass()).RegisterPass(spvtools::CreateCompactIdsPass());
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);
  Spirv stripped;
  [[maybe_unused]] const bool done = optimizer.Run(spirv.data(), spirv.size(), &stripped, options);
  assert(done && "strip() is given what compile() made");
  return stripped;
}

std::string versions() {
  const glslang::Version version = glslang::GetVersion();
  return fmt::format("glslang {}.{}.{}, SPIRV-Tools {}", version.major, version.minor, version.patch,
                     spvSoftwareVersionString());
}

}  // namespace qgen::compile
