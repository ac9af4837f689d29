// wgmma. SPDX-License-Identifier: BSD-3-Clause
#include "sim/sm90/wgmma.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async_proxy.h"
#include "sim/warp.h"
#include "xgemm/float16.hpp"

namespace xgemm::sim {
namespace {

constexpr int kRows = 64;
constexpr int kDepth = 16;     // of K, in pairs of bytes
constexpr int kThreads = 128;  // of a warpgroup
constexpr int kChunk = 8;      // pairs of bytes that lie together in shared memory
constexpr int kChunkBytes = 16;
constexpr int kMaxN = 256;

// ---- Descriptors ----

struct Descriptor {
  std::size_t start, leading, stride;  // bytes
  int swizzle;
  unsigned reserved, base_offset;

  explicit Descriptor(std::uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        swizzle(0),
        reserved(static_cast<unsigned>((bits >> 14 & 3) | (bits >> 30 & 3) | (bits >> 46 & 7) | (bits >> 52 & 0x3ff))),
        base_offset(static_cast<unsigned>(bits >> 49 & 7)) {
    constexpr int kSwizzles[] = {0, 128, 64, 32};
    swizzle = kSwizzles[bits >> 62];
  }
};

// Where the chunk lies that holds elements mn.. of column k (contiguous along mn), or k.. of row mn.
std::size_t chunk_offset(const Descriptor& d, gpu::Major major, int mn, int k) {
  const auto r = static_cast<std::size_t>(mn), c = static_cast<std::size_t>(k);
  const auto width = static_cast<std::size_t>(d.swizzle);
  if (d.swizzle == 0) {
    if (major == gpu::Major::k) return d.start + r / 8 * d.stride + r % 8 * kChunkBytes + c / 8 * d.leading;
    return d.start + r / 8 * d.stride + c % 8 * kChunkBytes + c / 8 * d.leading;
  }
  const std::size_t plain =
      major == gpu::Major::k ? d.start + r / 8 * d.stride + r % 8 * width + c * 2
                             : d.start + r * 2 / width * d.leading + c / 8 * d.stride + c % 8 * width + r * 2 % width;
  return swizzled(plain, d.swizzle);
}

// One operand: extent x 16, as 8 x 8 matrices of eight chunks. Of elements of 32 bits each counts as two along K.
struct Operand {
  Descriptor descriptor;
  gpu::Major major;
  int extent;

  // Calls f(mn, k, offset) for the chunks of matrix (i, j), which holds elements from (8 i, 8 j) on.
  template <class F>
  void for_each_chunk(int i, int j, F f) const {
    for (int c = 0; c < 8; ++c) {
      const int mn = 8 * i + (major == gpu::Major::k ? c : 0), k = 8 * j + (major == gpu::Major::k ? 0 : c);
      f(mn, k, chunk_offset(descriptor, major, mn, k));
    }
  }
  template <class F>
  void for_each_matrix(F f) const {
    for (int i = 0; i < extent / 8; ++i)
      for (int j = 0; j < kDepth / 8; ++j) f(i, j);
  }
};

// ---- What a warpgroup has under way ----

// The sums of one set of registers, from the first product to the wait for the last one.
struct Accumulators {
  int n;
  std::vector<float> sums;  // 64 x n
};

struct Product {
  WgmmaKind kind;
  std::uint64_t x, y;
  Loc loc;
  Clock group;  // from 1
  std::shared_ptr<Accumulators> sums;
  bool first;                           // on these registers
  std::vector<float> x_registers = {};  // a row per k
  int issued = 0;
  bool good = true;

