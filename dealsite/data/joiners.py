"""Joiners: U+200C and U+200D stay where they change how a word or an emoji looks, and nowhere else.

In words these are the contexts A1, A2 and B of Unicode's UAX #31, as RFC 5892 checks them for domain names, and the
Bengali ya-phalaa; in emoji it is rule GB11 of UAX #29.
"""

import re
import unicodedata

NON_JOINER, JOINER = "\u200c", "\u200d"
RUN = re.compile(f"[{NON_JOINER}{JOINER}]+")
NEAR = 16  # characters on either side that are looked at: marks may stand between two letters that join
# Of the blocks that hold all emoji with joiners; a skin colour is no emoji of its own there.
EMOJI = "[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"
BEFORE_JOINER = re.compile(EMOJI + "\ufe0f?[\U0001f3fb-\U0001f3ff]?$")
AFTER_JOINER = re.compile(EMOJI)
BENGALI_RA, BENGALI_VIRAMA = "\u09b0", "\u09cd"


def without_joiners(text: str) -> str:
    """Return text as it is compared: two names that differ only in joiners are one."""
    return RUN.sub("", text)


def only_visible_joiners(text: str) -> str:
    """Return text with the last one of each run of joiners, where that can be seen, and no other."""
    kept, position = "", 0
    for run in RUN.finditer(text):
        kept += text[position : run.start()]
        position = run.end()
        if _is_visible(run[0][-1], kept[-NEAR:], text[position : position + NEAR]):
            kept += run[0][-1]
    return kept + text[position:]


def _is_visible(joiner: str, before: str, after: str) -> bool:
    if joiner == JOINER and BEFORE_JOINER.search(before) and AFTER_JOINER.match(after):
        return True
    if joiner == JOINER and before.endswith(BENGALI_RA) and after.startswith(BENGALI_VIRAMA):
        return True
    if joiner == JOINER and unicodedata.category(after[:1] or " ").startswith("M"):
        return False  # of a letter with its virama and a vowel sign, nothing is joined

    # It knows how each letter joins: 2 MB that most processes never need.
    from idna import valid_contextj

    try:
        return valid_contextj(before + joiner + after, len(before))
    except ValueError:  # before it stands a letter whose script never joins, such as Tangut's
        return False
