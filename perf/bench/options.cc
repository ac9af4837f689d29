// Implementation of options.h. SPDX-License-Identifier: BSD-3-Clause
#include "bench/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "bench/element.h"
#include "bench/input_error.h"
#include "xgemm.h"

namespace xgemm::perf {
namespace {

constexpr const char* kDescription =
    "Times libxgemm against cuBLAS, the CPU's BLAS and other builds of itself: interleaved rounds over rotating "
    "operands,\n"
    "medians of paired ratios with their intervals, every result checked against float64.\n"
    "Without shapes it makes the quick tour (--quick).";

constexpr const char* kFooter =
    "Exit status: 0 done, 1 a result of libxgemm was wrong or failed, 2 bad input, 3 the device failed, 130 Ctrl-C.\n"
    "Examples:\n"
    "  xgemm-bench --type h --shapes 1024:8192:x2 --json squares.json\n"
    "  xgemm-bench --shapes prefill,odd\n"
    "  xgemm-bench --m 4096 --n 1,8,64 --k 4096 --trans TN\n"
    "  xgemm-bench --ladder --type s,h\n"
    "  XGEMM_VERBOSE=1 program 2> calls.log; xgemm-bench --replay calls.log";

/// Values as text: they are parsed by the same functions as those of shape files, after CLI11 has collected them.
struct Texts {
  std::vector<std::string> types, trans, alpha, beta, epilogue, pad, offset, batch, m, n, k;
  std::string location, data = "normal", math = "strict";
};

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

template <class Value, class Parse>
void take(const char* option, const std::vector<std::string>& given, Value& value, Parse parse) {
  if (given.empty()) return;
  try {
    value = parse(joined(given));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", option, error.what()));
  }
}

int parse_math_mode(const std::string& name) {
  for (const int mode : {XGEMM_MATH_STRICT, XGEMM_MATH_FP32_EMULATED, XGEMM_MATH_TF32})
    if (name == name_of_math_mode(mode)) return mode;
  throw InputError(fmt::format("--math: '{}' is none of strict, fp32_emulated, tf32", name));
}

void apply(const Texts& texts, Options& options) {
  ShapeDefaults& defaults = options.defaults;
  take("--type", texts.types, defaults.types, parse_types);
  take("--trans", texts.trans, defaults.trans, parse_transposes);
  take("--alpha", texts.alpha, defaults.alphas, parse_floats);
  take("--beta", texts.beta, defaults.betas, parse_floats);
  take("--epilogue", texts.epilogue, defaults.epilogues, parse_epilogues);
  take("--pad", texts.pad, defaults.pads, parse_pads);
  take("--offset", texts.offset, defaults.offsets, parse_offsets);
  take("--batch", texts.batch, defaults.batches, parse_batches);
  take("--m", texts.m, options.m, parse_extents);
  take("--n", texts.n, options.n, parse_extents);
  take("--k", texts.k, options.k, parse_extents);
  if (!texts.location.empty())
    take("--location", {texts.location}, defaults.location,
         [](const std::string& text) { return parse_location(text); });
  options.types_given = !texts.types.empty();
  options.data = parse_data_kind(texts.data);
  options.math_mode = parse_math_mode(texts.math);
}

void add_shape_options(CLI::App& app, Options& options, Texts& texts) {
  const char* const group = "What is timed";
  app.add_option("--shapes", options.shapes,
                 "A file, a set (--list-shapes), first:last:step or MxNxK; repeatable, commas")
      ->group(group);
  app.add_option("--m", texts.m, "Extents: numbers, first:last:step or first:last:xFACTOR")->group(group);
  app.add_option("--n", texts.n, "As --m; as m where not given")->group(group);
  app.add_option("--k", texts.k, "As --m; as m where not given")->group(group);
  app.add_option("--type", texts.types, list_of_types(true) + "; of two names the second is that of C. Or several: s,h")
      ->group(group);
  app.add_option("--trans", texts.trans, "NN, NT, TN, TT")->group(group);
  app.add_option("--alpha", texts.alpha, "Scalars")->group(group);
  app.add_option("--beta", texts.beta, "Scalars")->group(group);
  app.add_option("--epilogue", texts.epilogue, "none, bias, relu, gelu, bias+relu, bias+gelu, or several: none,bias")
      ->group(group);
  app.add_option("--pad", texts.pad, "Elements by which leading dimensions exceed the stored rows")->group(group);
  app.add_option("--offset", texts.offset, "Elements by which pointers miss a 256-byte boundary")->group(group);
  app.add_option("--batch", texts.batch, "Products per call")->group(group);
  app.add_option("--location", texts.location, "device, host, managed, or a letter each for A, B, C: d, h, m")
      ->group(group);
  app.add_option("--replay", options.replay, "Lines of XGEMM_VERBOSE=1 from a file, or - for standard input")
      ->group(group);
  app.add_flag("--quick", options.quick, "The quick tour: under 2 minutes on an H200, under 1 without a GPU")
      ->group(group);
  app.add_flag("--standard", options.standard, "The standard sets, on which the regression gate stands")->group(group);
  app.add_flag("--ladder", options.ladder, "Every family of kernels against cuBLAS, at 1024 and 4096")->group(group);
}

void add_candidate_options(CLI::App& app, Options& options, Texts& texts) {
  const char* const group = "Against what";
  app.add_option("--candidates", options.candidates, "Some of xgemm, cublas, cublas-ws32, cublas-tf32, cublaslt, blas")
      ->delimiter(',')
      ->check(CLI::IsMember({"xgemm", "cublas", "cublas-ws32", "cublas-tf32", "cublaslt", "blas"}))
      ->group(group);
  app.add_option("--kernel", options.kernels, "Kernels or families to force; all (families) or instances")
      ->delimiter(',')
      ->group(group);
  app.add_option("--against", options.against, "Another library with the C interface of libxgemm; repeatable")
      ->check(CLI::ExistingFile)
      ->group(group);
  app.add_option("--reference", options.reference, "The candidate that ratios refer to")->group(group);
  app.add_option("--cublas", options.cublas_path, "The file of cuBLAS, where it is not on the library path")
      ->group(group);
  app.add_option("--device", options.device, "Number of the GPU")->check(CLI::NonNegativeNumber)->group(group);
  app.add_flag("--cpu", options.cpu_only, "As if there were no GPU")->group(group);
  app.add_option("--math", texts.math, "How fp32 products may be computed: strict, fp32_emulated, tf32")->group(group);
  app.add_option("--prepared", options.prepared,
                 "Operands of fp32_emulated products that xgemm prepares once, before they are timed: A, B or AB")
      ->check(CLI::IsMember({"A", "B", "AB"}))
      ->group(group);
}

void add_measure_options(CLI::App& app, Options& options, Texts& texts) {
  const char* const group = "How";
  MeasureSettings& measure = options.measure;
  app.add_option("--data", texts.data, "normal, uniform, positive, integers, ones, zeros")->group(group);
  app.add_option("--seed", options.seed, "Of the data")->group(group);
  app.add_option_function<double>(
         "--precision", [&measure](double percent) { measure.precision = percent / 100; },
         "Half width of the ratios' intervals, in percent, at which a case is done (1)")
      ->check(CLI::Range(0.0, 100.0))
      ->group(group);
  app.add_option("--min-rounds", measure.min_rounds, "Fewest rounds, unless the time is up (9)")
      ->check(CLI::Range(std::int64_t{3}, std::int64_t{100000}))
      ->group(group);
  app.add_option("--max-rounds", measure.max_rounds, "Most rounds (200)")
      ->check(CLI::Range(std::int64_t{3}, std::int64_t{1000000}))
      ->group(group);
  app.add_option_function<double>(
         "--max-time",
         [&options](double seconds) {
           options.measure.max_seconds = seconds;
           options.max_time_given = true;
         },
         "Seconds for a case (2)")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_option("--budget", options.budget_seconds, "Seconds for everything; what does not fit is skipped")
      ->check(CLI::PositiveNumber)
      ->group(group);
  app.add_flag("--no-check{false}", measure.check, "Do not check results against float64")->group(group);
  app.add_flag("--host-times", options.host_times,
               "Measure what calls cost the processor too, for shapes that come again and for new ones; GPU only")
      ->group(group);
  app.add_flag("--ceilings", options.ceilings, "Measure the machine's copy and arithmetic rates too")->group(group);
}

void add_output_options(CLI::App& app, Options& options) {
  const char* const group = "Output";
  app.add_option("--json", options.json,
                 "Write results as JSON, after every row (perf/results.py makes CSV and JUnit of it)")
      ->group(group);
  app.add_option("--commit", options.commit, "What was built, for the environment in the results")->group(group);
  app.add_flag("--verbose", options.verbose, "Print the plan of every row")->group(group);
  app.add_flag("--list-shapes", options.list_shapes, "Print the sets of shapes")->group(group);
  app.add_flag("--list-kernels", options.list_kernels, "Print kernels by family")->group(group);
  app.add_flag("--dry-run", options.dry_run, "Print the cases and stop")->group(group);
}

}  // namespace

const char* name_of_math_mode(int mode) {
  return mode == XGEMM_MATH_TF32 ? "tf32" : mode == XGEMM_MATH_FP32_EMULATED ? "fp32_emulated" : "strict";
}

std::optional<int> parse_options(int argc, char** argv, Options& options) {
  CLI::App app(kDescription, "xgemm-bench");
  app.footer(kFooter);
  app.get_formatter()->column_width(28);
  app.set_version_flag("--version", std::string("xgemm-bench ") + xgemm_version_string());
  Texts texts;
  add_shape_options(app, options, texts);
  add_candidate_options(app, options, texts);
  add_measure_options(app, options, texts);
  add_output_options(app, options);
  try {
    app.parse(argc, argv);
    apply(texts, options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const InputError& error) {
    std::cerr << "xgemm-bench: " << error.what() << '\n';
    return 2;
  }
  options.command.assign(argv, argv + argc);
  return std::nullopt;
}

}  // namespace xgemm::perf