  Operand operand_x() const { return {Descriptor(x), kind.major_x, kRows}; }
  Operand operand_y() const { return {Descriptor(y), kind.major_y, kind.n}; }
};

struct Member {  // a thread of the warpgroup
  struct InFlight {
    float* d;
    std::shared_ptr<Accumulators> sums;
    std::uint64_t last;  // product
    Loc loc;
  };
  struct Fragment {  // an X in registers
    const void* x;
    std::array<std::uint32_t, 4> words;
    std::uint64_t product;
    Loc loc;
  };
  std::uint64_t issued = 0;
  Clock commits = 0;
  bool fenced = false;
  Clock fenced_group = 0;  // that the last fence is in
  std::vector<InFlight> in_flight;
  std::vector<Fragment> fragments;
};

struct Warpgroup {
  int index = 0;
  int agent = -1;
  std::deque<Product> products;  // those not computed
  std::uint64_t computed = 0;
  std::uint64_t issued = 0;  // by all threads
  std::vector<std::uint64_t> group_ends;
  std::array<Member, kThreads> members;
  std::vector<std::pair<Thread*, std::uint64_t>> waiting;  // until so many are issued
  ThreadClock::Learned learned;
};

struct Warpgroups {
  std::vector<std::unique_ptr<Warpgroup>> all;
};

Warpgroup& warpgroup_of(Thread& thread) {
  auto& all = thread.cta->state<Warpgroups>().all;
  const auto index = static_cast<std::size_t>(thread.index / kThreads);
  if (index >= all.size()) all.resize(index + 1);
  if (all[index]) return *all[index];
  all[index] = std::make_unique<Warpgroup>();
  Warpgroup& group = *all[index];
  group.index = static_cast<int>(index);
  group.agent = thread.machine->new_agent(*thread.cta, "the tensor cores");
  thread.cta->at_thread_end.push_back([&group](Thread& ending) {
    if (ending.index / kThreads != group.index) return;
    const Member& member = group.members[static_cast<std::size_t>(ending.index % kThreads)];
    if (member.in_flight.empty()) return;
    fail(Fault::left_in_flight, member.in_flight.front().loc, "the thread ends before it has waited for this wgmma");
  });
  return group;
}

Member& member_of(Warpgroup& group, const Thread& thread) {
  return group.members[static_cast<std::size_t>(thread.index % kThreads)];
}

// Calls f(register, its place in the sums) for a thread of the warpgroup.
template <class F>
void for_each_register(int thread, int n, F f) {
  const int row = 16 * (thread / 32) + thread % 32 / 4, column = 2 * (thread % 4);
  for (int g = 0; g < n / 8; ++g)
    for (int r = 0; r < 4; ++r) f(4 * g + r, (row + r / 2 * 8) * n + 8 * g + column + r % 2);
}

constexpr std::uint32_t kPoisonBits = 0xffffffff;

// ---- Shared memory ----

bool check_descriptor(const Operand& operand, DType type, const char* name, Loc loc) {
  const Descriptor& d = operand.descriptor;
  const std::size_t leading = operand.major == gpu::Major::k ? 0 : d.leading;  // else not used
  std::string why;
  if (type == DType::f32 && operand.major != gpu::Major::k) {
    why = "TF32 that is not K-major";
  } else if (d.reserved != 0) {
    why = "reserved bits are set: an address or offset has run over its field";
  } else if (d.base_offset != 0) {
    why = "a base offset, which the simulator does not know";
  } else if (d.swizzle != 0 && (d.start & (swizzle_atom(d.swizzle) - 1)) >= static_cast<std::size_t>(d.swizzle)) {
    why = "starts at " + std::to_string(d.start) + ", off the first row of a swizzle atom of " +
          std::to_string(swizzle_atom(d.swizzle)) + " bytes";
  } else if (d.swizzle != 0 && (leading % swizzle_atom(d.swizzle) != 0 || d.stride % swizzle_atom(d.swizzle) != 0)) {
    why = "offsets of " + std::to_string(d.leading) + " and " + std::to_string(d.stride) +
          " bytes are no multiples of the swizzle atom";
  } else {
    return true;
  }
  fail(Fault::wgmma_misuse, loc, std::string("the descriptor of ") + name + ": " + why);
  return false;
}

// The reads of a product that all threads have issued: everybody must see what is read.
bool check_reads(Warpgroup& group, const Operand& operand, const char* name, const Product& product) {
  Thread& thread = current();
  Cta& cta = *thread.cta;
  SharedMemory& shared = cta.shared;
  if (!check_descriptor(operand, product.kind.type, name, product.loc)) return false;
  const Options& options = thread.machine->options();
  const Event event{product.group, static_cast<std::uint16_t>(group.agent), site_of(product.loc)};

  // One thread for each set of threads that have seen the same.
  std::vector<Thread*> members, different;
  for (int t = 0; t < kThreads; ++t) {
    Thread* const member = cta.threads[static_cast<std::size_t>(group.index * kThreads + t)];
    members.push_back(member);
    if (std::none_of(different.begin(), different.end(),
                     [&](const Thread* other) { return other->clock.vector() == member->clock.vector(); })) {
      different.push_back(member);
    }
  }

  bool inside = true;
  bool good = true;
  Event checked{~Clock{0}, 0, 0};
  operand.for_each_matrix([&](int i, int j) {
    std::array<LaneAccess, 8> rows{};
    int row = 0;
    operand.for_each_chunk(i, j, [&](int, int, std::size_t offset) {
      if (offset + kChunkBytes > shared.size()) {
        if (std::exchange(inside, false)) {
          fail(Fault::shared_bounds, product.loc,
               std::string(name) + " reaches to offset " + std::to_string(offset) + " of " +
                   std::to_string(shared.size()) + " bytes of shared memory");
        }
        return;
      }
      rows[static_cast<std::size_t>(row++)] = {true, offset};
      if (!options.check_races) return;
      for (auto *cell = shared.first_cell(offset), *end = shared.end_cell(offset, kChunkBytes); cell != end; ++cell) {
        const Event& write = cell->shadow.write;
        cell->shadow.note_read(thread.clock, event);
        // Rows beyond the edge of a matrix need no data. What nobody has written is NaN, wherever it lies, and so are
        // its sums: a load that is missing inside of C shows in the results.
        if (cell->pending == 0 && write.clock == 0) continue;
        // Most of a tile comes from one copy.
        if (cell->pending == 0 && write.clock == checked.clock && write.thread == checked.thread) continue;
        checked = write;
        const bool by_thread = write.clock != 0 && !thread.machine->is_agent(write.thread);
        for (Thread* member : by_thread ? members : different) {
          good = good && check_async_read(*member, *cell, offset, "the tensor cores read", product.loc);
        }
      }
    });
    if (options.count) thread.machine->count_request(event.site, Traffic::shared_load, rows, kChunkBytes);
  });
  return inside;
}

// What the tensor cores see of an fp32.
float tf32_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits & 0xffffe000u);
}

float element_of(DType type, std::uint16_t bits) {
  return type == DType::bf16 ? bfloat16_to_float(bits) : half_to_float(bits);
}
// Element e of a register.
float element_of(DType type, std::uint32_t word, int e) {
  return type == DType::f32 ? tf32_of(word) : element_of(type, static_cast<std::uint16_t>(word >> 16 * e));
}

// The elements as fp32, a row per k.
void load(const Operand& operand, DType type, const unsigned char* base, float* to) {
  const int extent = operand.extent;
  operand.for_each_matrix([&](int i, int j) {
    operand.for_each_chunk(i, j, [&](int mn, int k, std::size_t offset) {
      if (type == DType::f32) {
        std::uint32_t elements[kChunk / 2];
        std::memcpy(elements, base + offset, sizeof elements);
        for (int e = 0; e < kChunk / 2; ++e) to[(k / 2 + e) * extent + mn] = tf32_of(elements[e]);
        return;
      }
      std::uint16_t elements[kChunk];
      std::memcpy(elements, base + offset, sizeof elements);
      for (int e = 0; e < kChunk; ++e) {
        const float value = element_of(type, elements[e]);
        if (operand.major == gpu::Major::k) {
          to[(k + e) * extent + mn] = value;
        } else {
          to[k * extent + mn + e] = value;
        }
      }
    });
  });
}

// sums += x' y, of 64 x depth by depth x n. The simulator spends most of its time here, and the sanitizers' checks of
// each element would make that fifty times as much: left out, for loops whose bounds depend on n alone.
__attribute__((noinline, no_sanitize("address", "undefined"))) void multiply(const float (&x)[kDepth * kRows],
                                                                             const float (&y)[kDepth * kMaxN], int n,
                                                                             int depth, float* sums) {
  for (int i = 0; i < kRows; ++i)
    for (int first = 0; first < n; first += 8) {
      float* const to = sums + i * n + first;
      float sum[8];
      std::memcpy(sum, to, sizeof sum);
      for (int k = 0; k < depth; ++k)
        for (int j = 0; j < 8; ++j) sum[j] += x[k * kRows + i] * y[k * n + first + j];
      std::memcpy(to, sum, sizeof sum);
    }
}

// As Hopper's tensor cores: the products and the sum before them are aligned to the largest of them, what lies below
// the 25th bit after its first one is cut off each, and so is the result below 24 bits. Where one is not finite the
// others do not matter.
void multiply_truncated(const float (&x)[kDepth * kRows], const float (&y)[kDepth * kMaxN], int n, int depth,
                        float* sums) {
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < n; ++j) {
      float& sum = sums[i * n + j];
      double addends[kDepth + 1] = {sum};
      double largest = std::fabs(addends[0]), plain = addends[0];
      for (int k = 0; k < depth; ++k) {
        addends[k + 1] = double{x[k * kRows + i]} * y[k * n + j];
        largest = std::fmax(largest, std::fabs(addends[k + 1]));
        plain += addends[k + 1];
      }
      if (largest == 0 || !std::isfinite(plain)) {
        sum = static_cast<float>(plain);
        continue;
      }
      const double bit = std::ldexp(1.0, std::ilogb(largest) - 25);
      double aligned = 0;
      for (const double addend : addends) aligned += std::trunc(addend / bit) * bit;
      sum = static_cast<float>(aligned);
      if (std::fabs(double{sum}) > std::fabs(aligned)) sum = std::nextafter(sum, 0.0f);
    }
}

