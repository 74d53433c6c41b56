"""Text from outside (a server's words, file names, labels) before people see it: nothing in it acts on a terminal."""

from __future__ import annotations

import re
import unicodedata

_NOT_SHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories that act on a terminal or reorder a line: controls (C0, C1), formats (bidi), surrogates, separators."""

_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")
_BROKEN_USER_INFO = re.compile(r"(?<=://)[^/?#\s:@]*:(?!\d*(?:[/?#\s]|$))\S*@")
"""A password that holds `/`, `?` or `#` makes an address that nothing can read; it is a password all the same."""

_LAME_USER_INFO = re.compile(r"(?P<scheme>\b(?:https?|grpcs?):/?)(?!/)[^/?#\s]*@")
"""The same in an address with a slash too few, which is taken for a path."""

_QUERY = re.compile(r"(?<=://)(?P<before>[^\s?]*)\?\S+")


def plain(text: str) -> str:
    r"""Returns one line of text with everything that would act on a terminal written as an escape.

    >>> plain("a\x1b[2Jb\u202e\n")
    'a\\x1b[2Jb\\u202e\\n'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c) in _NOT_SHOWN else c for c in text)


def shown(text: str) -> str:
    """Returns one line of text as people may see it: nothing in it acts on a terminal, no address says a password."""
    return plain(without_password(text))


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def without_password(text: str) -> str:
    """Returns text in which no address says a user, a password, or what its query holds: a token, say.

    >>> without_password("https://me:secret@host/log?token=secret")
    'https://…@host/log?…'
    >>> without_password("http:/me:secret@host/log")
    'http:/…@host/log'
    """
    text = _BROKEN_USER_INFO.sub("…@", _USER_INFO.sub("…@", text))
    return _QUERY.sub(r"\g<before>?…", _LAME_USER_INFO.sub(r"\g<scheme>…@", text))
