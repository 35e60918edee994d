#include "search/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/utf8.h"

namespace plm {
namespace {

class OwnedFile {
 public:
  OwnedFile() = default;
  explicit OwnedFile(int file) : file_(file) {}
  OwnedFile(OwnedFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  OwnedFile& operator=(OwnedFile&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~OwnedFile() { close(); }
  void close() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }
  [[nodiscard]] int get() const { return file_; }

 private:
  int file_ = -1;
};

// A new folder, which goes with everything in it.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> create() {
    std::string path = (std::filesystem::temp_directory_path() / "plm-sandbox-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return fail(ErrorKind::failed, "sandbox: no folder can be made like {}: {}", path, std::strerror(errno));
    }
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// ---- what may be read and written

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kAll = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // every right of Landlock's first version
constexpr std::uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;

Result<void> allow(const OwnedFile& rules, const std::string& path, std::uint64_t rights) {
  const OwnedFile place(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.get() < 0) return {};  // not on this system
  if (!std::filesystem::is_directory(path)) rights &= kOfFiles;
  const landlock_path_beneath_attr rule{.allowed_access = rights, .parent_fd = place.get()};
  if (syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return {};
  return fail(ErrorKind::failed, "sandbox: Landlock refuses the rule for {}: {}", path, std::strerror(errno));
}

Result<OwnedFile> file_rules(const std::string& folder) {
  const landlock_ruleset_attr handled{.handled_access_fs = kAll};
  OwnedFile rules(static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
  if (rules.get() < 0) {
    return fail(ErrorKind::failed,
                "sandbox: this system has no Landlock ({}), so a program could not be kept from other files; use a "
                "Linux kernel of 5.13 or later with Landlock switched on",
                std::strerror(errno));
  }
  for (const char* path : {"/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/alternatives",
                           "/etc/localtime", "/dev/urandom"}) {
    PLM_TRY(allow(rules, path, kRead));
  }
  PLM_TRY(allow(rules, "/dev/null", kOfFiles));
  PLM_TRY(allow(rules, folder, kAll));
  return rules;
}

// ---- which calls of the system are answered

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "sandbox: seccomp needs this machine's audit architecture"
#endif

constexpr std::uint32_t low_word(std::size_t argument) {  // both architectures are little-endian
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
}

class CallFilter {
 public:
  CallFilter() {
    load(offsetof(seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);  // the calls of x32
    add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    refuse(SYS_fork, EAGAIN);
    refuse(SYS_vfork, EAGAIN);
#endif
    // Threads, but no processes. What clone3 is asked cannot be seen; without it the C library asks clone.
    refuse(SYS_clone3, ENOSYS);
    refuse_unless_all_bits(SYS_clone, 0, CLONE_THREAD, EAGAIN);
    for (const long call : {SYS_socket, SYS_socketpair, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
                            SYS_unshare, SYS_setns, SYS_mount, SYS_bpf, SYS_perf_event_open, SYS_keyctl, SYS_add_key,
                            SYS_setrlimit, SYS_tkill, SYS_pidfd_open, SYS_userfaultfd, SYS_setsid}) {
      refuse(call, EPERM);
    }
    refuse(SYS_io_uring_setup, ENOSYS);
    refuse_unless_zero(SYS_prlimit64, 2, EPERM);  // limits may be read
    own_process_[0] = refuse_unless_equal(SYS_kill, 0, EPERM);
    own_process_[1] = refuse_unless_equal(SYS_tgkill, 0, EPERM);
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }

  // In the child, after fork: no memory may be asked for.
  bool apply(pid_t self) {
    for (const std::size_t place : own_process_) code_[place].k = static_cast<std::uint32_t>(self);
    const sock_fprog program{.len = static_cast<unsigned short>(code_.size()), .filter = code_.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
  }

 private:
  void add(int code, std::uint32_t k, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, k});
  }
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  static std::uint32_t refusal(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }
  void refuse(long call, int error) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
    add(BPF_RET | BPF_K, refusal(error));
  }
  // Five instructions each: on another call the four behind the first are passed over.
  void begin_argument(long call, std::size_t argument) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
    load(low_word(argument));
  }
  void end_argument(int error) {
    add(BPF_RET | BPF_K, refusal(error));
    load(offsetof(seccomp_data, nr));
  }
  void refuse_unless_all_bits(long call, std::size_t argument, std::uint32_t bits, int error) {
    begin_argument(call, argument);
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
    end_argument(error);
  }
  void refuse_unless_zero(long call, std::size_t argument, int error) {  // of a pointer, its lower half
    begin_argument(call, argument);
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    end_argument(error);
  }
  std::size_t refuse_unless_equal(long call, std::size_t argument, int error) {
    begin_argument(call, argument);
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    const std::size_t place = code_.size() - 1;
    end_argument(error);
    return place;
  }

  std::vector<sock_filter> code_;
  std::array<std::size_t, 2> own_process_{};  // where its number goes
};

// ---- the program

struct Program {
  std::string path;
  std::vector<std::string> words, environment;
  std::vector<char*> arguments, variables;  // as execve wants them
};

Result<Program> prepare(const std::vector<std::string>& command, const std::string& folder) {
  if (command.empty()) return fail(ErrorKind::usage, "sandbox: no program given");
  Program program{.path = command[0], .words = command};
  if (program.path.find('/') == std::string::npos) {
    for (const char* place : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
      if (access((place + command[0]).c_str(), X_OK) != 0) continue;
      program.path = place + command[0];
      break;
    }
  }
  if (access(program.path.c_str(), X_OK) != 0) {
    return fail(ErrorKind::failed, "sandbox: {}: no such program; install it or give its path",
                printable(command[0], 100));
  }
  program.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + folder, "TMPDIR=" + folder, "LANG=C.UTF-8",
                         "PYTHONDONTWRITEBYTECODE=1"};
  for (std::string& word : program.words) program.arguments.push_back(word.data());
  for (std::string& variable : program.environment) program.variables.push_back(variable.data());
  program.arguments.push_back(nullptr);
  program.variables.push_back(nullptr);
  return program;
}

void limit(int resource, std::uint64_t most) {
  const rlimit both{.rlim_cur = most,
                    .rlim_max = most + (resource == RLIMIT_CPU ? 1 : 0)};  // first a signal that says why
  setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

// Of the child, before it has become the program: nothing of the parent's is flushed or destroyed.
[[noreturn]] void end_child() {
  constexpr int kNotStarted = 127;
  syscall(SYS_exit_group, kNotStarted);
  __builtin_unreachable();
}

struct ChildSetup {
  const std::string& folder;
  const Program& program;
  const SandboxLimits& limits;
  int rules, output;
  CallFilter& filter;
};

// In the child: only calls that are safe between fork and execve.
[[noreturn]] void become(ChildSetup& setup) {
  const bool is_placed = setsid() >= 0 && chdir(setup.folder.c_str()) == 0;
  const int null = open("/dev/null", O_RDONLY);
  if (!is_placed || null < 0 || dup2(null, 0) < 0 || dup2(setup.output, 1) < 0 || dup2(setup.output, 2) < 0) {
    end_child();
  }
  limit(RLIMIT_CPU, setup.limits.cpu_seconds);
  limit(RLIMIT_AS, setup.limits.memory_bytes);
  limit(RLIMIT_FSIZE, setup.limits.file_bytes);
  limit(RLIMIT_NOFILE, 64);
  limit(RLIMIT_CORE, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool is_bound = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                        syscall(SYS_landlock_restrict_self, setup.rules, 0) == 0 && setup.filter.apply(getpid());
  if (!is_bound) end_child();
  execve(setup.program.path.c_str(), setup.program.arguments.data(), setup.program.variables.data());
  end_child();
}

// Reads what it writes until it has ended or its time is over, and kills it then.
SandboxRun follow(pid_t child, const OwnedFile& output, const SandboxLimits& limits) {
  SandboxRun run;
  const Stopwatch watch;
  std::array<char, 4096> buffer;
  bool is_open = true;
  int status = 0;
  for (bool has_ended = false; !has_ended;) {
    pollfd waiting{.fd = is_open ? output.get() : -1, .events = POLLIN, .revents = 0};
    poll(&waiting, 1, is_open ? 20 : 5);
    // What is there is read before the child is asked after, so that its last words are not lost.
    const bool was_over = waitpid(child, &status, WNOHANG) == child;
    while (is_open && poll(&waiting, 1, 0) > 0) {
      const ssize_t bytes = read(output.get(), buffer.data(), buffer.size());
      if (bytes <= 0) {
        is_open = false;
        break;
      }
      const std::size_t room = limits.output_bytes - std::min<std::size_t>(limits.output_bytes, run.output.size());
      run.output.append(buffer.data(), std::min(room, static_cast<std::size_t>(bytes)));
      if (watch.elapsed_ms() > limits.wall_seconds * 1000) break;  // one who never stops writing
    }
    has_ended = was_over;
    if (!has_ended && watch.elapsed_ms() > limits.wall_seconds * 1000) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      run.end = SandboxRun::End::timed_out;
      has_ended = true;
    }
  }
  run.ms = watch.elapsed_ms();
  if (run.end == SandboxRun::End::timed_out) return run;
  run.end = WIFEXITED(status) ? SandboxRun::End::exited : SandboxRun::End::killed;
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  return run;
}

}  // namespace

std::string SandboxRun::described(const SandboxLimits& limits) const {
  switch (end) {
    case End::exited: return fmt::format("exited with {}", status);
    case End::timed_out: return fmt::format("took longer than {:g} s", limits.wall_seconds);
    case End::killed: break;
  }
  if (status == SIGXCPU) return fmt::format("used more than {} s of processor time", limits.cpu_seconds);
  if (status == SIGXFSZ) return fmt::format("wrote a file of more than {} bytes", limits.file_bytes);
  return fmt::format("killed by signal {} ({})", status, strsignal(status));
}

Result<SandboxRun> run_in_sandbox(const std::vector<std::string>& command, const std::vector<SandboxFile>& files,
                                  const SandboxLimits& limits) {
  PLM_TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::create());
  for (const SandboxFile& file : files) {
    std::ofstream stream(folder.path() + "/" + file.name, std::ios::binary);
    if (!stream.write(file.content.data(), std::ssize(file.content)).flush()) {
      return fail(ErrorKind::failed, "sandbox: {}/{}: cannot be written; is the disk full?", folder.path(), file.name);
    }
  }
  PLM_TRY_ASSIGN(const Program program, prepare(command, folder.path()));
  PLM_TRY_ASSIGN(const OwnedFile rules, file_rules(folder.path()));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorKind::failed, "sandbox: no pipe: {}", std::strerror(errno));
  const OwnedFile output(ends[0]);
  OwnedFile input(ends[1]);
  CallFilter filter;
  ChildSetup setup{folder.path(), program, limits, rules.get(), input.get(), filter};
  const pid_t child = fork();
  if (child < 0) return fail(ErrorKind::failed, "sandbox: no process: {}", std::strerror(errno));
  if (child == 0) become(setup);
  input.close();
  return follow(child, output, limits);
}

}  // namespace plm
