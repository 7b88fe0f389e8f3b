// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether this program is built with a sanitizer, for both compilers. Such a program reserves terabytes of address
// space, and its operator new ends it instead of throwing.
//
//   #if QGEN_ADDRESS_SANITIZED
//
// QGEN_NOT_ADDRESS_SANITIZED stands before a function that a signal handler ends the process with. An instrumented
// function asks for the bounds of its stack before a call that does not return, and that frees memory. Where the signal
// came inside of malloc(), the process would wait for itself.
#pragma once

#if defined(__has_feature)
#define QGEN_HAS_FEATURE(x) __has_feature(x)
#else
#define QGEN_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || QGEN_HAS_FEATURE(address_sanitizer)
#define QGEN_ADDRESS_SANITIZED 1
#else
#define QGEN_ADDRESS_SANITIZED 0
#endif

#if defined(__SANITIZE_THREAD__) || QGEN_HAS_FEATURE(thread_sanitizer)
#define QGEN_THREAD_SANITIZED 1
#else
#define QGEN_THREAD_SANITIZED 0
#endif

// Under either, code that computes takes ten times as long.
#define QGEN_SANITIZED (QGEN_ADDRESS_SANITIZED || QGEN_THREAD_SANITIZED)

#if QGEN_ADDRESS_SANITIZED
#define QGEN_NOT_ADDRESS_SANITIZED __attribute__((no_sanitize("address")))
#else
#define QGEN_NOT_ADDRESS_SANITIZED
#endif
