// Implementation of session.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "bench/candidate.h"
#include "bench/ceilings.h"
#include "bench/clock_monitor.h"
#include "bench/environment.h"
#include "bench/host_time.h"
#include "bench/input_error.h"
#include "bench/replay.h"
#include "bench/table.h"
#include "xgemm.h"

namespace xgemm::perf {
namespace {

constexpr std::size_t kCublasWorkspace = std::size_t{32} << 20;
constexpr double kQuickBudgetGpu = 110;
constexpr double kQuickBudgetHost = 50;
constexpr double kQuickCaseSeconds = 0.7;
constexpr double kStandardCaseSeconds = 0.8;
constexpr const char* kStandardSets =
    "squares,transposes,odd,skinny,large-k,rank-k,gemv,batches,tiny,prefill,decode,deepseek-v3,beta,host,grid,holdout";
constexpr double kWarmUpSeconds = 0.5;

void say(const std::string& text) {
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

std::unique_ptr<Device> open_device(const Options& options) {
  std::string why = "--cpu";
  std::unique_ptr<Device> device;
  if (!options.cpu_only) device = make_cuda_device(options.device, why);
  if (device != nullptr) return device;
  if (options.device != 0) throw InputError(fmt::format("--device {}: {}", options.device, why));
  say(fmt::format("no GPU is used ({}): everything runs in host memory, xgemm against the CPU's BLAS", why));
  return make_host_device();
}

/// What the presets stand for, where the command line says nothing else.
void apply_presets(Options& options, bool is_gpu) {
  const bool nothing_named =
      options.shapes.empty() && options.m.empty() && options.n.empty() && options.k.empty() && !options.replay;
  if (nothing_named && !options.standard && !options.ladder) options.quick = true;
  if (options.quick) {
    options.shapes.push_back(is_gpu ? "quick" : "quick-cpu");
    if (!options.budget_seconds) options.budget_seconds = is_gpu ? kQuickBudgetGpu : kQuickBudgetHost;
    if (!options.max_time_given) options.measure.max_seconds = kQuickCaseSeconds;
  }
  if (options.standard) {
    options.shapes.push_back(is_gpu ? "standard" : "quick-cpu");
    if (!options.max_time_given) options.measure.max_seconds = kStandardCaseSeconds;
  }
  if (options.ladder && nothing_named) options.shapes.push_back("1024,4096");
  if ((options.quick || options.standard) && !options.types_given) options.defaults.types = {'s', 'h'};
  if (is_gpu) options.measure.warm_up_seconds = kWarmUpSeconds;
  if (is_gpu && (options.quick || options.standard)) options.host_times = true;
  if (options.host_times && !is_gpu)
    throw InputError("--host-times: calls return before their product is computed on a GPU alone, and none is used");
}

/// "standard" names the sets that make it up.
std::vector<std::string> expanded(const std::vector<std::string>& shapes) {
  std::vector<std::string> list;
  for (const std::string& argument : shapes) list.push_back(argument == "standard" ? kStandardSets : argument);
  return list;
}

std::vector<Case> named_cases(const Options& options) {
  std::vector<Case> cases;
  const auto append = [&](std::vector<Case> more) { cases.insert(cases.end(), more.begin(), more.end()); };
  for (const std::string& argument : expanded(options.shapes)) append(parse_shape_argument(argument, options.defaults));
  if (!options.m.empty())
    append(expand("shapes", options.m, options.n, options.k, options.defaults));
  else if (!options.n.empty() || !options.k.empty())
    throw InputError("--n and --k need --m");
  return cases;
}

std::vector<Case> replayed_cases(const Options& options) {
  if (!options.replay) return {};
  Replay replay = read_replay(*options.replay);
  say(fmt::format("replay: {} calls, {} of them different; {} other lines, {} empty products, {} not understood",
                  replay.calls, replay.cases.size(), replay.other_lines, replay.empty_calls, replay.problems.size()));
  for (std::size_t i = 0; i < std::min<std::size_t>(replay.problems.size(), 5); ++i) say("  " + replay.problems[i]);
  return std::move(replay.cases);
}

/// Gives cases that name no location one, and takes replayed device calls to the host where there is no GPU.
void resolve_locations(std::vector<Case>& cases, bool is_gpu) {
  bool moved = false;
  for (Case& one : cases) {
    if (one.location.empty()) one.location = is_gpu ? "ddd" : "hhh";
    if (is_gpu || one.set != "replay" || one.location == "hhh") continue;
    one.location = "hhh";
    moved = true;
  }
  if (moved) say("replay: device operands are taken to host memory, since there is no GPU");
}

std::vector<Case> gather_cases(const Options& options, bool is_gpu) {
  std::vector<Case> cases = replayed_cases(options);
  std::ranges::copy(named_cases(options), std::back_inserter(cases));
  // The types of a replay and of a file stand unless the command line names some.
  const auto& types = options.defaults.types;
  if (options.types_given)
    std::erase_if(cases,
                  [&](const Case& one) { return std::find(types.begin(), types.end(), one.type) == types.end(); });
  resolve_locations(cases, is_gpu);
  cases = without_duplicates(std::move(cases));
  if (cases.empty()) throw InputError("no case is left after --type");
  return cases;
}

/// The candidates of a run, in the order of the table, and what is said about those that are not there.
class CandidateList {
 public:
  CandidateList(const Options& options, const std::vector<Case>& cases, Device& device)
      : options_(options), device_(device) {
    if (wanted("xgemm") && !options.ladder) list_.push_back(make_xgemm(device, options.math_mode, options.prepared));
    add_kernels();
    for (const std::string& path : options.against) list_.push_back(make_against(path, device, options.math_mode));
    // Of the two, the one with the workspace that NVIDIA recommends for Hopper: it is the reference.
    if (wanted("cublas-ws32") || options.quick || options.ladder)
      add("cublas-ws32", [&](std::string& why) {
        return make_cublas(device, options.cublas_path, kCublasWorkspace, CublasMath::kDefault, why);
      });
    if (wanted("cublas") && (!(options.quick || options.ladder) || named("cublas")))
      add("cublas",
          [&](std::string& why) { return make_cublas(device, options.cublas_path, 0, CublasMath::kDefault, why); });
    if (named("cublas-tf32"))
      add("cublas-tf32", [&](std::string& why) {
        return make_cublas(device, options.cublas_path, kCublasWorkspace, CublasMath::kTf32, why);
      });
    const auto has_epilogue = [](const Case& one) { return !one.epilogue.empty(); };
    if (named("cublaslt") || (options.candidates.empty() && std::ranges::any_of(cases, has_epilogue)))
      add("cublaslt", [&](std::string& why) { return make_cublaslt(device, why); });
    if (wanted("blas")) add("blas", [&](std::string& why) { return make_cpu_blas(device, why); });
    if (list_.empty()) throw InputError("there is no candidate to measure");
    check_names();
    check_reference();
  }

  std::vector<Candidate*> all() const {
    std::vector<Candidate*> pointers;
    for (const auto& candidate : list_) pointers.push_back(candidate.get());
    return pointers;
  }

  /// Those that make sense for a case: the CPU's BLAS has no part in device memory.
  std::vector<Candidate*> suited(const Case& one) const {
    auto pointers = all();
    if (one.location != "hhh")
      std::erase_if(pointers, [&](const Candidate* candidate) { return candidate->name() == blas_name_; });
    return pointers;
  }

  /// The reference of a case: the one that was asked for, else cuBLAS, else the CPU's BLAS, else the second candidate.
  std::string reference(const Case& one) const {
    const auto here = suited(one);
    const auto has = [&](const std::string& name) {
      return std::any_of(here.begin(), here.end(),
                         [&](const Candidate* candidate) { return candidate->name() == name; });
    };
    const std::string lt = one.epilogue.empty() ? "" : "cublaslt";  // the only one with epilogues
    for (const std::string& name :
         {options_.reference, lt, std::string("cublas-ws32"), std::string("cublas"), blas_name_})
      if (!name.empty() && has(name)) return name;
    return here.size() > 1 ? here[1]->name() : "";
  }

  Facts descriptions() const {
    Facts facts;
    for (const auto& candidate : list_) facts.emplace_back(candidate->name(), candidate->description());
    return facts;
  }

  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool named(const char* name) const {
    return std::find(options_.candidates.begin(), options_.candidates.end(), name) != options_.candidates.end();
  }
  bool wanted(const char* name) const { return options_.candidates.empty() || named(name); }

  template <class Make>
  void add(const char* name, Make make) {
    std::string why;
    auto candidate = make(why);
    if (candidate == nullptr) {
      // Without a GPU nobody expects cuBLAS, unless it was asked for.
      if (device_.facts().is_gpu || named(name) || std::string(name) == "blas")
        notes_.push_back(fmt::format("{} is not there: {}", name, why));
      return;
    }
    if (std::string(name) == "blas") blas_name_ = candidate->name();
    list_.push_back(std::move(candidate));
  }

  void add_kernels() {
    std::vector<std::string> kernels;
    for (const std::string& name : options_.kernels) {
      const auto more = name == "all"         ? kernel_families()
                        : name == "instances" ? kernel_instances()
                                              : std::vector{name};
      kernels.insert(kernels.end(), more.begin(), more.end());
    }
    if (options_.ladder && options_.kernels.empty()) kernels = kernel_families();
    if (options_.ladder && kernels.empty()) throw InputError("--ladder: this libxgemm has no GPU kernels");
    if (!kernels.empty() && !device_.facts().is_gpu)
      throw InputError(
          fmt::format("{}: kernels run on a GPU, and none is used", options_.ladder ? "--ladder" : "--kernel"));
    for (const std::string& kernel : kernels) list_.push_back(make_forced(kernel, device_, options_.math_mode));
  }

  /// Results are told apart by the names.
  void check_names() const {
    for (auto one = list_.begin(); one != list_.end(); ++one)
      if (std::any_of(list_.begin(), one, [&](const auto& other) { return other->name() == (*one)->name(); }))
        throw InputError(
            fmt::format("two candidates are named '{}': each --against needs a file name of its own, and each --kernel "
                        "is given once",
                        (*one)->name()));
  }

  void check_reference() const {
    if (options_.reference.empty()) return;
    std::vector<std::string> names;
    for (const auto& candidate : list_) names.push_back(candidate->name());
    if (std::find(names.begin(), names.end(), options_.reference) == names.end())
      throw InputError(fmt::format("--reference: '{}' is not one of {}", options_.reference, fmt::join(names, ", ")));
  }

  const Options& options_;
  Device& device_;
  std::vector<std::unique_ptr<Candidate>> list_;
  std::string blas_name_;
  std::vector<std::string> notes_;
};

/// Time spent and left, and what the next case may take of it.
class Budget {
 public:
  Budget(const Device& device, std::optional<double> seconds, std::size_t cases)
      : device_(device), start_(device.now()), seconds_(seconds), cases_(cases) {}

  double elapsed() const { return device_.now() - start_; }
  double left() const { return seconds_ ? *seconds_ - elapsed() : 1e9; }

  /// Settings of the next case: an even share of what is left, with some slack, since most cases end early.
  MeasureSettings settings_for(const MeasureSettings& wanted, std::size_t done) const {
    MeasureSettings settings = wanted;
    if (!seconds_) return settings;
    const double share = left() / static_cast<double>(cases_ - done);
    settings.max_seconds = std::min(wanted.max_seconds, std::max(1.5 * share, 0.02));
    settings.hard_seconds = left();
    return settings;
  }

  /// Whether a case that does so many operations is hopeless at the rate of what has been measured.
  bool hopeless(const Case& one, std::size_t candidates) const {
    if (!seconds_) return false;
    if (left() <= 0) return true;
    constexpr double kCallsAtLeast = 5;
    return slowest_rate_ > 0 && one.flops() > largest_flops_ &&
           one.flops() / slowest_rate_ * kCallsAtLeast * static_cast<double>(candidates) * 1e-12 > left();
  }

  /// Learns the rate of the largest product so far, which resembles what may come more than any other.
  void learn(const Row& row) {
    if (row.status != "ok" || row.shape.flops() < largest_flops_) return;
    largest_flops_ = row.shape.flops();
    slowest_rate_ = 0;
    for (const CandidateResult& result : row.candidates)
      if (const double rate = tflops(row, result); rate > 0 && (slowest_rate_ == 0 || rate < slowest_rate_))
        slowest_rate_ = rate;
  }

  /// Seconds until everything is done, as it looks now.
  double eta(std::size_t done) const {
    const double rest = done == 0 ? 0 : elapsed() / static_cast<double>(done) * static_cast<double>(cases_ - done);
    return std::min(rest, std::max(left(), 0.0));
  }

 private:
  const Device& device_;
  double start_;
  std::optional<double> seconds_;
  std::size_t cases_;
  double largest_flops_ = 0;
  double slowest_rate_ = 0;  // of the candidates of that product, in teraflops per second
};

class Session {
 public:
  Session(Options options, const std::atomic<bool>& stop) : options_(std::move(options)), stop_(stop) {}

  int run() {
    device_ = open_device(options_);
    const bool is_gpu = device_->facts().is_gpu;
    apply_presets(options_, is_gpu);
    cases_ = gather_cases(options_, is_gpu);
    if (options_.dry_run) return list_cases();
    open_clocks();
    candidates_ = std::make_unique<CandidateList>(options_, cases_, *device_);
    describe();
    write_results();  // an unwritable file is told now and not after an hour
    const int status = measure_all();
    finish(status);
    return status;
  }

 private:
  int list_cases() const {
    for (const Case& one : cases_)
      fmt::print("{:16} {}{}\n", one.set, one.id(), one.label.empty() ? "" : "  # " + one.label);
    fmt::print("{} cases\n", cases_.size());
    return kDone;
  }

  void open_clocks() {
    if (!device_->facts().is_gpu) return;
    std::string why;
    if (auto nvml = make_nvml_monitor(device_->facts().pci_bus_id, why))
      clocks_ = std::move(nvml);
    else
      say(fmt::format("clocks and power are not known ({}): throttled rounds cannot be told", why));
  }

  void describe() {
    results_.created = utc_now();
    results_.command = options_.command;
    results_.environment = describe_environment(*device_, clocks_->facts(), options_);
    results_.settings = describe_settings(*device_, options_);
    results_.candidates = candidates_->descriptions();
    std::string machine = device_->facts().name;
    if (const std::string driver = results_.fact("driver"); !driver.empty()) machine += ", driver " + driver;
    say(fmt::format("{}, {}", machine, results_.created));
    for (const auto& [name, description] : results_.candidates) say(fmt::format("  {:16} {}", name, description));
    for (const std::string& note : candidates_->notes()) say("  " + note);
    const bool strict = options_.math_mode == XGEMM_MATH_STRICT;
    say(fmt::format("{} cases, data {}, operands rotate over 4 times the cache{}", cases_.size(), describe_data(),
                    strict ? "" : fmt::format(", math {}", name_of_math_mode(options_.math_mode))));
  }

  std::string describe_data() const { return xgemm::perf::describe(options_.data); }

  void write_results() const {
    if (!options_.json.empty()) write_file(options_.json, to_json(results_));
  }

  TableStyle style() const {
    TableStyle style;
    style.colour = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    style.giga = !device_->facts().is_gpu;
    style.plans = options_.verbose;
    style.case_width = case_width(cases_);
    style.primary = candidates_->all().front()->name();
    style.reference = candidates_->reference(cases_.front());
    if (style.reference == style.primary) style.reference.clear();
    return style;
  }

  int measure_all() {
    const TableStyle table = style();
    Budget budget(*device_, options_.budget_seconds, cases_.size());
    ProgressLine progress(isatty(STDERR_FILENO) != 0);
    int status = kDone;
    try {
      measure_ceilings_if_asked(progress);
      Operands operands(*device_, options_.data, options_.seed);
      fmt::print("\n{}", table_header(table));
      for (std::size_t i = 0; i < cases_.size() && !stop_; ++i) {
        Row row = measure_one(i, operands, budget, progress);
        if (stop_ && row.status == "skipped") break;
        budget.learn(row);
        progress.clear();
        fmt::print("{}", table_row(row, table));
        std::fflush(stdout);
        if (row.status == "failed") status = kWrongResult;
        results_.rows.push_back(std::move(row));
        write_results();
      }
      if (options_.host_times && !measure_host_times(table, progress)) status = kWrongResult;
    } catch (const InputError&) {  // of write_results()
      progress.clear();
      throw;
    } catch (const std::exception& error) {
      progress.clear();
      fmt::print(stderr, "xgemm-bench: the device failed, what was finished is kept: {}\n", error.what());
      return kDeviceFailed;
    }
    progress.clear();
    results_.complete = !stop_;
    const std::string host_times = host_time_table(results_, table);
    fmt::print("\n{}{}{}", host_times, host_times.empty() ? "" : "\n", table_summary(results_, table));
    std::fflush(stdout);
    return stop_ ? kInterrupted : status;
  }

  void measure_ceilings_if_asked(ProgressLine& progress) {
    if (!options_.ceilings) return;
    progress.show("measuring the machine's copy and arithmetic rates");
    results_.ceilings = measure_ceilings(*device_);
    progress.clear();
    say(fmt::format("ceilings: copy {:.0f} GB/s, fp32 {:.1f} TFLOP/s{}", results_.ceilings.copy_gbs,
                    results_.ceilings.fp32_tflops,
                    results_.ceilings.fp16_tensor_tflops > 0
                        ? fmt::format(", fp16 tensor cores {:.0f} TFLOP/s", results_.ceilings.fp16_tensor_tflops)
                        : ""));
  }

  /// Whether libxgemm could make all the calls.
  bool measure_host_times(const TableStyle& table, ProgressLine& progress) {
    Case anywhere;
    anywhere.location = "ddd";
    bool good = true;
    for (HostTime one : host_time_cases()) {
      progress.show(fmt::format("host time of a call: {}", one.name));
      one = measure_host_time(std::move(one), candidates_->suited(anywhere), candidates_->reference(anywhere), *device_,
                              stop_);
      if (stop_) break;
      const CandidateResult* const ours = one.find(table.primary);
      good = good && (ours == nullptr || ours->status != "failed");
      results_.host_times.push_back(std::move(one));
    }
    progress.clear();
    write_results();
    return good;
  }

  Row measure_one(std::size_t index, Operands& operands, const Budget& budget, ProgressLine& progress) {
    const Case& one = cases_[index];
    const auto candidates = candidates_->suited(one);
    if (!device_->facts().is_gpu && one.location != "hhh") return skip(one, "no GPU for device or managed operands");
    if (budget.hopeless(one, candidates.size())) return skip(one, "the time budget is used up");
    const auto show = [&](const MeasureProgress& now) {
      progress.show(fmt::format("[{}/{}] {}  round {}, +-{:.1f} %  {} elapsed, {} to go", index + 1, cases_.size(),
                                one.id(), now.rounds, 100 * std::min(now.half_width, 9.99),
                                format_seconds(budget.elapsed()), format_seconds(budget.eta(index))));
    };
    show({});
    double last_shown = device_->now();
    Bench bench{*device_, operands, *clocks_, stop_, [&](const MeasureProgress& now) {
                  if (device_->now() - last_shown < 0.1) return;
                  last_shown = device_->now();
                  show(now);
                }};
    MeasureSettings settings = budget.settings_for(options_.measure, index);
    if (std::ranges::any_of(results_.rows, [](const Row& row) { return row.rounds > 0; })) settings.warm_up_seconds = 0;
    return measure(one, candidates, candidates_->reference(one), settings, bench);
  }

  static Row skip(const Case& one, const char* reason) {
    Row row;
    row.shape = one;
    row.id = one.id();
    row.status = "skipped";
    row.reason = reason;
    return row;
  }

  void finish(int status) {
    write_results();
    if (!options_.json.empty()) say("wrote " + options_.json);
    if (status == kInterrupted) say("interrupted: the rows above are whole and have been kept");
  }

  Options options_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<ClockMonitor> clocks_ = std::make_unique<ClockMonitor>();
  std::vector<Case> cases_;
  std::unique_ptr<CandidateList> candidates_;
  Results results_;
};

int list_shapes() {
  for (const BuiltinSet& set : builtin_sets()) {
    const auto cases = parse_shape_text(set.text, std::string(set.name), std::string(set.name), ShapeDefaults{});
    std::string_view comment = set.text.substr(0, set.text.find('\n'));
    comment.remove_prefix(std::min(comment.find_first_not_of("# "), comment.size()));
    fmt::print("{:16} {:4} cases  {}\n", set.name, cases.size(), comment);
  }
  fmt::print("{:16} {:>4}        {}\n", "standard", "", kStandardSets);
  return kDone;
}

int list_kernels() {
  const auto instances = kernel_instances();
  if (instances.empty()) fmt::print("this libxgemm has no GPU kernels\n");
  for (const std::string& family : kernel_families()) {
    fmt::print("{}\n", family);
    for (const std::string& instance : instances)
      if (family_of(instance) == family) fmt::print("  {}\n", instance);
  }
  return kDone;
}

}  // namespace

int run_session(Options options, const std::atomic<bool>& stop) {
  if (options.list_shapes) return list_shapes();
  if (options.list_kernels) return list_kernels();
  return Session(std::move(options), stop).run();
}

}  // namespace xgemm::perf
