// The kernel of the op `load`: reads the elements of an array of a file. Relies on sources, the payload of the op.
#pragma once
#include "backends/kernel.hpp"

namespace mx::io {

// Throws IO if the file has become shorter, cannot be read or fails its checksum, and CANCELLED.
void load(const KernelCall &call);

}  // namespace mx::io
