// The walks over a staged product: every part of an operand is loaded when it is first needed, into a slot of its own,
// and what an interrupted walk over C has left, with what it has come to, is all of C.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "transfer/staging_walk.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace xgemm::transfer {
namespace {

Problem make(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool shares_a) {
  Problem p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.batch_count = batch;
  p.alpha.value = p.beta.value = 1;
  p.a.ld = m + 1;
  p.b.ld = k + 2;
  p.c.ld = m + 3;
  p.a.batch_stride = shares_a ? 0 : p.a.ld * k;
  p.b.batch_stride = p.b.ld * n;
  p.c.batch_stride = p.c.ld * n;
  // Never followed.
  p.a.data = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
  p.b.data = reinterpret_cast<void*>(std::uintptr_t{1} << 41);
  p.c.data = reinterpret_cast<void*>(std::uintptr_t{1} << 42);
  return p;
}

std::vector<StagedProduct> products() {
  std::vector<StagedProduct> all;
  const Paths paths = {Path::packed, Path::packed, Path::packed};
  for (const Problem& p : {make(700, 900, 40, 1, false), make(40, 30, 20, 300, false), make(40, 30, 20, 300, true),
                           make(100000, 2, 1, 1, false)})
    for (const std::int64_t budget : {std::int64_t{1} << 19, std::int64_t{1} << 21})
      all.emplace_back(p, plan_staging(p, {true, true, true}, budget), paths,
                       reinterpret_cast<std::byte*>(std::uintptr_t{1} << 43));
  return all;
}

TEST(InputWalk, LoadsEachPartOnceWhereItIsNeeded) {
  for (const StagedProduct& product : products()) {
    SCOPED_TRACE(to_string(product.plan));
    std::int64_t loads[3] = {}, bytes = 0;
    std::map<const std::byte*, Load::Operand> owners;  // of slots
    InputWalk walk(product);
    for (; !walk.at_end(); walk.next_piece()) {
      for (; walk.load() != nullptr; walk.next_load()) {
        const Load& load = *walk.load();
        EXPECT_EQ(load.number, loads[static_cast<int>(load.operand)]++);
        EXPECT_EQ(owners.emplace(load.slot, load.operand).first->second, load.operand);
        bytes += load.block.width * load.block.all_columns();
      }
      EXPECT_EQ(walk.a_load(), loads[0] - 1);
      EXPECT_EQ(walk.b_load(), loads[1] - 1);
      EXPECT_EQ(walk.piece(), product.plan.piece(product.problem, walk.piece_index()));
    }
    EXPECT_EQ(loads[2], product.plan.pieces);
    EXPECT_LE(static_cast<std::int64_t>(owners.size()),
              product.plan.a.count + product.plan.b.count + product.plan.c.count);
    EXPECT_GT(bytes, 0);
  }
}

TEST(OutputWalk, WhatIsLeftAndWhatWasDoneIsAllOfC) {
  for (const StagedProduct& product : products()) {
    SCOPED_TRACE(to_string(product.plan));
    const Problem& p = product.problem;
    const std::int64_t all = p.m * p.n * p.batch_count;
    std::int64_t done = 0;  // elements
    OutputWalk walk(product);
    for (bool more = true; more;) {
      std::int64_t left = 0;
      for (const Piece& piece : walk.rest()) {
        left += piece.products * piece.m * piece.n;
        EXPECT_LE(piece.first_product + piece.products, p.batch_count);
        EXPECT_LE(piece.i + piece.m, p.m);
        EXPECT_LE(piece.j + piece.n, p.n);
      }
      ASSERT_EQ(left + done, all);
      if (!walk.has_chunk()) {
        walk.next_piece();
        more = walk.piece_index() < product.plan.pieces;
        continue;
      }
      const Chunk chunk = walk.chunk();
      done += chunk.columns * chunk.width / size_of(p.c.type);
      walk.next_chunk();
    }
    EXPECT_EQ(done, all);
    EXPECT_TRUE(walk.rest().empty());
  }
}

}  // namespace
}  // namespace xgemm::transfer
