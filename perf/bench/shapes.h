// Where the cases come from: shape files, the sets built into the program, ranges on the command line.
//
// A shape file holds one line per group of cases, `#` starts a comment:
//
//     m n k [key=value ...]
//
// m, n and k are a number, a list (1,8,64), a range first:last:step or first:last:xFACTOR, or `=` for "as m". Keys:
// type (s, h, b, H, B, or several: sh), trans (NN, NT, TN, TT), alpha, beta, epilogue, pad, lda, ldb, ldc, offset,
// layout (col, row), batch, batch_kind (strided, pointers), location (three of d, h, m; or device, host, managed),
// label. Every value may be a list; a line stands for all combinations. What a line leaves open comes from the command
// line. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/case.h"

namespace xgemm::perf {

/// What a shape takes where its line does not say.
struct ShapeDefaults {
  std::vector<char> types{'s'};
  std::vector<std::string> trans{"NN"};
  std::vector<float> alphas{1};
  std::vector<float> betas{0};
  std::vector<std::string> epilogues{""};
  std::vector<std::int64_t> pads{0};
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> batches{1};
  std::string location;  // empty: where this machine computes
};

/// A number, a list, first:last:step or first:last:xFACTOR. Throws InputError with a reason (no position).
std::vector<std::int64_t> parse_extents(std::string_view text);
std::vector<std::int64_t> parse_pads(std::string_view text);
std::vector<std::int64_t> parse_offsets(std::string_view text);
std::vector<std::int64_t> parse_batches(std::string_view text);
std::vector<float> parse_floats(std::string_view text);
std::vector<char> parse_types(std::string_view text);
std::vector<std::string> parse_transposes(std::string_view text);
/// none, or as in Case::epilogue.
std::vector<std::string> parse_epilogues(std::string_view text);
/// Throws InputError where an epilogue is none that is timed of such a product.
void check_epilogue(const Case& one);
/// ddd, hhd, …; device, host and managed for all three.
std::string parse_location(std::string_view text);

/// `origin` is the file name for messages: "FILE:LINE: field 'beta': ...".
std::vector<Case> parse_shape_text(std::string_view text, const std::string& origin, const std::string& set,
                                   const ShapeDefaults& defaults);

/// --shapes: a file, the name of a built-in set, first:last:step (squares), MxNxK, or several with commas.
std::vector<Case> parse_shape_argument(const std::string& argument, const ShapeDefaults& defaults);

/// Squares or any product of extents, with everything else from the defaults.
std::vector<Case> expand(const std::string& set, const std::vector<std::int64_t>& m, const std::vector<std::int64_t>& n,
                         const std::vector<std::int64_t>& k, const ShapeDefaults& defaults);

/// Keeps the first of cases that are the same work.
std::vector<Case> without_duplicates(std::vector<Case> cases);

/// The files of perf/shapes as they were when the program was built, so that it can be carried to another machine.
struct BuiltinSet {
  std::string_view name;
  std::string_view text;
};
const std::vector<BuiltinSet>& builtin_sets();

}  // namespace xgemm::perf
