// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "common/text.h"
#include "common/version.h"
#include "runtime/c/objects.h"

namespace qgen::c {
namespace {

qgen_code code_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::invalid_argument: return QGEN_INVALID_ARGUMENT;
    case Error::Kind::unsupported: return QGEN_UNSUPPORTED;
    case Error::Kind::not_found: return QGEN_NOT_FOUND;
    case Error::Kind::device: return QGEN_DEVICE_FAILED;
    case Error::Kind::system: break;
  }
  return QGEN_SYSTEM_FAILED;
}

}  // namespace

qgen_code failed(const Error& why, qgen_error** error) {
  // A text may have names from a file. Whoever prints it has no terminal to lose.
  if (error)
    *error = new (std::nothrow) qgen_error{{why.kind, printable_lines(why.message), printable_lines(why.hint)}};
  return code_of(why.kind);
}

}  // namespace qgen::c

extern "C" {

const char* qgen_version(void) {
  static const std::string text(qgen::version());
  return text.c_str();
}

qgen_code qgen_error_code(const qgen_error* error) { return error ? qgen::c::failed(error->error, nullptr) : QGEN_OK; }
const char* qgen_error_message(const qgen_error* error) { return error ? error->error.message.c_str() : ""; }
const char* qgen_error_hint(const qgen_error* error) { return error ? error->error.hint.c_str() : ""; }
void qgen_error_free(qgen_error* error) { delete error; }

const char* qgen_text_get(const qgen_text* text) { return text ? text->text.c_str() : ""; }
void qgen_text_free(qgen_text* text) { delete text; }

}  // extern "C"
