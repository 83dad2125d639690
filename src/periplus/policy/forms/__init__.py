"""Forms: what a form is for, and which of them may be submitted."""

from .kinds import FormKind, kind_of

__all__ = ["FormKind", "kind_of"]
