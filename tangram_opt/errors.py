"""The two ways in which a request can end without a result."""

from __future__ import annotations


class TangramError(Exception):
    """Base of every error this package raises on purpose; its text is one sentence for the user."""


class InputError(TangramError):
    """The input is wrong: the text names the file, the path, the value and what was expected (exit code 2)."""


class NoPlanError(TangramError):
    """The input is fine and the answer is no: the text says which condition cannot be met (exit code 1)."""
