"""The packages in dist/, which `make packages` builds first."""

from pathlib import Path

import pytest
from bare import only


@pytest.fixture(scope="session")
def wheel() -> Path:
    return only("pymx-*.whl")


@pytest.fixture(scope="session")
def sdist() -> Path:
    return only("pymx-*.tar.gz")
