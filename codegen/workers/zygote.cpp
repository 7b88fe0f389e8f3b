// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: qgen authors
//
// The zygote is a process with one thread. It prepares the data that all calls need (glslang's built-ins: 70 ms) and
// forks workers from that state. So a worker starts in a millisecond, and takes a tenth of the memory of the first.
//
// A worker reports why it ends. Its limits are signals of its own timers, or a failed malloc(). Their handlers write
// one message to the pool and exit. Where not even that succeeds, the pool sees its socket close.
//
// All this runs on a stack of our own, because how far the main thread's may grow is up to whoever started the program.
// It is the stack of a thread; a process that such a thread forks has no other.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "codegen/workers/messages.h"
#include "common/sanitizers.h"

namespace qgen::workers {
namespace {

constexpr bool kIsThreadSanitized = QGEN_THREAD_SANITIZED;
constexpr bool kIsSanitized = QGEN_ADDRESS_SANITIZED || kIsThreadSanitized;

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr time_t kRealPerCpuSecond = 100;
constexpr size_t kGuardBytes = 16 * kMebibyte;  // one frame may reach this far past the end of the stack

// The state of this process; signal handlers get no argument of ours.
struct {
  int orders = -1;             // of the zygote
  int socket = -1;             // of a worker
  char* stack = nullptr;       // its lowest byte; a guard is below
  size_t stack_bytes = 0;      // down to there
  size_t forbidden_bytes = 0;  // of them, from the lowest on
} own;

// ---- how a worker ends ----------------------------------------------------------------------------------------------

[[noreturn]] QGEN_NOT_ADDRESS_SANITIZED void leave(CutOff::Cause cause, int signal = 0) {
  Head head;
  head.cause = cause;
  head.signal = signal;
  send_all(own.socket, &head, sizeof head);
  ::_exit(1);
}

bool is_past_stack(const void* address) {
  const char* at = static_cast<const char*>(address);
  return at >= own.stack - kGuardBytes && at < own.stack + own.forbidden_bytes;
}

QGEN_NOT_ADDRESS_SANITIZED void on_signal(int signal, siginfo_t* info, void*) {
  switch (signal) {
    case SIGPROF: leave(CutOff::Cause::cpu_time);
    case SIGALRM: leave(CutOff::Cause::real_time);
    case SIGSEGV:
    case SIGBUS:
      if (is_past_stack(info->si_addr)) leave(CutOff::Cause::stack);
      break;
    default: break;
  }
  leave(CutOff::Cause::crash, signal);
}

// For exceptions that nobody catches. A length that no container can have is memory that no machine has.
[[noreturn]] void leave_by_exception() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    leave(CutOff::Cause::memory);
  } catch (const std::length_error&) {
    leave(CutOff::Cause::memory);
  } catch (...) {
  }
  leave(CutOff::Cause::crash);
}

void install_handlers() {
  static std::array<char, 64 * 1024> stack;  // where a handler runs when the other one is full
  const stack_t other{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGPROF, SIGALRM, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP}) {
    ::sigaction(signal, &action, nullptr);
  }
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaction(signal, &plain, nullptr);
  if (kIsThreadSanitized) {  // which hands no timer's signal over in a process that a thread forked
    for (const int signal : {SIGPROF, SIGALRM}) ::sigaction(signal, &plain, nullptr);
  }
  std::set_new_handler([] { leave(CutOff::Cause::memory); });
  std::set_terminate(leave_by_exception);
}

// ---- limits ---------------------------------------------------------------------------------------------------------

void set_limit(decltype(RLIMIT_AS) resource, rlim_t value) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(value, limit.rlim_max);  // the user's settings are not passed on
  ::setrlimit(resource, &limit);
}

