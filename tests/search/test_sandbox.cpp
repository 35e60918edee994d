// What strangers' programs try. Each is a Python program run in the sandbox; where the kernel has no Landlock the
// sandbox refuses, and the tests are skipped.
#include "search/sandbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace plm {
namespace {

class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    const auto run = run_in_sandbox({"true"}, {});
    if (!run.has_value()) GTEST_SKIP() << run.error().message;
  }

  static SandboxRun python(const std::string& program, const SandboxLimits& limits = {}) {
    return run_in_sandbox({"python3", "-I", "program.py"}, {{"program.py", program}}, limits).value();
  }
};

TEST_F(Sandbox, AProgramRunsAndIsHeard) {
  const SandboxRun run = python("import sys, math\nprint(math.sqrt(16))\nprint('oh', file=sys.stderr)\nsys.exit(3)");
  EXPECT_EQ(run.end, SandboxRun::End::exited);
  EXPECT_EQ(run.status, 3);
  EXPECT_NE(run.output.find("4.0"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("oh"), std::string::npos) << run.output;
  EXPECT_EQ(run.described({}), "exited with 3");
  EXPECT_TRUE(python("open('a', 'w').write('x'); print(open('a').read())").succeeded());
  EXPECT_TRUE(python("import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()").succeeded());
}

TEST_F(Sandbox, AnEndlessLoopIsEnded) {
  const SandboxLimits limits{.wall_seconds = 1};
  const SandboxRun run = python("while True: pass", limits);
  EXPECT_NE(run.end, SandboxRun::End::exited);
  EXPECT_EQ(run.described(limits), "took longer than 1 s");
  EXPECT_EQ(python("import time; time.sleep(60)", limits).end, SandboxRun::End::timed_out);
  EXPECT_EQ(python("while True: print('x' * 1000)", limits).end, SandboxRun::End::timed_out);
  const SandboxLimits processor{.wall_seconds = 30, .cpu_seconds = 1};
  EXPECT_EQ(python("while True: pass", processor).described(processor), "used more than 1 s of processor time");
}

TEST_F(Sandbox, AForkBombHasNoProcess) {
  const SandboxRun run =
      python("import os\ntry:\n  os.fork()\n  print('forked')\nexcept OSError as e:\n  print('no', e.errno)");
  EXPECT_TRUE(run.succeeded());
  EXPECT_EQ(run.output, "no 11\n");
  EXPECT_FALSE(python("import subprocess; subprocess.run(['true'])").succeeded());
}

TEST_F(Sandbox, AMemoryBombIsRefusedItsMemory) {
  const SandboxRun run = python("x = bytearray(4 << 30)");
  EXPECT_FALSE(run.succeeded());
  EXPECT_NE(run.output.find("MemoryError"), std::string::npos) << run.output;
  EXPECT_FALSE(python("import resource; resource.setrlimit(resource.RLIMIT_AS, (-1, -1))").succeeded());
}

TEST_F(Sandbox, ThereIsNoNetwork) {
  const SandboxRun run = python("import socket\nsocket.create_connection(('127.0.0.1', 9))");
  EXPECT_FALSE(run.succeeded());
  EXPECT_NE(run.output.find("PermissionError"), std::string::npos) << run.output;
}

TEST_F(Sandbox, OtherFilesAreOutOfReach) {
  const auto secret = std::filesystem::temp_directory_path() / "plm-sandbox-secret";
  std::ofstream(secret) << "secret";
  const std::string read = "print(open('" + secret.string() + "').read())";
  EXPECT_NE(python(read).output.find("PermissionError"), std::string::npos);
  EXPECT_NE(python("open('" + secret.string() + "', 'w')").output.find("PermissionError"), std::string::npos);
  EXPECT_NE(python("import os; os.remove('" + secret.string() + "')").output.find("PermissionError"),
            std::string::npos);
  EXPECT_NE(python("print(open('/etc/passwd').read())").output.find("PermissionError"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(secret));
  std::filesystem::remove(secret);
  const SandboxRun large = python("f = open('big', 'wb')\nwhile True: f.write(bytes(1 << 20)); f.flush()");
  EXPECT_FALSE(large.succeeded());
}

TEST_F(Sandbox, OthersAreNotKilled) {
  const SandboxRun run = python("import os\nos.kill(os.getppid(), 9)");
  EXPECT_NE(run.output.find("PermissionError"), std::string::npos) << run.output;
  const SandboxRun own = python("import os\nos.abort()");
  EXPECT_EQ(own.end, SandboxRun::End::killed);
  EXPECT_NE(own.described({}).find("signal 6"), std::string::npos);
}

TEST_F(Sandbox, NothingIsLeft) {
  // A place of its own: other tests run beside this one.
  const auto place = std::filesystem::temp_directory_path() / ("plm-test-sandbox-" + std::to_string(getpid()));
  std::filesystem::create_directory(place);
  setenv("TMPDIR", place.c_str(), 1);
  EXPECT_TRUE(python("open('left', 'w').write('x')").succeeded());
  unsetenv("TMPDIR");
  EXPECT_TRUE(std::filesystem::is_empty(place));
  std::filesystem::remove_all(place);
}

TEST_F(Sandbox, AMissingProgramIsNamed) {
  const auto run = run_in_sandbox({"no-such-program"}, {});
  ASSERT_FALSE(run.has_value());
  EXPECT_NE(run.error().message.find("no-such-program"), std::string::npos);
}

}  // namespace
}  // namespace plm
