# ruff: noqa: F403
"""pymx: lazily evaluated arrays on libmx, with the surface of mlx.core. `import pymx as mx`."""

import math as _math
import os as _os

from . import cuda as cuda
from . import distributed as distributed
from . import fast as fast
from . import linalg as linalg
from . import metal as metal
from . import random as random
from . import tree as tree
from ._ffi import fast as _fast
from .array import *
from .compile import *
from .convert import asarray as asarray
from .convert import from_dlpack as from_dlpack
from .creation import *
from .device import *
from .dtype import *
from .errors import *
from .evaluate import *
from .find import *
from .hadamard import *
from .inspection import *
from .io import *
from .lifecycle import num_threads as num_threads
from .lifecycle import quiesce as quiesce
from .lifecycle import request_cancel as request_cancel
from .lifecycle import set_exit_policy as set_exit_policy
from .lifecycle import set_num_threads as set_num_threads
from .lifecycle import shutdown as shutdown
from .memory import *
from .ops import *
from .printing import *
from .products import *
from .quantize import *
from .shape import *
from .transforms import *
from .vmap import *

e = _math.e
euler_gamma = 0.5772156649015329
inf = _math.inf
nan = _math.nan
newaxis = None
matrix_norm = linalg.norm
pi = _math.pi

__version__ = f"{_fast.version() >> 16}.{_fast.version() & 0xFFFF}.0"


def get_include() -> str:
    """The folder to put on a C compiler's include path."""
    return _os.path.join(_os.path.dirname(__file__), "include")


def get_library_dir() -> str:
    """The folder that holds libmx.so."""
    return _os.path.join(_os.path.dirname(__file__), "lib")


def isa() -> str:
    """The instruction set level in use."""
    return str(_fast.isa())


def handle_count() -> int:
    """The number of live handles of the library."""
    return int(_fast.handle_count(0))