// The address space in use, in bytes.
size_t address_space() {
  size_t pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

void limit_to(const Allowance& allowance) {
  own.forbidden_bytes = own.stack_bytes - std::min(own.stack_bytes, allowance.stack_mib * kMebibyte);
  if (own.forbidden_bytes > 0) ::mprotect(own.stack, own.forbidden_bytes, PROT_NONE);
  set_limit(RLIMIT_CORE, 0);
  if (!kIsSanitized) set_limit(RLIMIT_AS, address_space() + allowance.memory_mib * kMebibyte);
}

void set_timers(time_t cpu_seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = cpu_seconds;
  ::setitimer(ITIMER_PROF, &timer, nullptr);
  timer.it_value.tv_sec = cpu_seconds * kRealPerCpuSecond;
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

// ---- the worker -----------------------------------------------------------------------------------------------------

void die_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before that
}

[[noreturn]] void serve(const ProcessPool::Function& function, const Allowance& allowance) {
  while (true) {
    Size size = 0;
    if (!receive_all(own.socket, &size, sizeof size)) ::_exit(0);
    std::string request(std::min(size, kMostBytes), '\0');
    if (!receive_all(own.socket, request.data(), request.size())) ::_exit(0);
    set_timers(allowance.cpu_seconds);
    std::string answer;
    try {
      answer = function.work(request);
    } catch (...) {
      leave_by_exception();
    }
    set_timers(0);
    Head head;
    head.is_answer = true;
    head.size = answer.size();
    if (head.size > kMostBytes) leave(CutOff::Cause::memory);
    if (!send_all(own.socket, &head, sizeof head) || !send_all(own.socket, answer.data(), answer.size())) ::_exit(0);
  }
}

// ---- the zygote -----------------------------------------------------------------------------------------------------

// Compilers free the same megabytes and allocate them again: keep them.
void tune_malloc() {
#ifdef __GLIBC__
  ::mallopt(M_ARENA_MAX, 1);  // of the main thread, though another works
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  ::mallopt(M_TOP_PAD, 1 << 20);
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

// The libraries' last messages before they abort are not for the user; a sanitizer's report is.
void be_silent() {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDIN_FILENO);
  ::dup2(nowhere, STDOUT_FILENO);
  if (!kIsSanitized) ::dup2(nowhere, STDERR_FILENO);
}

// With a socket, if there is one.
bool deliver(int orders, Delivery delivery, int socket) {
  iovec bytes{.iov_base = &delivery, .iov_len = sizeof delivery};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (delivery.error == 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &socket, sizeof socket);
  }
  return ::sendmsg(orders, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof delivery);
}

// Forks a worker and hands its socket over; false: the pool is gone.
bool start_worker(int orders, const ProcessPool::Function& function, const Allowance& allowance) {
  int ends[2];  // the pool's, the worker's
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return deliver(orders, {errno}, -1);
  const pid_t zygote = ::getpid();
  const pid_t worker = ::fork();
  if (worker == 0) {
    ::close(orders);
    ::close(ends[0]);
    own.socket = ends[1];
    die_with_parent(zygote);
    install_handlers();
    limit_to(allowance);
    serve(function, allowance);
  }
  const bool is_delivered = deliver(orders, {worker < 0 ? errno : 0}, ends[0]);
  ::close(ends[0]);
  ::close(ends[1]);
  return is_delivered;
}

struct Zygote {
  int orders;
  const ProcessPool::Function& function;
};

// Serves orders; `error` is why no worker can be started, or 0.
[[noreturn]] void serve_orders(const Zygote& zygote, int error) {
  std::set<std::string> prepared;
  Order order;
  while (receive_all(zygote.orders, &order, sizeof order)) {
    if (error != 0) {
      deliver(zygote.orders, {error}, -1);
      continue;
    }
    order.kind[sizeof order.kind - 1] = 0;
    if (prepared.insert(order.kind).second) zygote.function.prepare(order.kind);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;  // those that ended since
    if (!start_worker(zygote.orders, zygote.function, order.allowance)) break;
  }
  ::close(zygote.orders);
  while (::wait(nullptr) > 0 || errno == EINTR) continue;
  ::_exit(0);
}

void* serve_on_own_stack(void* zygote) { serve_orders(*static_cast<const Zygote*>(zygote), 0); }

// Goes on in a thread on a stack of this size. Comes back with errno.
int move_to_stack(const Zygote& zygote, size_t bytes) {
  void* memory = ::mmap(nullptr, kGuardBytes + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  own.stack = static_cast<char*>(memory) + kGuardBytes;
  own.stack_bytes = bytes;
  if (::mprotect(own.stack, bytes, PROT_READ | PROT_WRITE) != 0) return errno;
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstack(&attributes, own.stack, bytes);
  pthread_t thread{};
  const int error = ::pthread_create(&thread, &attributes, serve_on_own_stack, const_cast<Zygote*>(&zygote));
  if (error == 0) ::pthread_join(thread, nullptr);  // it ends the process
  return error;
}

}  // namespace

void run_zygote(int orders, const ProcessPool::Function& function, uint32_t stack_mib) {
  be_silent();
  tune_malloc();
  own.orders = orders;
  std::set_new_handler([] {
    deliver(own.orders, {ENOMEM}, -1);
    ::_exit(1);
  });
  const Zygote zygote{orders, function};
  serve_orders(zygote, move_to_stack(zygote, stack_mib * kMebibyte));
}

bool send_all(int socket, const void* bytes, size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* bytes, size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t received = ::recv(socket, at, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    at += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

}  // namespace qgen::workers
