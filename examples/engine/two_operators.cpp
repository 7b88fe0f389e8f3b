// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "two_operators.h"

#include "operators.h"

using namespace qgen;
using namespace qgen::generated::operators;

Device adopt(const engine::Base& base) {
  return or_exit(Device::adopt({.instance = base.instance,
                                .physical_device = base.gpu,
                                .device = base.device,
                                .get_instance_proc_addr = vkGetInstanceProcAddr,
                                .created_with = &base.created_with(),
                                .queue = base.queue,
                                .queue_family = base.queue_family}));
}

// y = softmax(x) * x, between the engine's own commands.
void record_two(Context& context, VkCommandBuffer commands, const DeviceTensor& x, const DeviceTensor& y) {
  or_exit(context.commands->begin(commands));
  const DeviceTensor shares = or_exit(softmax(context, {.input = x}));
  or_exit(fused_mul(context, {.input = shares, .other = x, .output = &y}));
  or_exit(context.commands->end());
}
