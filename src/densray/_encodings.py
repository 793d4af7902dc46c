"""Encodings of text files that are not UTF-8, as spreadsheets write them."""

from __future__ import annotations

import re

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
#: In Western languages most letters are ASCII; in a Cyrillic or Greek code page few are.
_LARGEST_SHARE = 0.5


def encoding_of(content: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8: UTF-16 or cp1252; None if it is neither.

    >>> encoding_of("schön;1".encode("cp1252")), encoding_of("schön;1".encode("utf-16"))
    ('cp1252', 'utf-16')
    >>> encoding_of("хорошо;1".encode("cp1251")) is None
    True
    """
    encoding = "utf-16" if content[:2] in UTF16_MARKS else "cp1252"
    if encoding == "cp1252":
        foreign, plain = len(re.findall(rb"[\x80-\xff]", content)), len(re.findall(rb"[A-Za-z]", content))
        if b"\0" in content or foreign > _LARGEST_SHARE * (foreign + plain):
            return None
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return None
    return encoding