void compute(const Product& product, const unsigned char* base) {
  std::vector<float>& sums = product.sums->sums;
  if (!product.good) {
    std::memset(sums.data(), kPoison, sums.size() * sizeof(float));
    return;
  }
  static thread_local float x[kDepth * kRows], y[kDepth * kMaxN];
  const DType type = product.kind.type;
  const int depth = kDepth * 2 / size_of(type);
  if (product.kind.x_in_registers) {
    std::ranges::copy(product.x_registers, x);
  } else {
    load(product.operand_x(), type, base, x);
  }
  load(product.operand_y(), type, base, y);
  if (!product.kind.adds) std::fill(sums.begin(), sums.end(), 0.0f);
  if (machine().options().truncate_sums) {
    multiply_truncated(x, y, product.kind.n, depth, sums.data());
  } else {
    multiply(x, y, product.kind.n, depth, sums.data());
  }
}

// All threads have issued the next product.
void issue(Warpgroup& group) {
  Product& product = group.products[group.issued - group.computed];
  ++group.issued;
  const bool x_good = product.kind.x_in_registers || check_reads(group, product.operand_x(), "X", product);
  const bool y_good = check_reads(group, product.operand_y(), "Y", product);
  product.good = x_good && y_good;
  std::erase_if(group.waiting, [&](const auto& waiter) {
    if (waiter.second > group.issued) return false;
    machine().wake(*waiter.first);
    return true;
  });
}

