// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
#include "runtime/workshop/tuner/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

namespace qgen::tuner {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("it died of signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("it ended with code {}", WEXITSTATUS(status));
}

// All that a worker says before it has answered.
bool is_on_the_way(const Json& line) {
  return line.contains("at") || line.contains("of") || line.contains("allow") || line.contains("id");
}

}  // namespace

struct WorkerProcess::State {
  class Descriptor {
   public:
    Descriptor() = default;
    explicit Descriptor(int file) : file_(file) {}
    Descriptor(Descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
      std::swap(file_, other.file_);
      return *this;
    }
    ~Descriptor() {
      if (file_ >= 0) ::close(file_);
    }
    int get() const { return file_; }

   private:
    int file_ = -1;
  };

  pid_t process = -1;
  Descriptor to, from;
  std::string buffered;
  std::chrono::milliseconds patience{};

  ~State() { end(); }

  // How it ended. A worker that still lives is killed: one that hangs in a driver listens to nothing else.
  std::string end(std::optional<std::chrono::milliseconds> silence = std::nullopt) {
    if (process < 0) return "it has ended";
    if (silence) ::kill(process, SIGKILL);
    to = {};
    if (!silence && !wait_a_moment()) ::kill(process, SIGKILL);
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    process = -1;
    if (silence) return fmt::format("it did not answer for {} s and was ended", silence->count() / 1000.0);
    return how_it_ended(status);
  }

  // Whether it has ended by itself after its input was closed.
  bool wait_a_moment() const {
    pollfd gone{from.get(), POLLIN, 0};
    const auto deadline = Clock::now() + std::chrono::seconds(2);
    char ignored[4096];
    while (Clock::now() < deadline) {
      if (::poll(&gone, 1, 100) > 0 && ::read(from.get(), ignored, sizeof(ignored)) <= 0) return true;
    }
    return false;
  }

  bool write_line(std::string line) const {
    line += '\n';
    for (size_t written = 0; written < line.size();) {
      const ssize_t count = ::write(to.get(), line.data() + written, line.size() - written);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      written += static_cast<size_t>(count);
    }
    return true;
  }

  enum class Read { line, closed, silent };
  Read read_line(std::chrono::milliseconds most, std::string& line) {
    const auto deadline = Clock::now() + most;
    while (true) {
      if (const size_t end = buffered.find('\n'); end != std::string::npos) {
        line = buffered.substr(0, end);
        buffered.erase(0, end + 1);
        return Read::line;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return Read::silent;
      pollfd readable{from.get(), POLLIN, 0};
      if (::poll(&readable, 1, static_cast<int>(left)) <= 0) continue;
      char bytes[1 << 16];
      const ssize_t count = ::read(from.get(), bytes, sizeof(bytes));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return Read::closed;
      buffered.append(bytes, static_cast<size_t>(count));
    }
  }

  // Up to the answer.
  Reply listen(const std::function<void(const Json& line)>& on_line) {
    Reply reply;
    for (auto most = patience;;) {
      std::string text;
      const Read read = read_line(most, text);
      if (read == Read::silent) reply.end = end(most);
      if (read == Read::closed) reply.end = end();
      if (read != Read::line) return reply;
      auto line = std::make_shared<const Json>(Json::parse(text, nullptr, false));
      if (line->is_discarded()) continue;  // a driver that prints
      if (!is_on_the_way(*line)) {
        reply.answer = std::move(line);
        return reply;
      }
      most = line->contains("allow")
                 ? std::chrono::milliseconds(static_cast<int64_t>(1000 * line->at("allow").get<double>()))
                 : patience;
      if (line->contains("at") && line->at("at") != "") reply.last = line->at("at");
      if (on_line) on_line(*line);
    }
  }
};

Expected<WorkerProcess> WorkerProcess::start(const WorkerProcessOptions& options) {
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0) return Error{Error::Kind::system, "cannot make a pipe", ""};
  using Descriptor = State::Descriptor;
  Descriptor in_read(in[0]), in_write(in[1]);
  if (::pipe2(out, O_CLOEXEC) != 0) return Error{Error::Kind::system, "cannot make a pipe", ""};
  Descriptor out_read(out[0]), out_write(out[1]);

  // Buffered output would be written twice.
  std::fflush(nullptr);
  std::cout.flush();
  const pid_t process = ::fork();
  if (process < 0)
    return Error{Error::Kind::system, fmt::format("cannot start a worker: {}", std::strerror(errno)), ""};
  if (process == 0) {
    ::setpgid(0, 0);  // interrupting the tuning is the parent's matter
    in_write = {};    // else the worker's input would not end when the parent closes its own
    out_read = {};
    ::dup2(in_read.get(), STDIN_FILENO);
    ::dup2(out_write.get(), STDOUT_FILENO);
    std::_Exit(options.work());
  }
  auto state = std::make_unique<State>();
  state->process = process;
  state->to = std::move(in_write);
  state->from = std::move(out_read);
  state->patience = options.patience;
  out_write = {};
  const Reply ready = state->listen({});
  if (!ready.answer) return Error{Error::Kind::system, fmt::format("the worker could not start: {}", ready.end), ""};
  if (ready.answer->contains("error")) {
    return Error{Error::Kind::device, ready.answer->at("error").get<std::string>(), ""};
  }
  return WorkerProcess(std::move(state));
}

Reply WorkerProcess::ask(const Json& command, const std::function<void(const Json& line)>& on_line) {
  if (state_->process < 0) return {.end = "it has ended"};
  // A pipe without a reader is an error to report, not a signal.
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  const bool is_written = state_->write_line(command.dump());
  ::sigaction(SIGPIPE, &before, nullptr);
  return is_written ? state_->listen(on_line) : Reply{.end = state_->end()};
}

WorkerProcess::WorkerProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
WorkerProcess::WorkerProcess(WorkerProcess&&) noexcept = default;
WorkerProcess& WorkerProcess::operator=(WorkerProcess&&) noexcept = default;
WorkerProcess::~WorkerProcess() = default;

}  // namespace qgen::tuner
