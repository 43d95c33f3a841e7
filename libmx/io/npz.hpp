// The npz format: a zip file of npy files. Relies on zip.hpp and npy.hpp.
#pragma once
#include "io/archive.hpp"

namespace mx::io {

// The arrays are named after the members, without ".npy". Throws IO or OVERFLOW, also for a member that is no npy file.
Contents read_npz(const Ref<Storage> &storage);

}  // namespace mx::io
