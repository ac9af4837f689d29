// libxgemm.so.0 that computes nothing: it remembers what it was asked for, and fails as it is told to
// (stand_in_xgemm.h).
#include "stand_in_xgemm.h"

struct xgemm_context {
  StandInProduct settings;
};

namespace {

StandInProduct last;
int products = 0;
int status = 0;
void (*within)() = nullptr;

}  // namespace

extern "C" {

int xgemm_create(xgemm_context** context) {
  *context = new xgemm_context{};
  return 0;
}
int xgemm_destroy(xgemm_context* context) {
  delete context;
  return 0;
}
int xgemm_set_stream(xgemm_context* context, void* stream) {
  context->settings.stream = stream;
  return 0;
}
int xgemm_set_workspace(xgemm_context* context, void* memory, size_t bytes) {
  context->settings.workspace = memory;
  context->settings.workspace_bytes = bytes;
  return 0;
}
int xgemm_set_scalar_location(xgemm_context* context, int location) {
  context->settings.scalar_location = location;
  return 0;
}
int xgemm_gemm(xgemm_context* context, const xgemm_args* args) {
  ++products;
  last = context->settings;
  last.args = *args;
  last.alpha = args->alpha != nullptr && last.scalar_location == XGEMM_SCALARS_ON_HOST
                   ? *static_cast<const float*>(args->alpha)
                   : 0;
  if (within != nullptr) within();
  return status;
}
const char* xgemm_last_error(void) {
  return "the stand-in was told to fail";
}

const StandInProduct* stand_in_product() {
  return &last;
}
int stand_in_products() {
  return products;
}
void stand_in_fail(int with) {
  status = with;
}
void stand_in_within(void (*call)()) {
  within = call;
}
}
