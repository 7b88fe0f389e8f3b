// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The five functions that archives built by gcc 14 against glibc 2.41 call, and that Debian 12's own runtime lacks.
// scripts/setup adds this object to those archives. Weak: a runtime that has them wins.
#include <cstdlib>
#include <exception>

#define QGEN_WEAK extern "C" __attribute__((weak))

QGEN_WEAK long __isoc23_strtol(const char* text, char** end, int base) { return std::strtol(text, end, base); }
QGEN_WEAK long long __isoc23_strtoll(const char* text, char** end, int base) { return std::strtoll(text, end, base); }
QGEN_WEAK unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return std::strtoul(text, end, base);
}
QGEN_WEAK unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return std::strtoull(text, end, base);
}
QGEN_WEAK void __cxa_call_terminate(void*) noexcept { std::terminate(); }
