"""The namespace of CUDA, which this build does not have."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: there is no CUDA here."""
    return False
