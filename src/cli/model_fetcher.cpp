#include "cli/model_fetcher.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"

namespace plm {

// Embedded by the build from tools/ and models/catalog.json.
extern const std::string_view kFetchBasis;
extern const std::string_view kFetchHttp;
extern const std::string_view kFetchHub;
extern const std::string_view kFetchPackages;
extern const std::string_view kFetchModel;
extern const std::string_view kModelCatalog;

namespace {

// Makes modules of the scripts, which come on standard input, and runs the last one. An interrupt before that one takes
// it in hand ends the process silently.
constexpr const char* kStarter = R"(
import json, signal, sys, types
signal.signal(signal.SIGINT, signal.SIG_DFL)
bundle = json.load(sys.stdin.buffer)
for name, text in bundle["scripts"]:
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name + ".py", "exec"), module.__dict__)
sys.exit(module.main(sys.argv[1:], bundle["catalog"]))
)";

std::string bundle() {
  const std::pair<std::string_view, std::string_view> scripts[] = {{"fetch_basis", kFetchBasis},
                                                                   {"fetch_http", kFetchHttp},
                                                                   {"fetch_hub", kFetchHub},
                                                                   {"fetch_packages", kFetchPackages},
                                                                   {"fetch_model", kFetchModel}};
  Json modules = Json::array();
  for (const auto& [name, text] : scripts) modules.push_back(Json::array({name, text}));
  return json_text({{"scripts", std::move(modules)}, {"catalog", kModelCatalog}});
}

std::vector<std::string> script_arguments(const FetchRequest& request, const std::string& folder) {
  // Isolated (-I): neither the current folder nor the environment slips other modules in.
  std::vector<std::string> words = {"python3", "-I", "-c", kStarter};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.push_back(std::string(flag) + "=" + value);
  };
  add("--name", request.name);
  add("--sha256", request.sha256);
  add("--token-file", request.token_file);
  words.insert(words.end(), {"--", request.model, folder});
  return words;
}

[[noreturn]] void become_script(int input, const std::vector<char*>& arguments) {
  dup2(input, STDIN_FILENO);
  close(input);
  execvp(arguments[0], arguments.data());
  const char message[] = "error: python3 cannot be started; install it (apt-get install python3 python3-pip)\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
  _exit(static_cast<int>(ErrorKind::failed));
}

void write_all(int output, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(output, text.data(), text.size());
    if (written < 0 && errno == EINTR && !was_interrupted()) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Result<int> fetch_model(const FetchRequest& request) {
  PLM_TRY_ASSIGN(const std::string folder, cache_folder());
  std::vector<std::string> words = script_arguments(request, folder);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) return fail(ErrorKind::failed, "fetch: no pipe: {}", std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) return fail(ErrorKind::failed, "fetch: no process: {}", std::strerror(errno));
  if (child == 0) {
    close(ends[1]);
    become_script(ends[0], arguments);
  }
  stop_between_batches();  // the script tidies up after an interrupt, and is waited for
  close(ends[0]);
  std::signal(SIGPIPE, SIG_IGN);  // a script that ends early must not end us
  write_all(ends[1], bundle());
  close(ends[1]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) kill(child, SIGTERM);
  std::signal(SIGPIPE, SIG_DFL);
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ErrorKind::interrupted);
}

}  // namespace plm
