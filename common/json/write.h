// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// JSON as the programs write it. A member of the document has one line, and so has each object in a list. People can
// read it and diff it. An object that itself has a list of objects is laid out as the document is.
//
//   {
//     "device": "llvmpipe",
//     "kernels": [
//       {"id": "a", "median_us": 3.5},
//       {"id": "b", "median_us": 4}
//     ]
//   }
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace qgen::json {

// Invalid UTF-8 (possible in a driver's name) is replaced; numbers that are not finite become null. Ends without a
// newline. `document` is an object.
std::string to_text(const nlohmann::ordered_json& document);
// All of a value in one line, with a space after each comma and colon.
std::string to_line(const nlohmann::ordered_json& value);

}  // namespace qgen::json
