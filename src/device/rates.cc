// Rows of GPUs, and what is derived for the others.
#include "device/rates.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>

#include "core/environment.h"
#include "core/status.h"

namespace xgemm::device {
namespace {

struct MeasuredRow {
  std::string_view name;
  Rates rates;
};

constexpr MeasuredRow kMeasured[] = {
#include "device/gpu_rows.inc"
};

// By data sheet: GPUs whose rate of 16-bit products is not what their SMs and clocks say, because of the power limit or
// by design. The other rates follow from what CUDA says of them.
struct DataSheetRow {
  std::string_view name;
  double tensor_tflops;
};

constexpr DataSheetRow kDataSheets[] = {
    {"NVIDIA H20", 135},        // 148 on paper
    {"NVIDIA H100 PCIe", 480},  // 350 W
    {"NVIDIA H100 NVL", 560},   // 400 W
    {"NVIDIA A100", 270},       // 312 on paper
    {"NVIDIA L40", 300},        // 362 on paper
};

// 16-bit multiply-adds with fp32 sums of an SM in a clock.
double tensor_rate_of(int compute_capability) {
  if (compute_capability >= 90 && compute_capability < 120) return 2048;
  if (compute_capability == 80) return 1024;
  return compute_capability >= 75 ? 512 : 128;  // before: without tensor cores
}

// What the measured GPUs sustain of what they have on paper.
constexpr double kClockShare = 0.9, kMemoryShare = 0.85, kTensorShare = 0.93;
constexpr double kL2BytesPerClock = 48;  // of an SM

Rates derived(const Nameplate& gpu) {
  Rates r;
  if (gpu.sm_ghz > 0) r.sm_ghz = kClockShare * gpu.sm_ghz;
  if (gpu.memory_tbs > 0) r.memory_tbs = kMemoryShare * gpu.memory_tbs;
  r.l2_tbs = 1e-3 * kL2BytesPerClock * gpu.sm_count * r.sm_ghz;
  r.tensor_tflops = 2e-3 * tensor_rate_of(gpu.compute_capability) * gpu.sm_count * r.sm_ghz * kTensorShare;
  for (const DataSheetRow& row : kDataSheets)
    if (gpu.name.substr(0, row.name.size()) == row.name) r.tensor_tflops = row.tensor_tflops;
  return r;
}

std::string_view without_spaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

// Takes a rate off the front of the text; false where there is none. Numbers have a point in every locale.
bool take_rate(std::string_view* text, double* rate) {
  *text = without_spaces(*text);
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *rate);
  text->remove_prefix(static_cast<std::size_t>(end - text->data()));
  return error == std::errc() && std::isfinite(*rate) && *rate > 0;
}

// "" where it cannot be read. By the C library: a program may bring a C++ library of its own, linked statically, and
// streams that are partly of one and partly of the other do not work.
std::string contents_of(const std::string& path) {
  std::string text;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (file == nullptr) return text;
  char part[4096];
  while (const std::size_t count = std::fread(part, 1, sizeof part, file.get())) text.append(part, count);
  return text;
}

}  // namespace

Rates rates_of(const Nameplate& gpu, const std::vector<GpuRow>& own) {
  for (const GpuRow& row : own)
    if (row.name == gpu.name) return row.rates;
  for (const MeasuredRow& row : kMeasured)
    if (row.name == gpu.name) return row.rates;
  return derived(gpu);
}

std::vector<GpuRow> parse_gpu_rows(std::string_view text, std::string* complaints) {
  std::vector<GpuRow> rows;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const std::string_view line = without_spaces(whole.substr(0, whole.find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    GpuRow row;
    Rates& r = row.rates;
    std::string_view rest = line;
    if (take_rate(&rest, &r.sm_ghz) && take_rate(&rest, &r.l2_tbs) && take_rate(&rest, &r.memory_tbs) &&
        take_rate(&rest, &r.tensor_tflops) && !without_spaces(rest).empty()) {
      row.name = without_spaces(rest);
      rows.push_back(row);
    } else if (complaints != nullptr) {
      *complaints += format("line %d is not sm_ghz l2_tbs memory_tbs tensor_tflops NAME: %.*s\n", number,
                            static_cast<int>(line.size()), line.data());
    }
  }
  return rows;
}

const std::vector<GpuRow>& own_gpu_rows() {
  static const std::vector<GpuRow> rows = [] {
    const std::string& path = environment().gpu_rates;
    std::string complaints;
    std::vector<GpuRow> found = parse_gpu_rows(contents_of(path), &complaints);
    if (!complaints.empty()) print_line(path + ": " + complaints.substr(0, complaints.find('\n')) + "; it is ignored");
    return found;
  }();
  return rows;
}

}  // namespace xgemm::device
