// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/model/plan.h"

#include "runtime/engine/profiles/device_file.h"
#include "runtime/models/graph/constants.h"

namespace qgen::model {

Expected<std::vector<DeviceProfile>> devices_of(const Program& program, const Arguments& arguments) {
  std::vector<DeviceProfile> devices;
  for (const std::string& file : arguments.devices_for) {
    auto device = profiles::load_device(file);
    if (!device) return device.error();
    devices.push_back(*std::move(device));
  }
  if (!devices.empty()) return devices;
  const auto opened = runner::Opened::open(program.library, arguments.device,
                                           {.is_untuned = arguments.is_untuned, .mask = arguments.mask});
  if (!opened) return opened.error();
  devices.push_back((*opened)->context().profile);
  return devices;
}

Expected<graph::Schedule> schedule_for(const DeviceProfile& device, const Program& program, const Arguments& arguments,
                                       const Question& question, const TimeBook& times) {
  const graph::Graph& graph = question.loaded.graph;
  const auto inferred = graph::infer(graph, program.operators, graph::shapes_of(question.inputs.tensors));
  if (!inferred) return inferred.error();
  const auto constants = graph::Constants::create(graph, *inferred);
  if (!constants) return constants.error();
  const graph::Chooser chooser{device, program.library, program.operators, arguments.is_untuned ? nullptr : &times};
  return graph::make_schedule(graph, *inferred, constants->weight_descs(), chooser);
}

}  // namespace qgen::model
