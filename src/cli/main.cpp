// plm: the command line of Palimpsest.
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"

int main(int argc, char** argv) {
  plm::install_map_guard();
  plm::install_interrupt_handler();
  plm::Terminal terminal;
  const std::vector<std::string> words(argv + 1, argv + (argc > 0 ? argc : 1));
  return plm::run_command_line(words, terminal);
}
