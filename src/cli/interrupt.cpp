#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "base/error.h"

namespace plm {
namespace {

volatile sig_atomic_t somebody_asks = 0;
volatile sig_atomic_t interrupted = 0;

void on_interrupt(int /*signal*/) {
  if (somebody_asks == 0 || interrupted != 0) _exit(static_cast<int>(ErrorKind::interrupted));
  interrupted = 1;
}

}  // namespace

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void stop_between_batches() { somebody_asks = 1; }

void forget_interrupt() { interrupted = 0; }

bool was_interrupted() { return interrupted != 0; }

}  // namespace plm
