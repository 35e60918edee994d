// What every layer of a running pass shares: the device, the rows, their rotation angles, where state lies.
#pragma once

#include "kernels/device.h"
#include "model/model.h"
#include "model/pass.h"

namespace plm {

struct LayerPass {
  Device& device;
  RowTable table;
  const StateLayout& layout;
  View angles;  ///< [rows, rotated dimensions], see Device::rope; no columns: nothing is rotated
  const Probe& probe;

  void report(std::string_view name, const View& value) const {
    if (probe) probe(name, value);
  }
};

}  // namespace plm
