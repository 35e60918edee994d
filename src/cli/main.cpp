// plm: the command line of Palimpsest.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"

namespace {

// A stream that the caller has closed would give its number to the next file we open, such as the model.
void fill_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDWR);  // takes the lowest number that is free
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  signal(SIGPIPE, SIG_DFL);  // whatever we inherit: when nobody reads any more, end without a word
  plm::install_map_guard();
  plm::install_interrupt_handler();
  plm::Terminal terminal;
  const std::vector<std::string> words(argv + 1, argv + (argc > 0 ? argc : 1));
  return plm::run_command_line(words, terminal);
}
