// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// One HTML file about a profiled model, which needs no network:
//
//   write_file("profile.html", page_of({.model = "net.onnx", .graph = graph, .schedule = schedule, .layers = layers}));
//
// It has the layers in a roofline and as bars, the memory of the tensors over the steps, and a table.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine/device/device_profile.h"
#include "runtime/workshop/model/layers.h"

namespace qgen::model {

struct ProfilePage {
  std::string model;  // the name of its file
  const DeviceProfile& device;
  const graph::Graph& graph;
  const graph::Schedule& schedule;
  const std::vector<Layer>& layers;  // with measured times
  double headline_us = 0;            // of a replay without timestamps between layers
  size_t replays = 0;                // that were divided into layers
  uint64_t weight_bytes = 0;
};

// Pictures show the first 400 layers and the largest 2,000 tensors, and the page says so if there are more.
std::string page_of(const ProfilePage& page);

}  // namespace qgen::model
