"""Subprocesses of tests must import the installed package, not the folder pymx/ that they are started beside."""

import os

os.environ["PYTHONSAFEPATH"] = "1"
