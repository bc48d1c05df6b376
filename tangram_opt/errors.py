"""The two ways in which a request can end without a result."""

from __future__ import annotations


class TangramError(Exception):
    """Base of every error this package raises on purpose; its text is one sentence for the user."""


class InputError(TangramError):
    """The input is wrong: the text names the file, the path, the value and what was expected (exit code 2)."""


class NoPlanError(TangramError):
    """The input is fine and the answer is no: the text says which condition cannot be met (exit code 1)."""


class UndecidedError(NoPlanError):
    """The search ended without a plan and without a proof that there is none.

    Parameters
    ----------
    message : str
        One sentence for the user.
    stop_reason : str
        Why the search ended: a value of StopReason.
    """

    def __init__(self, message: str, stop_reason: str) -> None:
        super().__init__(message)
        self.stop_reason = stop_reason
