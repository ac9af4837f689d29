// Tables at the end of a process.
#include "core/end_of_process.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "core/environment.h"
#include "core/status.h"

namespace xgemm {

std::string name_of_process() {
  std::string name(16, '\0');
  const int file = ::open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? 0 : ::read(file, name.data(), name.size());
  if (file >= 0) ::close(file);
  name.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return format("process %lld (%s)", static_cast<long long>(::getpid()), name.c_str());
}

void print_at_the_end(const std::string& text) {
  const std::string& file = environment().summary_file;
  const int to = file.empty() ? STDERR_FILENO : ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (to < 0) {
    print_line(format("XGEMM_SUMMARY_FILE=%s cannot be written to: %s", file.c_str(),
                      std::generic_category().message(errno).c_str()));
    return print_line(text);
  }
  print_line(text, to);
  if (!file.empty()) ::close(to);
}

}  // namespace xgemm
