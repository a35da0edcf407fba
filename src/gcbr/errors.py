"""The one exception for a user's mistake: its text is a whole sentence, shown without a traceback."""


class InputError(ValueError):
    """Something the caller gave cannot be used; says what was given and what would have worked."""
