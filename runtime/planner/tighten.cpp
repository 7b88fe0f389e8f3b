// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/planner/tighten.h"

#include <algorithm>
#include <utility>

namespace qgen::planner {
namespace {

// A fit as one of its two choices sees it.
struct View {
  const std::vector<uint32_t>& masks;
  std::vector<Cost>& costs;
  const std::vector<uint32_t>& other_masks;
  const std::vector<Cost>& other_costs;
};

View view(ChoiceModel::Fit& fit, uint32_t choice) {
  if (choice == fit.a) return {fit.a_masks, fit.a_costs, fit.b_masks, fit.b_costs};
  return {fit.b_masks, fit.b_costs, fit.a_masks, fit.a_costs};
}

// The least that the pair adds, for each value of the choice.
std::vector<Cost> least_added(const View& fit) {
  std::vector<Cost> least(fit.masks.size(), kImpossible);
  for (size_t value = 0; value < least.size(); ++value) {
    for (size_t other = 0; other < fit.other_masks.size(); ++other) {
      if ((fit.masks[value] & fit.other_masks[other]) == 0) continue;
      least[value] = std::min(least[value], fit.other_costs[other]);
    }
    least[value] = least[value] + fit.costs[value];
  }
  return least;
}

class Diffusion {
 public:
  explicit Diffusion(ChoiceModel model) : model_(std::move(model)), fits_of_(model_.costs.size()) {
    for (uint32_t index = 0; index < model_.fits.size(); ++index) {
      auto& fit = model_.fits[index];
      fit.a_costs.resize(fit.a_masks.size());
      fit.b_costs.resize(fit.b_masks.size());
      fits_of_[fit.a].push_back(index);
      fits_of_[fit.b].push_back(index);
    }
  }

  void pass_forward() {
    for (uint32_t choice = 0; choice < fits_of_.size(); ++choice) share_out(choice);
  }
  void pass_back() {
    for (size_t choice = fits_of_.size(); choice-- > 0;) share_out(static_cast<uint32_t>(choice));
  }
  ChoiceModel result() && { return std::move(model_); }

 private:
  void share_out(uint32_t choice) {
    const auto& fits = fits_of_[choice];
    auto& own = model_.costs[choice];
    std::vector<std::vector<Cost>> least;
    for (uint32_t fit : fits) {
      least.push_back(least_added(view(model_.fits[fit], choice)));
      for (size_t value = 0; value < own.size(); ++value) own[value] = own[value] + least.back()[value];
    }
    const auto parts = static_cast<int64_t>(fits.size());
    for (size_t value = 0; value < own.size(); ++value) {
      if (parts == 0 || !is_possible(own[value])) continue;
      // What the division leaves over stays with the value.
      const Cost share{own[value].picoseconds / parts, own[value].tie / parts};
      for (size_t k = 0; k < fits.size(); ++k) {
        Cost& cost = view(model_.fits[fits[k]], choice).costs[value];
        cost = cost + (share - least[k][value]);
        own[value] = own[value] - share;
      }
    }
  }

  ChoiceModel model_;
  std::vector<std::vector<uint32_t>> fits_of_;
};

}  // namespace

ChoiceModel tighten(ChoiceModel model, uint32_t passes) {
  Diffusion diffusion(std::move(model));
  for (uint32_t pass = 0; pass < passes; ++pass) {
    if (pass % 2 == 0) {
      diffusion.pass_forward();
    } else {
      diffusion.pass_back();
    }
  }
  return std::move(diffusion).result();
}

}  // namespace qgen::planner
