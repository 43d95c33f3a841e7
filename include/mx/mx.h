/* mx/mx.h: everything. */
#ifndef MX_MX_H
#define MX_MX_H
#include "mx/array.h"
#include "mx/base.h"
#include "mx/device.h"
#include "mx/dtype.h"
#include "mx/fast.h"
#include "mx/function.h"
#include "mx/inspect.h"
#include "mx/io.h"
#include "mx/linalg.h"
#include "mx/memory.h"
#include "mx/notifier.h"
#include "mx/ops.h"
#include "mx/quantize.h"
#include "mx/random.h"
#include "mx/runtime.h"
#include "mx/shape.h"
#include "mx/transform.h"
#include "mx/vmap.h"
#endif