bool is_whole_warpgroup(const Thread& thread, const char* name, Loc loc) {
  if (static_cast<int>(thread.cta->threads.size()) >= (thread.index / kThreads + 1) * kThreads) return true;
  fail(Fault::warp_divergence, loc, std::string(name) + " in a warpgroup of fewer than 128 threads");
  return false;
}

}  // namespace

unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(current().cta->shared.offset(reinterpret_cast<std::uintptr_t>(shared)));
}

// Of the instructions that a warp executes as one, the fence and the wait make the lanes meet: the others come between
// these two.
void wgmma_fence(Loc loc) {
  Thread& thread = current();
  if (!is_whole_warpgroup(thread, "wgmma_fence", loc)) return;
  warp_execute("wgmma_fence", nullptr, nullptr, loc);
  Member& member = member_of(warpgroup_of(thread), thread);
  member.fenced = true;
  member.fenced_group = member.commits + 1;
}

namespace {

// fragment: X where it is in registers.
void issue_one(const WgmmaKind& kind, float* d, std::uint64_t x, const void* fragment, std::uint64_t y, Loc loc) {
  Thread& thread = current();
  if (!is_whole_warpgroup(thread, "a wgmma", loc)) return;
  Warpgroup& group = warpgroup_of(thread);
  Member& member = member_of(group, thread);
  const int registers = kind.n / 2;

  const auto overlapping = std::find_if(member.in_flight.begin(), member.in_flight.end(), [&](const auto& other) {
    return d < other.d + other.sums->n / 2 && other.d < d + registers;
  });
  const bool first = overlapping == member.in_flight.end();
  if (!first && (overlapping->d != d || overlapping->sums->n != kind.n)) {
    fail(Fault::wgmma_misuse, loc, "some of the accumulators belong to another wgmma that has not been waited for");
    return;
  }
  if (first && !member.fenced) {
    fail(Fault::wgmma_misuse, loc, "no wgmma_fence() since the accumulators were last the thread's own");
  }
  if (fragment != nullptr && member.fenced_group != member.commits + 1) {
    fail(Fault::wgmma_misuse, loc, "no wgmma_fence() in this group, since X may have been written");
  }

  const std::uint64_t number = member.issued++;
  if (number == group.computed + group.products.size()) {
    group.products.push_back({kind, x, y, loc, member.commits + 1, nullptr, first});
    Product& product = group.products.back();
    if (first) {
      product.sums = std::make_shared<Accumulators>();
      product.sums->n = kind.n;
      product.sums->sums.resize(static_cast<std::size_t>(kRows * kind.n));
    } else {
      product.sums = overlapping->sums;
    }
  }
  Product& product = group.products[number - group.computed];
  if (!(product.kind == kind) || product.x != x || product.y != y || product.group != member.commits + 1 ||
      product.first != first || (!first && product.sums != overlapping->sums)) {
    const Event other{0, static_cast<std::uint16_t>(thread.clock.thread() - thread.index % kThreads),
                      site_of(product.loc)};
    fail(Fault::warp_divergence, loc, "the threads of a warpgroup issue different wgmmas", &other);
  }
  if (first) {
    const int lane = thread.index % kThreads;
    for_each_register(lane, product.sums->n, [&](int r, int at) {
      if (r < registers) product.sums->sums[static_cast<std::size_t>(at)] = d[r];
    });
    std::memset(d, kPoison, static_cast<std::size_t>(registers) * sizeof(float));
    member.in_flight.push_back({d, product.sums, number, loc});
  } else {
    overlapping->last = number;
    overlapping->loc = loc;
  }
  if (fragment != nullptr) {
    const int t = thread.index % kThreads;
    const int of_word = 4 / size_of(kind.type);  // elements
    product.x_registers.resize(static_cast<std::size_t>(kDepth / 2 * of_word * kRows));
    Member::Fragment use{fragment, {}, number, loc};
    std::memcpy(use.words.data(), fragment, sizeof use.words);
    for (int r = 0; r < 4; ++r)
      for (int e = 0; e < of_word; ++e) {
        const int row = 16 * (t / 32) + t % 32 / 4 + r % 2 * 8, k = (t % 4 + r / 2 * 4) * of_word + e;
        product.x_registers[static_cast<std::size_t>(k * kRows + row)] =
            element_of(kind.type, use.words[static_cast<std::size_t>(r)], e);
      }
    member.fragments.push_back(use);
  }
  if (++product.issued == kThreads) issue(group);
}

}  // namespace

