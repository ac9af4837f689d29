// Running probes, and the main() that a test program with probes has.
//
// SPDX-License-Identifier: BSD-3-Clause
#include "api/probe.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <sstream>

namespace xgemm::test {
namespace {

constexpr const char* kOption = "--xgemm-probe=";

std::map<std::string, int (*)()>& probes() {
  static std::map<std::string, int (*)()> all;
  return all;
}

// The environment of this process without the library's own variables, then the given ones.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (std::strncmp(*entry, "XGEMM_", 6) != 0) result.emplace_back(*entry);
  for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

// Reads both pipes to their ends, whichever has something.
void drain(int out, int err, ProbeResult* result) {
  pollfd fds[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[2] = {&result->out, &result->err};
  for (int open = 2; open > 0;) {
    if (poll(fds, 2, -1) < 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
      if (n > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(n));
      } else {
        close(fds[i].fd);
        fds[i].fd = -1;
        --open;
      }
    }
  }
}

}  // namespace

ProbeRegistration::ProbeRegistration(const char* name, int (*function)()) {
  probes()[name] = function;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::map<std::string, std::string> key_values(const std::string& line) {
  std::map<std::string, std::string> result;
  std::istringstream stream(line);
  for (std::string word; stream >> word;)
    if (const std::size_t at = word.find('='); at != std::string::npos)
      result[word.substr(0, at)] = word.substr(at + 1);
  return result;
}

std::vector<std::string> ProbeResult::err_lines() const {
  return split_lines(err);
}

std::string describe(const ProbeResult& r) {
  return "exit code " + std::to_string(r.exit_code) + ", signal " + std::to_string(r.signal) + "\n--- stdout\n" +
         r.out + "--- stderr\n" + r.err;
}

ProbeResult run_probe(const std::string& name, const std::map<std::string, std::string>& environment) {
  ProbeResult result;
  int out[2], err[2];
  if (pipe(out) != 0 || pipe(err) != 0) return result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  for (const int fd : {out[0], out[1], err[0], err[1]}) posix_spawn_file_actions_addclose(&actions, fd);

  std::vector<std::string> arguments = {"probe", kOption + name};
  std::vector<std::string> variables = environment_with(environment);
  pid_t child = -1;
  const int error =
      posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  drain(out[0], err[0], &result);
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child) return result;
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace xgemm::test

int main(int argc, char** argv) {
  using namespace xgemm::test;
  if (argc == 2 && std::strncmp(argv[1], kOption, std::strlen(kOption)) == 0) {
    const auto found = probes().find(argv[1] + std::strlen(kOption));
    return found == probes().end() ? 127 : found->second();
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
