// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// A plan as JSON, keys in a fixed order.
#include <nlohmann/json.hpp>

#include "common/json/write.h"
#include "runtime/planner/plan.h"

namespace qgen::planner {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const PlannedTensor& t) { return {{"name", t.name}, {"home", name(t.home)}}; }

Json json_of(const PlannedNode& n) {
  Json takes = Json::array();
  for (const Representation& r : n.takes) takes.push_back(name(r));
  return {{"name", n.name}, {"kernel", n.kernel}, {"cost_us", n.cost_us}, {"takes", std::move(takes)}};
}

Json json_of(const Conversion& c) {
  return {{"tensor", c.tensor},   {"from", name(c.from)}, {"to", name(c.to)},
          {"cost_us", c.cost_us}, {"readers", c.readers}, {"leaves", c.leaves}};
}

Json json_of(const Dropped& d) {
  return {{"tensor", d.tensor}, {"representation", name(d.representation)}, {"reason", d.reason}};
}

template <typename List>
Json list_of(const List& list) {
  Json items = Json::array();
  for (const auto& item : list) items.push_back(json_of(item));
  return items;
}

}  // namespace

std::string to_json(const Plan& plan) {
  return json::to_text({{"cost_us", plan.cost_us},
                        {"lower_bound_us", plan.lower_bound_us},
                        {"tensors", list_of(plan.tensors)},
                        {"operators", list_of(plan.nodes)},
                        {"conversions", list_of(plan.conversions)},
                        {"dropped", list_of(plan.dropped)}}) +
         "\n";
}

}  // namespace qgen::planner