void wgmma(const WgmmaKind& kind, float* d, std::uint64_t x, std::uint64_t y, Loc loc) {
  issue_one(kind, d, x, nullptr, y, loc);
}

void wgmma_of_registers(int n, DType type, float* d, const void* x, std::uint64_t y, Loc loc) {
  issue_one({.n = n, .type = type, .x_in_registers = true}, d, 0, x, y, loc);
}

void wgmma_commit(Loc loc) {
  Thread& thread = current();
  if (!is_whole_warpgroup(thread, "wgmma_commit", loc)) return;
  Warpgroup& group = warpgroup_of(thread);
  Member& member = member_of(group, thread);
  if (member.commits++ == group.group_ends.size()) group.group_ends.push_back(member.issued);
  if (group.group_ends[member.commits - 1] != member.issued) {
    fail(Fault::warp_divergence, loc, "the threads of a warpgroup commit different wgmmas");
  }
}

void wgmma_wait(int pending_groups, Loc loc) {
  Thread& thread = current();
  if (!is_whole_warpgroup(thread, "wgmma_wait", loc)) return;
  warp_execute("wgmma_wait", nullptr, nullptr, loc);
  Warpgroup& group = warpgroup_of(thread);
  Member& member = member_of(group, thread);
  if (member.commits <= static_cast<Clock>(pending_groups)) return;
  const Clock finished = member.commits - static_cast<Clock>(pending_groups);
  const std::uint64_t end = group.group_ends[finished - 1];
  if (group.issued < end) {
    group.waiting.emplace_back(&thread, end);
    thread.wait_detail = [] { return std::string("for threads of the warpgroup that have not issued the same"); };
    thread.machine->wait("wgmma_wait", loc);
    thread.wait_detail = nullptr;
  }
  for (; group.computed < end; ++group.computed) {
    compute(group.products.front(), thread.cta->shared.base());
    group.products.pop_front();
  }
  std::erase_if(member.in_flight, [&](const Member::InFlight& use) {
    if (use.last >= end) return false;
    bool touched = false;
    for_each_register(thread.index % kThreads, use.sums->n, [&](int r, int at) {
      touched = touched || std::bit_cast<std::uint32_t>(use.d[r]) != kPoisonBits;
      use.d[r] = use.sums->sums[static_cast<std::size_t>(at)];
    });
    if (touched) fail(Fault::wgmma_misuse, use.loc, "an accumulator was written before the wgmma had been waited for");
    member.fenced = false;
    return true;
  });
  std::erase_if(member.fragments, [&](const Member::Fragment& use) {
    if (use.product >= end) return false;
    if (std::memcmp(use.x, use.words.data(), sizeof use.words) != 0)
      fail(Fault::wgmma_misuse, use.loc, "an X in registers was written before the wgmma had been waited for");
    return true;
  });
  thread.clock.learn(group.agent, finished, group.learned);
  detail::maybe_preempt(thread);
}

void keep_register(float& x, Loc loc) {
  Thread& thread = current();
  const auto& all = thread.cta->state<Warpgroups>().all;
  const auto index = static_cast<std::size_t>(thread.index / kThreads);
  if (index >= all.size() || !all[index]) return;
  for (const Member::InFlight& use : all[index]->members[static_cast<std::size_t>(thread.index % kThreads)].in_flight) {
    if (&x < use.d || &x >= use.d + use.sums->n / 2) continue;
    fail(Fault::wgmma_misuse, loc, "uses an accumulator of a wgmma that it has not waited for");
    return;
  }
}

}  // namespace xgemm::sim
