// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "codegen/spec/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "vocabulary/dtypes.h"
#include "vocabulary/features.h"
#include "vocabulary/layouts.h"

namespace qgen::spec {
namespace {

std::vector<std::string> texts_of(std::span<const std::string_view> names) { return {names.begin(), names.end()}; }

// The reserved words: words of expressions, the two scopes with separate names, and YAML's words for null.
constexpr std::string_view kOurs[] = {"and", "in", "not", "or", "device", "problem", "null", "Null", "NULL"};
constexpr std::string_view kCpp[] = {
    "alignas",   "alignof",   "asm",      "auto",     "bitand",       "bitor",     "bool",      "break",
    "case",      "catch",     "char",     "class",    "compl",        "concept",   "const",     "consteval",
    "constexpr", "constinit", "continue", "decltype", "default",      "delete",    "do",        "double",
    "else",      "enum",      "explicit", "export",   "extern",       "false",     "float",     "for",
    "friend",    "goto",      "if",       "inline",   "int",          "long",      "mutable",   "namespace",
    "new",       "noexcept",  "nullptr",  "operator", "private",      "protected", "public",    "register",
    "requires",  "return",    "short",    "signed",   "sizeof",       "static",    "struct",    "switch",
    "template",  "this",      "throw",    "true",     "try",          "typedef",   "typeid",    "typename",
    "union",     "unsigned",  "using",    "virtual",  "void",         "volatile",  "while",     "xor",
    "and_eq",    "char8_t",   "char16_t", "char32_t", "const_cast",   "co_await",  "co_return", "co_yield",
    "not_eq",    "or_eq",     "wchar_t",  "xor_eq",   "static_assert"};

// The reserved words of GLSL 4.60 except its numbered types (vec4, image3D: see is_glsl_type), and those of C++.
constexpr std::string_view kGlsl[] = {
    "input",      "output",   "inout",   "out",      "buffer",        "shared",   "uniform",  "varying",   "attribute",
    "layout",     "centroid", "flat",    "smooth",   "noperspective", "patch",    "sample",   "invariant", "precise",
    "precision",  "highp",    "mediump", "lowp",     "coherent",      "restrict", "readonly", "writeonly", "discard",
    "subroutine", "uint",     "half",    "fixed",    "filter",        "cast",     "common",   "partition", "active",
    "superp",     "resource", "hvec2",   "external", "interface",     "noinline"};

// Macros that g++ 12 and clang 14 define for the headers of C++20, POSIX and glibc, and Qt's. Macros with parameters
// would do no harm; only the best known of them are here.
constexpr std::string_view kMacros[] = {"alloca",
                                        "assert",
                                        "complex",
                                        "d_fileno",
                                        "emit",
                                        "errno",
                                        "foreach",
                                        "forever",
                                        "h_addr",
                                        "h_errno",
                                        "i386",
                                        "linux",
                                        "major",
                                        "makedev",
                                        "minor",
                                        "noreturn",
                                        "offsetof",
                                        "s6_addr",
                                        "s6_addr16",
                                        "s6_addr32",
                                        "sa_handler",
                                        "sa_sigaction",
                                        "setjmp",
                                        "si_addr",
                                        "si_arch",
                                        "si_addr_lsb",
                                        "si_band",
                                        "si_call_addr",
                                        "si_fd",
                                        "si_int",
                                        "si_lower",
                                        "si_pid",
                                        "si_overrun",
                                        "si_pkey",
                                        "si_ptr",
                                        "si_status",
                                        "si_stime",
                                        "si_syscall",
                                        "si_uid",
                                        "si_timerid",
                                        "si_upper",
                                        "si_utime",
                                        "si_value",
                                        "signals",
                                        "slots",
                                        "st_atime",
                                        "sched_priority",
                                        "st_ctime",
                                        "st_mtime",
                                        "static_assert",
                                        "stderr",
                                        "stdin",
                                        "stdout",
                                        "thread_local",
                                        "unix",
                                        "va_arg",
                                        "va_copy",
                                        "va_end",
                                        "va_start",
                                        "sigmask",
                                        "kill_dependency",
                                        "math_errhandling",
                                        "sigev_notify_function",
                                        "sigev_notify_attributes"};

// Names that generated code uses without a namespace. Types are listed separately; they all begin with a capital.
constexpr std::string_view kOfGeneratedCode[] = {
    "argument_of", "bit",      "bytes",    "call_of",  "ceil_div", "checked",     "choose",    "desc_of",
    "fields",      "graph",    "in_order", "int32_t",  "int64_t",  "library",     "make_call", "make_problem",
    "max",         "min",      "offsetof", "qgen",     "run",      "run_for_one", "size_t",    "std",
    "table",       "uint16_t", "uint32_t", "uint64_t", "uint8_t"};
// The types that generated code names without a namespace, and its template parameters.
// clang-format off
constexpr std::string_view kGeneratedTypes[] = {
    "Access", "AliasInfo", "ArgumentKey", "ArgumentList", "As", "AttributeInfo", "BindingInfo", "BindingKind",
    "BlockField", "Builder", "Call", "ConditionInfo", "Context", "CostTerms", "DType", "Described", "DeviceNumber",
    "DeviceTensor", "Done", "Error", "Expected", "Feature", "FieldInfo", "Fit", "InGraph", "InferArguments",
    "Integer", "Interface", "InterfaceInfo", "InterfaceRow", "KernelInfo", "Kind", "Layout", "LibraryInfo", "Name",
    "NodeOf", "OnDevice", "Operand", "OperandForm", "OperandInfo", "Operands", "OperatorEntry", "OperatorInfo",
    "Optional", "Parameters", "Problem", "ProblemBuffer", "PushConstants", "Real", "RecipeInfo", "Representation",
    "Required", "Role", "Row", "ScratchInfo", "SelectionScope", "ShapeInfo", "SignatureInfo", "Specialization",
    "SpecializationSlot", "StepInfo", "Storage", "T", "Tensor", "TensorInfo", "TuningInfo", "Var", "Variant", "View",
    "Weight"};
// clang-format on
constexpr std::string_view kGeneratedHeaders[] = {"modules", "operators", "registry", "words"};

// Headers of C, POSIX, glibc and gcc: generated headers are in one folder, which a build searches ahead of the system's
// folders.
constexpr std::string_view kSystemHeaders[] = {
    "aio",       "alias",    "alloca",   "ar",       "argp",     "argz",      "assert",    "byteswap", "complex",
    "cpio",      "cpuid",    "crypt",    "ctype",    "dirent",   "dlfcn",     "elf",       "endian",   "envz",
    "err",       "errno",    "error",    "execinfo", "fcntl",    "features",  "fenv",      "float",    "fmtmsg",
    "fnmatch",   "fstab",    "fts",      "ftw",      "gconv",    "getopt",    "glob",      "grp",      "gshadow",
    "iconv",     "ifaddrs",  "inttypes", "iso646",   "langinfo", "lastlog",   "libgen",    "libintl",  "limits",
    "link",      "locale",   "malloc",   "math",     "mcheck",   "memory",    "mntent",    "monetary", "mqueue",
    "netdb",     "nl_types", "nss",      "obstack",  "omp",      "openacc",   "paths",     "poll",     "printf",
    "pthread",   "pty",      "pwd",      "quadmath", "regex",    "regexp",    "resolv",    "sched",    "search",
    "semaphore", "setjmp",   "sgtty",    "shadow",   "signal",   "spawn",     "stab",      "stdalign", "stdarg",
    "stdatomic", "stdbool",  "stddef",   "stdfix",   "stdint",   "stdio",     "stdio_ext", "stdlib",   "stdnoreturn",
    "string",    "strings",  "stropts",  "syscall",  "sysexits", "syslimits", "syslog",    "tar",      "termio",
    "termios",   "tgmath",   "threads",  "time",     "trace",    "ttyent",    "uchar",     "ucontext", "ulimit",
    "unistd",    "unwind",   "utime",    "utmp",     "utmpx",    "values",    "varargs",   "wait",     "wchar",
    "wctype",    "wordexp"};

// vec4, ivec2, mat3, f16vec4, image3D, sampler2D: a family's word, then a number.
bool is_glsl_type(std::string_view name) {
  const size_t number = name.find_last_not_of("0123456789D") + 1;
  if (number == 0 || number == name.size()) return false;
  const std::string_view family = name.substr(0, number);
  return family.ends_with("vec") || family.ends_with("mat") || family.ends_with("image") || family.ends_with("sampler");
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <typename Words>
bool holds(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

}  // namespace

std::vector<std::string> dtype_words() { return texts_of(names_of(kDTypes)); }
std::vector<std::string> storage_words() { return texts_of(names_of(kStorages)); }
std::vector<std::string> target_words() { return {"vulkan1.1", "vulkan1.2", "vulkan1.3"}; }

std::optional<compile::Target> find_target(std::string_view word) {
  const std::vector<std::string> words = target_words();
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<compile::Target>(found - words.begin());
}

std::string word_of(compile::Target target) { return target_words()[static_cast<size_t>(target)]; }

std::vector<std::string> layout_words() { return texts_of(names_of(kLayouts)); }
std::vector<std::string> architecture_and_feature_words() {
  std::set<std::string> words = {
#define QGEN_ARCHITECTURE(name, vendor, first, last) name,
#include "vocabulary/architecture_rows.inc"
  };
  for (const FeatureRow& row : feature_table()) words.emplace(row.name);
  return {words.begin(), words.end()};
}

std::optional<std::string> fault_of_name(std::string_view name) {
  const bool is_spelled =
      !name.empty() && is_letter(name[0]) && name.back() != '_' && name.find("__") == std::string_view::npos &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
  if (!is_spelled)
    return fmt::format("'{}' is not a name: letters, digits and single '_', beginning with a letter", name);
  if (name.size() > kMostNameBytes) {
    return fmt::format("a name has {} letters, and at most {} are possible", name.size(), kMostNameBytes);
  }
  if (holds(kOurs, name)) return fmt::format("'{}' already has a meaning in qgen", name);
  if (holds(kCpp, name)) return fmt::format("'{}' is a keyword of C++, and names are printed as C++", name);
  return std::nullopt;
}

std::optional<std::string> fault_of_glsl_name(std::string_view name) {
  if (name.starts_with("gl_")) return fmt::format("'{}' begins with 'gl_', as the names of GLSL itself do", name);
  if (!holds(kGlsl, name) && !is_glsl_type(name)) return std::nullopt;
  return fmt::format("'{}' is a word of GLSL, which reads this name", name);
}

std::optional<std::string> fault_of_operand_name(std::string_view name) {
  if (name == kNoOperand) return fmt::format("'{}' is reserved: with it, a step passes no operand", kNoOperand);
  if (name == "gl" || name.starts_with("gl_"))
    return fmt::format("'{}_data' would begin with 'gl_', as the names of GLSL itself do", name);
  return std::nullopt;
}

std::optional<std::string> fault_of_operator_name(std::string_view name) {
  if (auto fault = fault_of_name(name)) return fault;
  if (name[0] >= 'A' && name[0] <= 'Z')
    return fmt::format("'{}' begins with a capital, as the types of generated code do", name);
  if (holds(kOfGeneratedCode, name)) return fmt::format("'{}' already has a meaning in generated code", name);
  if (holds(kGeneratedHeaders, name))
    return fmt::format("'{0}.h' is a header that qgen writes for all operators", name);
  if (holds(kSystemHeaders, name))
    return fmt::format("the header of '{0}' would be {0}.h, and the system has one of that name", name);
  return std::nullopt;
}

std::optional<std::string> fault_of_namespace(std::string_view name_space) {
  for (std::string_view rest = name_space;;) {
    const size_t end = rest.find("::");
    const std::string_view part = rest.substr(0, end);
    if (auto fault = fault_of_name(part)) return fault;
    if (part == "std") return "'std' belongs to the C++ library";
    if (is_macro(part)) return fmt::format("'{}' may be a macro of the C library", part);
    if (end == rest.npos) return std::nullopt;
    rest.remove_prefix(end + 2);
  }
}

std::string pascal_case(std::string_view name) {
  std::string text;
  bool starts_word = true;
  for (const char c : name) {
    const bool is_gap = c == '_' || c == '.';
    if (!is_gap) text += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts_word = is_gap;
  }
  return text;
}

bool is_generated_type(std::string_view name) { return holds(kGeneratedTypes, name); }

std::optional<std::string> fault_of_alias(std::string_view name) {
  const auto is_part = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  if (name.empty() || is_digit(name[0]) || !std::ranges::all_of(name, is_part))
    return fmt::format("'{}' is not a name: letters, digits and '_', and no digit at the beginning", name);
  if (name.size() <= kMostNameBytes) return std::nullopt;
  return fmt::format("a name has {} letters, and at most {} are possible", name.size(), kMostNameBytes);
}

bool is_macro(std::string_view name) {
  const auto is_small = [&](size_t i) { return i < name.size() && name[i] >= 'a' && name[i] <= 'z'; };
  if (name == "I") return true;  // of <complex.h>
  return (name.size() > 1 && !is_small(0) && !is_small(1)) || holds(kMacros, name);
}

}  // namespace qgen::spec
