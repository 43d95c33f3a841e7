# ruff: noqa: F403
"""The Python array API standard 2024.12 (https://data-apis.org/array-api/2024.12) as a namespace over pymx's arrays.

The arrays are those of pymx; what differs from `pymx` are the defaults: Python's numbers become int64 and float64, sums
of small integers are int64 or uint64, indices are int64. The functions give complex128 for complex64 beside float64,
and for float64 beside one of Python's complex numbers; the operators of arrays give complex64, as in mlx.core.

    xp = x.__array_namespace__(api_version="2024.12")
"""

from .. import e as e
from .. import inf as inf
from .. import nan as nan
from .. import newaxis as newaxis
from .. import pi as pi
from ..dtype import bool_ as bool  # noqa: F401 (a name of the standard)
from .creation import *
from .data_types import *
from .elementwise import *
from .info import __array_namespace_info__ as __array_namespace_info__
from .linear_algebra import *
from .manipulation import *
from .searching import *
from .sets import *
from .sorting import *
from .statistical import *

__array_api_version__ = "2024.12"
