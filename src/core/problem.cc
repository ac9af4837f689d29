// Printing a Problem.
#include "core/problem.h"

#include "core/problem_fields.h"
#include "core/status.h"

namespace xgemm {
namespace {

const char* name_of(BatchKind kind) {
  switch (kind) {
    case BatchKind::strided:
      return "strided";
    case BatchKind::pointers:
      return "pointers";
  }
  return "?";
}

const char* name_of(Fill fill) {
  switch (fill) {
    case Fill::full:
      return "full";
    case Fill::lower:
      return "lower";
    case Fill::upper:
      return "upper";
  }
  return "?";
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::silu:
      return "silu";
  }
  return "?";
}

const char* name_of(Along along) {
  switch (along) {
    case Along::none:
      return "none";
    case Along::rows:
      return "rows";
    case Along::columns:
      return "columns";
  }
  return "?";
}

class Printer {
 public:
  explicit Printer(DType usual_type) : usual_type_(usual_type) {}

  void exact(const char* name, std::int64_t x) { text_ += format(" %s=%lld", name, static_cast<long long>(x)); }
  void exact(const char* name, Op op) { text_ += format(" %s=%c", name, static_cast<char>(op)); }
  void exact(const char* name, DType type) {
    const bool first = text_.empty();
    if (first || type != usual_type_) text_ += format("%s%s=%c", first ? "" : " ", name, letter_of(type));
  }
  void step(const char* name, std::int64_t x) {
    if (x != 1) exact(name, x);
  }
  template <class Kind>
  void exact(const char* name, Kind kind) {
    if (kind != Kind{}) text_ += format(" %s=%s", name, name_of(kind));
  }
  void address(const char*, const void*) {}
  void presence(const char* name, const void* x) { unplanned(name, x); }
  void unplanned(const char* name, const void* x) {
    if (x != nullptr) text_ += format(" %s=given", name);
  }
  void unplanned(const char* name, std::int64_t x) {
    if (x != 0) exact(name, x);
  }
  // Nine significant digits bring every float back exactly, seventeen every double.
  void factor(const char* name, const Scalar& x) {
    text_ += x.known() ? format(" %s=%.*g", name, size_of(sums_of(usual_type_)) == 4 ? 9 : 17, x.value)
                       : format(" %s=device", name);
  }

  std::string text() const { return text_ + " layout=col"; }

 private:
  DType usual_type_;
  std::string text_;
};

}  // namespace

std::string to_string(const Problem& problem) {
  Printer printer(problem.a.type);
  visit_fields(problem, printer);
  return printer.text();
}

std::string to_string(const ProductTypes& types) {
  std::string text = name_of(types.a);
  if (types.b != types.a) text += std::string(" times ") + name_of(types.b);
  if (types.c != types.a) text += std::string(" with C in ") + name_of(types.c);
  return text;
}

}  // namespace xgemm
