// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Whether this is built under a sanitizer, in the words of both compilers: such a program takes terabytes of address
// space for itself, and its operator new ends it rather than to throw.
//
//   #if QGEN_ADDRESS_SANITIZED
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
