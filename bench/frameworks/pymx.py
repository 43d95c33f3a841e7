"""This project: the same calls as MLX's."""

from __future__ import annotations

from frameworks import mlx


class Bench(mlx.Bench):
    def __init__(self) -> None:
        super().__init__("pymx", "pymx")
        self.version += f" ({self.mx.isa()})"
