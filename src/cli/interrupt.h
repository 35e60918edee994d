// Ctrl-C: the first one asks the work to stop at the next batch, the second one ends the program at once.
#pragma once

namespace plm {

void install_interrupt_handler();
[[nodiscard]] bool was_interrupted();

}  // namespace plm
