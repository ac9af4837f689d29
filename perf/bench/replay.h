// Reads the lines that XGEMM_VERBOSE=1 makes libxgemm print, so that the products of a real program can be timed again.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/case.h"

namespace xgemm::perf {

struct Replay {
  std::vector<Case> cases;            // every distinct product once, in order of appearance; Case::calls counts
  std::int64_t calls = 0;             // lines that are a product
  std::int64_t other_lines = 0;       // the program's own output
  std::int64_t empty_calls = 0;       // products with nothing to do (an extent of 0)
  std::vector<std::string> problems;  // lines of ours that could not be understood: "FILE:LINE: field 'm': ..."
};

/// Never throws on content: a log may be cut anywhere and mixed with anything.
Replay parse_replay(std::string_view text, const std::string& origin);

/// Reads FILE ("-": standard input). Throws InputError if it cannot be read or holds no product.
Replay read_replay(const std::string& path);

}  // namespace xgemm::perf
