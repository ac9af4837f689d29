// Descriptors of cublasLt as the arguments of a product.
#include "cublas/matmul.h"

#include <cstdint>

#include "cublas/original.h"

namespace xgemm::cublas {
namespace {

struct Getters {
  int version;
  Original operation{"cublasLtMatmulDescGetAttribute", Library::cublas_lt, version};
  Original layout{"cublasLtMatrixLayoutGetAttribute", Library::cublas_lt, version};
};
constinit Getters getters[] = {{.version = 12}, {.version = 13}};

// Attributes of a descriptor; one that cannot be read is remembered.
class Reader {
 public:
  Reader(Original& get, const void* descriptor)
      : get_(get.get<GetAttribute>()), descriptor_(descriptor), good_(get_ != nullptr && descriptor != nullptr) {}

  template <class T>
  T read(int attribute) {
    T value{};
    std::size_t written = 0;
    good_ = good_ && get_(descriptor_, attribute, &value, sizeof value, &written) == kSuccess;
    return value;
  }

  // For attributes that some releases do not have: there they have their usual value.
  template <class T>
  T read_if_known(int attribute, T otherwise) {
    T value = otherwise;
    std::size_t written = 0;
    return good_ && get_(descriptor_, attribute, &value, sizeof value, &written) == kSuccess ? value : otherwise;
  }

  bool good() const { return good_; }

 private:
  GetAttribute* get_;
  const void* descriptor_;
  bool good_;
};

struct Layout {
  int type, order;
  std::uint64_t rows, cols;
  std::int64_t ld;
  std::int32_t batch_count;
  std::int64_t stride;
  bool usual;  // nothing that this struct does not say

