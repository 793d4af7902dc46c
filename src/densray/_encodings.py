"""Encodings of text files that are not UTF-8, as spreadsheets write them."""

from __future__ import annotations

import re

from densray.errors import name_some

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
#: In Western languages most letters are ASCII; in a Cyrillic or Greek code page few are.
_LARGEST_SHARE = 0.5
#: In UTF-16, letters, digits and line ends of Western languages have a NUL byte: at least this share of all characters.
_SMALLEST_SHARE_OF_NULS = 0.25
#: A word, perhaps with a sign inside that a wrong encoding puts there.
_WORD = re.compile(r"\w+(?:[^\x00-\x7f\s–—’·]\w+)*")
_MOST_WORDS = 3
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffe]")


def words_to_check(text: str) -> str:
    """Return a sentence with the first words of a text that show whether its encoding is right; empty if all are ASCII.

    >>> words_to_check("nett, schön, „brav“ und größer"), words_to_check("GR†NE (1990–2000)"), words_to_check("nice")
    (" Check 'schön', 'größer'.", " Check 'GR†NE'.", '')
    """
    words: dict[str, None] = {}
    for match in _WORD.finditer(text):
        if not match[0].isascii():
            words[match[0]] = None
        if len(words) == _MOST_WORDS:
            break
    return f" Check {name_some(words)}." if words else ""


def encoding_of(content: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8: UTF-16 or cp1252; None if it is neither.

    >>> encoding_of("schön;1".encode("cp1252")), encoding_of("schön;1".encode("utf-16"))
    ('cp1252', 'utf-16')
    >>> encoding_of("schön;1".encode("utf-16-le")), encoding_of("schön;1".encode("utf-16-be"))
    ('utf-16-le', 'utf-16-be')
    >>> encoding_of("хорошо;1".encode("cp1251")) is None
    True
    """
    if content[:2] in UTF16_MARKS:
        return "utf-16" if _decodes(content, "utf-16") else None
    if b"\0" in content:
        return _utf16_without_mark(content)
    foreign, plain = len(re.findall(rb"[\x80-\xff]", content)), len(re.findall(rb"[A-Za-z]", content))
    if foreign > _LARGEST_SHARE * (foreign + plain):
        return None
    return "cp1252" if _decodes(content, "cp1252") else None


def _utf16_without_mark(content: bytes) -> str | None:
    """Return the byte order of UTF-16 text without a byte-order mark, by the place of its NULs; None if unclear."""
    nuls = [content[place::2].count(0) for place in (0, 1)]
    encoding = "utf-16-be" if nuls[0] > nuls[1] else "utf-16-le"
    if min(nuls) or 2 * max(nuls) < _SMALLEST_SHARE_OF_NULS * len(content) or not _decodes(content, encoding):
        return None
    return None if _CONTROLS.search(content.decode(encoding)) else encoding


def _decodes(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
