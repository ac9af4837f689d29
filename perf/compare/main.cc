// xgemm-compare: two result files of xgemm-bench, a verdict per shape, an exit status for CI.
// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/input_error.h"
#include "compare/compare.h"

namespace {

using namespace xgemm::perf;

struct Options {
  std::string base;
  std::string now;
  CompareSettings settings;
  double tolerance_percent = 3;
  double noise_percent = 0.5;
  double host_noise_percent = 25;
  bool markdown = false;
  bool all = false;
  std::string json;
};

void describe(CLI::App& app, Options& options) {
  app.footer(
      "Verdicts: SAME, FASTER, SLOWER when the whole interval of the change is within, above or below the tolerance,\n"
      "UNCLEAR when it crosses an edge; FAILED, MISSING, ADDED, INCOMPARABLE.\n"
      "Exit status: 0 no regression, 1 a shape is SLOWER, FAILED or MISSING, 2 bad input.");
  app.add_option("BASE", options.base, "Result file to compare with")->required();
  app.add_option("NEW", options.now, "Result file to judge")->required();
  app.add_option("--tolerance", options.tolerance_percent, "Percent that a shape may lose (3)")
      ->check(CLI::Range(0.0, 100.0));
  app.add_option("--noise", options.noise_percent, "Percent by which two runs of one build differ anyway (0.5)")
      ->check(CLI::Range(0.0, 50.0));
  app.add_option("--host-noise", options.host_noise_percent, "The same where operands are in host memory (25)")
      ->check(CLI::Range(0.0, 50.0));
  app.add_option("--candidate", options.settings.candidate, "Whose speed is judged (xgemm)");
  app.add_flag("--times", options.settings.by_time,
               "Compare times instead of ratios to the reference: one machine only");
  app.add_flag("--allow-missing", options.settings.allow_missing, "Shapes that NEW lacks are no failure");
  app.add_flag("--all", options.all, "A line per shape");
  app.add_flag("--markdown", options.markdown, "Print a summary for a pull request");
  app.add_option("--json", options.json, "Write the verdicts to a file");
}

int run(const Options& options) {
  const Results base = read_results(options.base);
  const Results now = read_results(options.now);
  const CompareReport report = compare(base, now, options.settings);
  fmt::print("{}", options.markdown ? render_markdown(report, base, now, options.settings)
                                    : render_text(report, base, now, options.settings, options.all));
  if (!options.json.empty()) write_file(options.json, render_json(report, options.settings));
  return report.regressed(options.settings) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Says shape by shape whether NEW is slower than BASE.", "xgemm-compare");
  Options options;
  describe(app, options);
  try {
    app.parse(argc, argv);
    options.settings.tolerance = options.tolerance_percent / 100;
    options.settings.noise = options.noise_percent / 100;
    options.settings.host_noise = options.host_noise_percent / 100;
    return run(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const InputError& error) {
    fmt::print(stderr, "xgemm-compare: {}\n", error.what());
    return 2;
  }
}
