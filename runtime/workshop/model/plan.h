// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// Plans of a model for devices that files describe, or for the one that is here.
#pragma once

#include <vector>

#include "runtime/models/graph/schedule.h"
#include "runtime/workshop/model/session.h"

namespace qgen::model {

// With --for the devices of these files; else the one that is here.
Expected<std::vector<DeviceProfile>> devices_of(const Program& program, const Arguments& arguments);

// `times`: those that are compiled in.
Expected<graph::Schedule> schedule_for(const DeviceProfile& device, const Program& program, const Arguments& arguments,
                                       const Question& question, const TimeBook& times);

}  // namespace qgen::model
