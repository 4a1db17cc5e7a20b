"""Which encoding a file is in: by its mark, by its zeros, as UTF-8, or the code page that makes words of it."""

import codecs
import re
import unicodedata
from itertools import groupby, pairwise

from django.utils.translation import gettext_lazy

from dealsite.imports.csv_files import CHUNK, File, decoder

ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": gettext_lazy("UTF-8 with a byte order mark"),
    "utf-16-le": "UTF-16",
    "utf-16-be": gettext_lazy("UTF-16, big end first"),
    "cp1252": "Windows-1252",
    "cp1250": gettext_lazy("Windows-1250, Central Europe"),
    "cp1251": gettext_lazy("Windows-1251, Cyrillic"),
    "mac-roman": "Mac",
    "cp850": "DOS (850)",
    "gb18030": "GBK",
    "cp932": "Shift-JIS",
}
CODE_PAGES = tuple(ENCODINGS)[4:]
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
UNDECODED = re.compile("[\udc80-\udcff]")
NO_LETTERS = {"Cn", "Co", "Cs"}  # unassigned, private, half of a pair
JUNK = NO_LETTERS | {"Cc"}  # or control
WORD = re.compile(r"[^\s!-/:-@\[-`{-~’‘–—…•·]+")
AS_ONE = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "HALFWIDTH": "half a kana"}
SAMPLE_CHARACTERS = 40
TELLING_BYTES = 20_000  # of lines with letters that are not ASCII
CLEARLY = 4  # times as few words that look wrong


def encoding_of(file: File, start: bytes) -> str:
    """Return the encoding that a file is most likely in; Windows-1252 where its letters do not tell."""
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name
    low, high = start[::2].count(0), start[1::2].count(0)
    if max(low, high) > len(start) * 0.05 and min(low, high) * 10 < max(low, high):
        return "utf-16-le" if high > low else "utf-16-be"
    if _is_utf8(file):
        return "utf-8"
    lines = b"\n".join(_telling_lines(start))[:TELLING_BYTES]
    wrong = {name: _wrong_words(lines, name) for name in CODE_PAGES}
    best, second = sorted(CODE_PAGES, key=lambda name: wrong[name])[:2]
    return best if wrong[best] * CLEARLY < wrong["cp1252"] and wrong[best] < wrong[second] else "cp1252"


def in_each(start: bytes) -> dict[str, str]:
    """Return how the first words of a file with letters of their own look in each encoding that can have them."""
    line = next(iter(_telling_lines(start)), b"")
    first = re.search(rb"[\x80-\xff]", line)
    begin = max(0, first.start() - 10) if first else 0
    piece = line[begin : begin + 4 * SAMPLE_CHARACTERS]
    found = {name: decoder(name).decode(piece).strip()[:SAMPLE_CHARACTERS] for name in ENCODINGS if piece}
    return {
        name: text
        for name, text in found.items()
        if not any(unicodedata.category(letter) in JUNK for letter in text.replace("\t", " "))
    }


def _telling_lines(start: bytes) -> list[bytes]:
    """Return the lines that are not all ASCII."""
    return [line for line in re.split(rb"[\r\n]+", start) if not line.isascii()]


def _is_utf8(file: File) -> bool:
    """Tell whether most of what is not ASCII is UTF-8: a damaged row does not make a file another one."""
    good = bad = 0
    decode = decoder("utf-8").decode
    file.seek(0)
    while chunk := file.read(CHUNK):
        text = decode(chunk)
        if text.isascii():
            continue
        wrong = len(UNDECODED.findall(text))
        bad += wrong
        good += len(text) - len(text.encode("ascii", "ignore")) - wrong
    return good >= bad


def _wrong_words(data: bytes, encoding: str) -> int:
    """Return how many words look as if they were read in the wrong code page."""
    return sum(
        not word.isascii() and _looks_wrong(word, encoding)
        for word in WORD.findall(decoder(encoding).decode(data))
    )


def _looks_wrong(word: str, encoding: str) -> bool:
    """Tell whether a word mixes scripts, or holds signs, capitals or too many accents among its letters."""
    scripts = {_script(letter) for letter in word if letter.isalpha()}
    is_junk = any(unicodedata.category(letter) in JUNK for letter in word)
    if is_junk or len(scripts) > 1 or "half a kana" in scripts:
        return True
    if scripts == {"CJK"}:
        return encoding == "gb18030" and not _is_usual(word)
    inner = word.strip("".join(letter for letter in word if not letter.isalpha()))
    if any(not letter.isalnum() or (letter.isnumeric() and not letter.isascii()) for letter in inner):
        return True
    if any(a.islower() and b.isupper() and not b.isascii() for a, b in pairwise(word)):
        return True
    accents = (len(list(run)) for is_plain, run in groupby(word, str.isascii) if not is_plain)
    return scripts == {"LATIN"} and max(accents) > 3


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "?").partition(" ")[0]
    return AS_ONE.get(name, name)


def _is_usual(word: str) -> bool:
    """Tell whether a Chinese word is written in the usual signs, which any other file would hardly hit."""
    try:
        word.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True
