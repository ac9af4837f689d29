// Faults in words. SPDX-License-Identifier: BSD-3-Clause
#include "sim/report.h"

#include <utility>

namespace xgemm::sim {

const char* to_string(Fault fault) {
  switch (fault) {
    case Fault::view_bounds:
      return "view_bounds";
    case Fault::global_bounds:
      return "global_bounds";
    case Fault::global_permission:
      return "global_permission";
    case Fault::shared_bounds:
      return "shared_bounds";
    case Fault::misaligned:
      return "misaligned";
    case Fault::shared_race:
      return "shared_race";
    case Fault::global_race:
      return "global_race";
    case Fault::uninitialised_read:
      return "uninitialised_read";
    case Fault::async_not_waited:
      return "async_not_waited";
    case Fault::proxy_fence:
      return "proxy_fence";
    case Fault::tensor_map:
      return "tensor_map";
    case Fault::wgmma_misuse:
      return "wgmma_misuse";
    case Fault::registers:
      return "registers";
    case Fault::cluster_misuse:
      return "cluster_misuse";
    case Fault::left_in_flight:
      return "left_in_flight";
    case Fault::grid_dependency:
      return "grid_dependency";
    case Fault::deadlock:
      return "deadlock";
    case Fault::barrier_misuse:
      return "barrier_misuse";
    case Fault::warp_divergence:
      return "warp_divergence";
    case Fault::bad_launch:
      return "bad_launch";
    case Fault::exception:
      return "exception";
  }
  return "?";
}

std::string to_string(const Report& report) {
  std::string text = report.kernel + ", CTA " + std::to_string(report.cta);
  if (report.thread >= 0) text += ", thread " + std::to_string(report.thread);
  text += ", " + to_string(report.where) + ": " + to_string(report.fault) + ": " + report.message;
  if (report.other_thread >= 0) {
    text += " (thread " + std::to_string(report.other_thread) + " at " + to_string(report.other) + ")";
  } else if (!report.other_unit.empty()) {
    text += " (" + report.other_unit + ", started at " + to_string(report.other) + ")";
  }
  if (report.count > 1) text += " [" + std::to_string(report.count) + " times]";
  return text;
}

void ReportList::add(Report report) {
  const auto key = std::tuple(report.fault, report.where.key(), report.other.key());
  if (const auto found = index_.find(key); found != index_.end()) {
    ++reports_[found->second].count;
    return;
  }
  if (reports_.size() >= kMax) return;
  index_.emplace(key, reports_.size());
  reports_.push_back(std::move(report));
}

}  // namespace xgemm::sim