  bool operator==(const Layout&) const = default;
  Operand operand(const void* data) const { return {data, type, ld, stride}; }
};

bool read_layout(Original& get, const void* descriptor, Layout* layout) {
  Reader reader(get, descriptor);
  layout->type = static_cast<int>(reader.read<std::uint32_t>(kLayoutType));
  layout->order = reader.read<std::int32_t>(kLayoutOrder);
  layout->rows = reader.read<std::uint64_t>(kLayoutRows);
  layout->cols = reader.read<std::uint64_t>(kLayoutCols);
  layout->ld = reader.read<std::int64_t>(kLayoutLd);
  layout->batch_count = reader.read<std::int32_t>(kLayoutBatchCount);
  layout->stride = reader.read<std::int64_t>(kLayoutBatchStride);
  layout->usual = (layout->order == kOrderCol || layout->order == kOrderRow) &&
                  reader.read<std::int64_t>(kLayoutPlaneOffset) == 0 &&
                  reader.read_if_known<std::uint32_t>(kLayoutBatchMode, kBatchStrided) == kBatchStrided;
  return reader.good();
}

constexpr int kTypeOfD = -1;  // of a bias, of auxiliary results

// A matrix in the other order is a transposed matrix in this one.
int operation_in_order(int operation, const Layout& layout, int order) {
  if (layout.order == order) return operation;
  return operation == kOpN ? kOpT : kOpN;
}

const char* describe(int version, const MatmulArguments& x, Request* request) {
  Getters& get = getters[version - 12];
  Layout a, b, c, d;
  if (!read_layout(get.layout, x.a_layout, &a) || !read_layout(get.layout, x.b_layout, &b) ||
      !read_layout(get.layout, x.c_layout, &c) || !read_layout(get.layout, x.d_layout, &d))
    return "layouts that cannot be read";
  Reader operation(get.operation, x.operation);
  Call& call = request->call;
  call.compute = static_cast<int>(operation.read<std::int32_t>(kMatmulComputeType));
  const int scale_type = operation.read<std::int32_t>(kMatmulScaleType);
  request->state.pointer_mode = operation.read<std::int32_t>(kMatmulPointerMode);
  const int transa = operation.read<std::int32_t>(kMatmulTransA);
  const int transb = operation.read<std::int32_t>(kMatmulTransB);
  const int transc = operation.read<std::int32_t>(kMatmulTransC);
  const auto epilogue = operation.read<std::uint32_t>(kMatmulEpilogue);
  call.epilogue = static_cast<int>(epilogue);
  call.bias = operation.read_if_known<const void*>(kMatmulBias, nullptr);
  const auto bias_stride = operation.read_if_known<std::int64_t>(kMatmulBiasBatchStride, 0);
  const int bias_type = operation.read_if_known<std::int32_t>(kMatmulBiasType, kTypeOfD);
  call.aux = {operation.read_if_known<const void*>(kMatmulAux, nullptr),
              operation.read_if_known<std::int32_t>(kMatmulAuxType, kTypeOfD),
              operation.read_if_known<std::int64_t>(kMatmulAuxLd, 0),
              operation.read_if_known<std::int64_t>(kMatmulAuxBatchStride, 0)};
  request->state.sm_count_target = operation.read_if_known<std::int32_t>(kMatmulSmCountTarget, 0);
  bool scaled = false;
  for (const int scale :
       {kMatmulAScale, kMatmulBScale, kMatmulCScale, kMatmulDScale, kMatmulAmaxD, kMatmulAuxScale, kMatmulAuxAmax})
    scaled = scaled || operation.read_if_known<const void*>(scale, nullptr) != nullptr;
  const int fill = operation.read_if_known<std::int32_t>(kMatmulFillMode, kFillFull);
  bool in_chunks = false;  // that wait for others, or that others wait for
  for (const int count : {kMatmulAtomicRows, kMatmulAtomicCols})
    in_chunks = in_chunks || operation.read_if_known<std::int32_t>(count, 0) != 0;
  for (const int counters : {kMatmulAtomicIn, kMatmulAtomicOut})
    in_chunks = in_chunks || operation.read_if_known<const void*>(counters, nullptr) != nullptr;
  if (!operation.good()) return "a description that cannot be read";
  // What a descriptor keeps of an epilogue that it no longer has.
  if ((epilogue & kEpilogueBias) == 0) call.bias = nullptr;
  if ((epilogue & kEpilogueAux) == 0) call.aux = {};

  for (const int flag : {transa, transb})
    if (flag != kOpN && flag != kOpT && flag != kOpC) return "an illegal flag";
  const bool ta = transa != kOpN, tb = transb != kOpN;
  const std::uint64_t a_rows = ta ? a.cols : a.rows, a_cols = ta ? a.rows : a.cols;
  const std::uint64_t b_rows = tb ? b.cols : b.rows, b_cols = tb ? b.rows : b.cols;
  call.transa = operation_in_order(transa, a, d.order);
  call.transb = operation_in_order(transb, b, d.order);
  call.m = static_cast<std::int64_t>(d.rows);
  call.n = static_cast<std::int64_t>(d.cols);
  call.k = static_cast<std::int64_t>(a_cols);
  call.alpha = x.alpha;
  call.beta = x.beta;
  call.a = a.operand(x.a);
  call.b = b.operand(x.b);
  call.c = d.operand(x.d);
  call.batch_count = d.batch_count;
  call.row_major = d.order == kOrderRow;
  request->state.stream = x.stream;
  request->state.workspace = aligned(x.workspace, x.workspace_bytes);

  if (!a.usual || !b.usual || !c.usual || !d.usual) return "this layout";
  switch (epilogue) {
    case kEpilogueDefault:
      break;
    case kEpilogueBias:
    case kEpilogueReluBias:
    case kEpilogueGeluBias:
    case kEpilogueReluAuxBias:
    case kEpilogueGeluAuxBias:
      if (call.bias == nullptr) return "a bias that is not there";
      if (bias_type != kTypeOfD && bias_type != d.type) return "a bias of another type";
      if (bias_stride != 0 && d.batch_count > 1) return "a bias for each product of a batch";
      [[fallthrough]];
    case kEpilogueRelu:
    case kEpilogueGelu:
    case kEpilogueReluAux:
    case kEpilogueGeluAux:
      if (call.row_major) return "an epilogue of a row-major D";
      break;
    default:
      return "this epilogue";
  }
  if ((epilogue & kEpilogueAux) != 0) {
    const bool bits = (epilogue & kEpilogueRelu) != 0;
    const std::int64_t unit = bits ? 128 : 8;  // as cublasLt demands
    if (call.aux.data == nullptr) return "auxiliary results that go nowhere";
    if (!bits && call.aux.type != kTypeOfD && call.aux.type != d.type) return "auxiliary results of another type";
    if (call.aux.ld < call.m || call.aux.ld % unit != 0 || call.aux.stride % unit != 0)
      return "auxiliary results that lie badly";
  }
  if (scaled) return "scales of matrices";
  if (fill != kFillFull) return "a triangle of D";
  if (in_chunks) return "chunks with counters";
  if (transc != kOpN) return "a transposed C";
  if (a_rows != d.rows || b_cols != d.cols || a_cols != b_rows) return "sizes that do not fit";
  if (a.batch_count != d.batch_count || b.batch_count != d.batch_count) return "batches that do not fit";
  if (scale_type != scalar_type_of(call.compute)) return "scalars of this type";

  translate(request);
  if (request->obstacle != nullptr) return request->obstacle;
  if (!request->reads_c || (x.c == x.d && c == d)) return nullptr;
  if (x.c == x.d) return "a D that overlaps with C";
  if (c.type != d.type || c.order != d.order || c.rows != d.rows || c.cols != d.cols || c.batch_count != d.batch_count)
    return "a C that D is not like";
  if (x.c == nullptr) return "a null pointer";
  call.old_c = c.operand(x.c);
  translate(request);
  return request->obstacle;
}

}  // namespace

void describe_matmul(int version, const MatmulArguments& arguments, Request* request) {
  request->obstacle = describe(version, arguments, request);
}

}  // namespace xgemm::cublas
