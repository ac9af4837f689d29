// Choosing paths. CUDA builds only.
#include "transfer/paths.h"

#include <cuda_runtime_api.h>

#include "device/cuda_status.h"

namespace xgemm::transfer {
namespace {

using runtime::Location;

// Page-locked matrices with columns of fewer bytes are packed by threads like pageable ones: the copy engine handles a
// column at a time and is slow on short ones. Chosen by hand.
constexpr std::int64_t kMinDirectWidth = 512;

// Whether both ends are page-locked, as far apart on the device as they are here. One allocation or registration has
// such ends, and so have two with pageable memory between them, which the runtime does not tell apart for less than a
// question a page. Copies across such a gap are refused, as CUDA's documentation says: a failure of the staging like
// any other.
bool is_page_locked(const std::byte* first, std::int64_t bytes) {
  cudaPointerAttributes begin{}, end{};
  if (cudaPointerGetAttributes(&begin, first) != cudaSuccess || begin.type != cudaMemoryTypeHost ||
      cudaPointerGetAttributes(&end, first + (bytes - 1)) != cudaSuccess || end.type != cudaMemoryTypeHost) {
    device::forget_last_error();
    return false;
  }
  return static_cast<std::byte*>(end.devicePointer) - static_cast<std::byte*>(begin.devicePointer) == bytes - 1;
}

// Bytes from the first element to behind the last one.
std::int64_t span_bytes(const ColumnBlock& block) {
  return (block.matrices - 1) * block.matrix_pitch + (block.columns - 1) * block.pitch + block.width;
}

Path path_of(const runtime::PointerLocation& location, const void* data, const ColumnBlock& block,
             const device::DeviceInfo& device) {
  switch (location.location) {
    case Location::unused:
      return Path::unused;
    case Location::managed:
      return Path::in_place;
    case Location::device:
      return location.device == device.ordinal || location.device < 0 ? Path::in_place : Path::peer;
    case Location::host:
      break;
  }
  if (block.width < kMinDirectWidth) return Path::packed;
  return is_page_locked(static_cast<const std::byte*>(data), span_bytes(block)) ? Path::direct : Path::packed;
}

bool is_staged(Path path) {
  return path == Path::direct || path == Path::peer || path == Path::packed;
}

}  // namespace

const char* name_of(Path path) {
  switch (path) {
    case Path::unused:
      return "unused";
    case Path::in_place:
      return "in place";
    case Path::direct:
      return "copied by the copy engine";
    case Path::peer:
      return "copied from another GPU";
    case Path::packed:
      return "packed by threads";
  }
  return "?";
}

StagedOperands staged_operands(const Paths& paths) {
  return {is_staged(paths.a), is_staged(paths.b), is_staged(paths.c)};
}

Paths find_paths(const Problem& p, const runtime::Placement& placement, const device::DeviceInfo& device) {
  const Piece whole = whole_of(p);
  Paths paths;
  if (p.reads_inputs()) {
    paths.a = path_of(placement.a, p.a.data, part_of_a(p, whole).block, device);
    paths.b = path_of(placement.b, p.b.data, part_of_b(p, whole).block, device);
    paths.a_device = placement.a.device;
    paths.b_device = placement.b.device;
  }
  paths.c = path_of(placement.c, p.c.data, part_of_c(p, whole).block, device);
  // The copy engine moves rectangles.
  if (p.fill != Fill::full && paths.c == Path::direct) paths.c = Path::packed;
  return paths;
}

}  // namespace xgemm::transfer
