// How a family whose model a network corrects estimates its instances: the network, which takes longer than the model,
// is asked about a few plans alone, those that the model thinks best.
//
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/common/cost_math.h"
#include "kernels/family.h"

namespace xgemm::kernels {

// The least of what was added, the least first. Weighed has us.
template <class Weighed>
class Shortlist {
 public:
  static constexpr int kMost = 16;

  // What takes as long does not get in.
  double bound() const { return count_ < kMost ? std::numeric_limits<double>::infinity() : best_[kMost - 1].us; }

  void add(const Weighed& w) {
    if (w.us >= bound()) return;
    int place = count_ < kMost ? count_ : kMost - 1;
    const int slot = count_ < kMost ? count_++ : best_[kMost - 1].slot;
    for (; place > 0 && w.us < best_[place - 1].us; --place) best_[place] = best_[place - 1];
    best_[place] = {w.us, slot};
    weighed_[slot] = w;
  }

  int count() const { return count_; }
  const Weighed& operator[](int place) const { return weighed_[best_[place].slot]; }

 private:
  struct Place {
    double us;
    int slot;  // of weighed_
  };
  Place best_[kMost];
  Weighed weighed_[kMost];
  int count_ = 0;
};

inline constexpr int kCorrected = 4;  // at a time

// candidates: an instance each, with the least that a plan of it can be estimated at, least_us, and its place among the
// estimates. expand(candidate, hopeless, bound, add) calls add(weighed) for its plans, as the model thinks of them, or
// does so later, in finish(bound, add) at the latest; it may leave out what takes bound() or more, and all but one
// where that is hopeless. Weighed has us, place and estimate(us). correct(some, count, us) gives what the network makes
// of up to kCorrected of them: at least least_correction * us of each.
//
// An instance that is not on the shortlist is estimated at more than the best that is; where there is a time to
// beat, and it cannot, perhaps at infinity.
template <class Weighed, class Candidate, class Expand, class Finish, class Correct>
void estimate_shortlisted(const Request& request, double least_correction, const std::vector<Candidate>& candidates,
                          const Expand& expand, const Finish& finish, const Correct& correct, Estimate* estimates) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double to_beat = request.to_beat.value_or(kInfinity);
  Shortlist<Weighed> shortlist;
  const auto bound = [&] { return std::min(shortlist.bound(), to_beat / least_correction); };
  const auto add = [&](const Weighed& w) {
    if (w.us < estimates[w.place].us) estimates[w.place] = w.estimate(w.us);
    shortlist.add(w);
  };
  for (const Candidate& each : candidates) estimates[each.place] = {kInfinity};
  for (const Candidate* const each : cost::least_first(candidates)) {
    const bool hopeless = each->least_us >= bound();
    if (hopeless && request.to_beat) break;
    expand(*each, hopeless, bound, add);
  }
  finish(bound, add);

  double least_us = kInfinity;
  std::vector<bool> corrected(candidates.size());
  for (int first = 0; first < shortlist.count(); first += kCorrected) {
    if (request.to_beat && shortlist[first].us * least_correction >= std::min(to_beat, least_us)) break;
    const Weighed* some[kCorrected];
    double us[kCorrected];
    const int count = std::min(kCorrected, shortlist.count() - first);
    for (int i = 0; i < count; ++i) some[i] = &shortlist[first + i];
    correct(some, count, us);
    for (int i = 0; i < count; ++i) {
      const Weighed& w = *some[i];
      auto seen = corrected[static_cast<std::size_t>(w.place)];
      if (!seen || us[i] < estimates[w.place].us) estimates[w.place] = w.estimate(us[i]);
      seen = true;
      least_us = std::min(least_us, us[i]);
    }
  }
  const double more_us = least_us * (1 + 1e-9);
  for (std::size_t i = 0; i < corrected.size(); ++i)
    if (!corrected[i]) estimates[i].us = std::max(estimates[i].us, more_us);
}

}  // namespace xgemm::kernels
