// The thread's last error and its formatting.
#include "core/status.h"

#include <cstdarg>
#include <cstdio>
#include <utility>

#include "core/thread_state.h"

namespace xgemm {
namespace {

// A string of its own per thread, null before its first failure. What is destroyed after EndOfThread may still call (a
// context in a variable of the thread, a product after main()): it gets a new string, which is never freed. Messages of
// failed allocations must not allocate, hence the literal beside it.
constinit thread_local std::string* message_text = nullptr;
constinit thread_local const char* message_literal = nullptr;

struct EndOfThread {
  ~EndOfThread() {
    thread_state.has_message = false;
    delete message_text;
    message_text = nullptr;
  }
};

}  // namespace

constinit thread_local ThreadState thread_state;

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

Status fail(int code, std::string message) {
  thread_local const EndOfThread deletes_text;
  static_cast<void>(deletes_text);
  if (message_text == nullptr) message_text = new std::string;
  *message_text = std::move(message);
  message_literal = nullptr;
  thread_state.has_message = true;
  return {code};
}

Status illegal(xgemm_argument argument, std::string message) {
  return fail(-argument, std::move(message));
}

Status of_part(Status status, bool begun) {
  if (!begun || status.code != XGEMM_OUT_OF_DEVICE_MEMORY) return status;
  return fail(XGEMM_CUDA_ERROR, std::string(last_error()) + "; C has been written in part");
}

Status fail_without_memory() noexcept {
  thread_state.has_message = true;
  message_literal = "the host is out of memory";
  return {XGEMM_OUT_OF_HOST_MEMORY};
}

Status fail_without_reason() noexcept {
  thread_state.has_message = true;
  message_literal = "an exception of unknown type";
  return {XGEMM_INTERNAL_ERROR};
}

void clear_last_error() noexcept {
  if (!thread_state.has_message) return;
  thread_state.has_message = false;
  if (message_text != nullptr) message_text->clear();
  message_literal = nullptr;
}

const char* last_error() noexcept {
  if (!thread_state.has_message) return "";
  return message_literal ? message_literal : message_text->c_str();
}

}  // namespace xgemm
