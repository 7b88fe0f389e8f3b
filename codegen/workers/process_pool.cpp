// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The pool's side: who has which worker. A calling thread leases an idle worker. If there is none, it orders one, up to
// the maximum. A worker that ended is forgotten, and the next call orders another.
//
// The memory of all workers together is bounded. Each has an equal share of Limits::shared_mib, and one at a time may
// try again with all of Limits::memory_mib.
#include "codegen/workers/process_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "codegen/workers/messages.h"

namespace qgen::workers {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void no_process(int error) {
  throw std::system_error(error, std::generic_category(), "cannot start a process to compile in");
}

// A process has no more memory than the one that starts it.
Limits within_this_process(Limits limits) {
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur >> 20 < limits.memory_mib) {
    limits.memory_mib = static_cast<uint32_t>(space.rlim_cur >> 20);
  }
  return limits;
}

class Socket {
 public:
  Socket() = default;
  explicit Socket(int handle) : handle_(handle) {}
  Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Socket() { close(); }
  void close() {
    if (handle_ >= 0) ::close(std::exchange(handle_, -1));
  }
  int handle() const { return handle_; }

 private:
  int handle_ = -1;
};

struct Worker {
  Socket socket;
  bool is_fresh = true;
};

Outcome<std::string, CutOff> ask(const Worker& worker, std::string_view request) {
  const int socket = worker.socket.handle();
  const Size size = request.size();
  Head head;
  head.cause = CutOff::Cause::killed;
  if (!send_all(socket, &size, sizeof size) || !send_all(socket, request.data(), request.size()) ||
      !receive_all(socket, &head, sizeof head) || !head.is_answer) {
    return CutOff{head.cause, head.signal, 0};
  }
  if (head.size > kMostBytes) return CutOff{CutOff::Cause::crash, 0, 0};
  std::string answer(head.size, '\0');
  if (!receive_all(socket, answer.data(), answer.size())) return CutOff{CutOff::Cause::killed, 0, 0};
  return answer;
}

}  // namespace

class ProcessPool::State {
 public:
  State(Function function, size_t most_workers, const Limits& limits)
      : most_workers_(std::max<size_t>(most_workers, 1)),
        whole_{limits.cpu_seconds, limits.memory_mib, std::min(limits.stack_mib, limits.memory_mib)} {
    idle_.reserve(most_workers_);  // so that a lease ends without allocating memory
    share_ = whole_;
    share_.memory_mib = std::min(whole_.memory_mib, static_cast<uint32_t>(limits.shared_mib / most_workers_));
    share_.stack_mib = std::min(whole_.stack_mib, share_.memory_mib);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) no_process(errno);
    orders_ = Socket(ends[0]);
    Socket theirs(ends[1]);
    const pid_t self = ::getpid();
    zygote_ = ::fork();
    if (zygote_ < 0) no_process(errno);
    if (zygote_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != self) ::_exit(1);
      orders_.close();
      run_zygote(theirs.handle(), function, whole_.stack_mib);
    }
  }

  ~State() {
    idle_.clear();
    orders_.close();
    while (::waitpid(zygote_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  Outcome<std::string, CutOff> call(std::string_view request, std::string_view kind) {
    const auto begin = Clock::now();
    Lease lease(*this, kind);
    const bool is_whole = lease.worker.is_fresh && share_.memory_mib == whole_.memory_mib;
    auto answer = ask(lease.worker, request);
    if (answer) {
      lease.is_worth_keeping = true;
      return answer;
    }
    lease.worker.socket.close();
    const bool is_of_time =
        answer.error().cause == CutOff::Cause::cpu_time || answer.error().cause == CutOff::Cause::real_time;
    if (!is_whole && !is_of_time) {
      const std::lock_guard lock(alone_);
      answer = ask(order(kind, whole_), request);
      if (answer) return answer;
    }
    CutOff cut_off = answer.error();
    cut_off.real_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return cut_off;
  }

 private:
  // A worker, as long as a call lasts; one of most_workers_ at a time.
  struct Lease {
    Lease(State& owner, std::string_view kind) : state(owner) {
      if (state.take_idle(worker)) return;
      try {
        worker = state.order(kind, state.share_);
      } catch (...) {
        state.end_lease(nullptr);
        throw;
      }
    }
    ~Lease() { state.end_lease(is_worth_keeping ? &worker : nullptr); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    State& state;
    Worker worker;
    bool is_worth_keeping = false;
  };

  // Waits until a worker is idle or another may start; true: `worker` is one that was idle.
  bool take_idle(Worker& worker) {
    std::unique_lock lock(mutex_);
    is_free_.wait(lock, [this] { return leased_ < most_workers_; });
    ++leased_;
    if (idle_.empty()) return false;
    worker = std::move(idle_.back());
    idle_.pop_back();
    return true;
  }

  void end_lease(Worker* kept) {
    const std::lock_guard lock(mutex_);
    --leased_;
    if (kept) {
      kept->is_fresh = false;
      idle_.push_back(std::move(*kept));
    }
    is_free_.notify_one();
  }

  Worker order(std::string_view kind, const Allowance& allowance) {
    Order order;
    order.allowance = allowance;
    kind.copy(order.kind, sizeof order.kind - 1);
    const std::lock_guard lock(ordering_);
    if (!send_all(orders_.handle(), &order, sizeof order)) no_process(ECHILD);
    return {take_delivery(), true};
  }

  Socket take_delivery() {
    Delivery delivery;
    iovec bytes{.iov_base = &delivery, .iov_len = sizeof delivery};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t received = 0;
    do {
      received = ::recvmsg(orders_.handle(), &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received != static_cast<ssize_t>(sizeof delivery)) no_process(ECHILD);
    if (delivery.error != 0) no_process(delivery.error);
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (head == nullptr) no_process(EMFILE);  // the kernel had no descriptor to put it in
    int socket = -1;
    std::memcpy(&socket, CMSG_DATA(head), sizeof socket);
    return Socket(socket);
  }

  const size_t most_workers_;
  const Allowance whole_;
  Allowance share_;
  Socket orders_;
  pid_t zygote_ = -1;

  std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<Worker> idle_;  // the last used is used next: its memory is warm
  size_t leased_ = 0;

  std::mutex ordering_;  // the zygote takes one order at a time
  std::mutex alone_;     // who holds it may have a worker with the whole allowance
};

ProcessPool::ProcessPool(Function function, size_t most_workers, const Limits& limits)
    : limits_(within_this_process(limits)), state_(std::make_unique<State>(function, most_workers, limits_)) {}
ProcessPool::~ProcessPool() = default;

Outcome<std::string, CutOff> ProcessPool::call(std::string_view request, std::string_view kind) {
  return state_->call(request, kind);
}

}  // namespace qgen::workers
