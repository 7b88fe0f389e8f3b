// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The files of a command, by their places. No file that it writes is one that it reads, or one that another option names.
//
//   FilePlaces places;
//   places.read("model.onnx", "the model");
//   places.fault_of("--output", "./model.onnx")   // "./model.onnx is the model"
#pragma once

#include <map>
#include <string>

namespace qgen {

class FilePlaces {
 public:
  void read(const std::string& file, std::string what);
  // Takes the place of a file that the option names for writing. A sentence, if it is taken already; else empty. Devices
  // such as /dev/stdout are not kept.
  std::string fault_of(const std::string& option, const std::string& file);

 private:
  std::map<std::string, std::string> taken_;  // what is at a place
};

}  // namespace qgen
