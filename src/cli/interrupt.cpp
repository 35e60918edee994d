#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "base/error.h"

namespace plm {
namespace {

volatile sig_atomic_t interrupts = 0;

void on_interrupt(int /*signal*/) {
  if (interrupts > 0) _exit(static_cast<int>(ErrorKind::interrupted));
  interrupts = 1;
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool was_interrupted() { return interrupts > 0; }

}  // namespace plm
