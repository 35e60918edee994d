// Ctrl-C (SIGINT) and SIGTERM: exit code 130. While work runs that can stop between two batches, the first one only
// asks it to; the second one, and any at another time, ends the program at once. Tested by tests/cli/test_plm.py.
#pragma once

namespace plm {

void install_interrupt_handler();

/// From now on the first interrupt only makes `was_interrupted` true, which the caller asks again and again.
void stop_between_batches();
[[nodiscard]] bool was_interrupted();
/// What was interrupted is over; the next interrupt counts as the first again.
void forget_interrupt();

}  // namespace plm
