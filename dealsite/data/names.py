"""Texts without what nobody sees; names as they are shown, and as they stand in keys: slugs, user names, addresses.

What is kept stays as it was typed. Keys and what is compared are normalised first and checked afterwards: NFKC turns
look-alikes of `#` into `#` itself. Characters that are
not seen, joiners (U+200C and U+200D) among them, stay where they change how a word or an emoji looks, and are compared
nowhere. For joiners in words these are the contexts A1, A2 and B of Unicode's UAX #31, as RFC 5892 checks them for
domain names, and the Bengali ya-phalaa; in emoji it is rule GB11 of UAX #29.
"""

import re
import unicodedata
from typing import Literal
from urllib.parse import urlsplit

from django.utils.translation import gettext_lazy

from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import folded

DAMAGED_FORM = gettext_lazy("This form is damaged. Load the page again.")
USERNAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9_.-]{2,29}")
EMAIL_PATTERN = re.compile(r"[^@\s<>\"(),:;\\\[\]#]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z0-9-]{2,}")
AT_SIGN = re.compile("[\uff20\ufe6b]")  # as keyboards of wide letters have it
SLUG_CHARACTERS = 60
UNPRINTED = {"Cc", "Cs", "Co", "Cn"}
ODD_IN_LINKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\\<>\"]").search
NON_JOINER, JOINER = "\u200c", "\u200d"
# Signs that leave a place empty, and what stands for a picture that was not copied along.
BLANK = re.compile("[\u2800\ufffc\U00013441\U00013442\U0001d159]")
# Unicode's Default_Ignorable_Code_Point, and controls of annotations and hieroglyphs.
UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
SEEN = (  # what chooses how an emoji, an ideograph or a Mongolian letter looks, and the flags of Britain's countries
    "[#*0-9]\ufe0f\u20e3"
    "|[©®‼⁉™ℹ\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff〰〽㊗㊙\U0001f000-\U0001faff]"
    "[\ufe0e\ufe0f]"
    "|[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\ufe00-\ufe02\U000e0100-\U000e01ef]"
    "|[\u1820-\u18aa][\u180b-\u180f]"
    "|\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|"
    "\U000e0077\U000e006c\U000e0073)\U000e007f"
)
STRAY = re.compile(f"({SEEN}|[{NON_JOINER}{JOINER}])|[{UNSEEN}]")
VARIATION = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
VARIATIONS = re.compile(f"(?<![^-]){VARIATION}+-|-{VARIATION}+(?![^-])|{VARIATION}")
ALL_UNSEEN = re.compile(f"[{UNSEEN}]+")
RUN = re.compile(f"[{NON_JOINER}{JOINER}]+")
NEAR = 16  # characters on either side that are looked at: marks may stand between two letters that join
# Of the blocks that hold all emoji with joiners; a skin colour is no emoji of its own there.
EMOJI = "[\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"
BEFORE_JOINER = re.compile(EMOJI + "\ufe0f?[\U0001f3fb-\U0001f3ff]?$")
AFTER_JOINER = re.compile(EMOJI)
BENGALI_RA, BENGALI_VIRAMA = "\u09b0", "\u09cd"
# Signs that alone tell names apart: Disney+, C++, C#, Canal +; not those of Black+Decker and #1.
TELLING_SIGNS = re.compile(r"(?<=\w)[+#]+(?![\w+#])|(?<=\w )[+#]+$")
SPELLED_SIGNS = str.maketrans({"+": " plus ", "#": " sharp "})


def clean_text(text: str) -> str:
    """Return text without characters that are not seen and change nothing that is; '' if nothing else is in it."""
    if not text.isascii():
        text = _with_visible_joiners(STRAY.sub(r"\1", BLANK.sub(" ", text)))
    return text if any(unicodedata.category(c)[0] in "LNPS" for c in text) else ""


def as_typed(text: str) -> str:
    """Return text as it is kept and shown: clean, without control characters, its white space folded.

    ½, ³ and ™ stay what they are; only letters and their marks are put together (NFC).
    """
    return _cleaned(text, "NFC")


def normalise(text: str) -> str:
    """Return the same in NFKC, for keys and to compare: look-alikes are one.

    What names are compared by leaves out more (`slugify`).
    """
    return _cleaned(text, "NFKC")


def _cleaned(text: str, form: Literal["NFC", "NFKC"]) -> str:
    text = unicodedata.normalize(form, text)
    text = "".join(
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in UNPRINTED
    )
    while (shown := unicodedata.normalize(form, " ".join(clean_text(text).split()))) != text:
        text = shown  # letters between which a joiner stood may be one now
    return text


def without_joiners(text: str) -> str:
    """Return text without joiners, as ids are made of it."""
    return RUN.sub("", text)


def without_unseen(text: str) -> str:
    """Return text as it is compared: two names that differ only in what is not seen are one."""
    return ALL_UNSEEN.sub("", text)


def _with_visible_joiners(text: str) -> str:
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


def slugify(name: str) -> str:
    """Return the key part for a display name: case, accents, spacing and punctuation folded; '' if nothing is left.

    Letters and digits of every script stay, so brands of the whole world have a slug of their own. Signs that tell
    names apart are spelled out.
    """
    text = TELLING_SIGNS.sub(lambda signs: signs[0].translate(SPELLED_SIGNS), without_unseen(normalise(name)))
    text = unicodedata.normalize("NFKD", text.casefold())
    text = "".join(c for c in text if not "\u0300" <= c <= "\u036f")
    text = unicodedata.normalize("NFKC", text)
    words = "".join(
        c if c.isalnum() or unicodedata.category(c) in ("Mn", "Mc") else " " for c in text
    ).split()
    return "-".join(words)[:SLUG_CHARACTERS].rstrip("-")


def is_slug(text: str) -> bool:
    """Tell whether a text can be a slug, also one made when slugs held variation selectors."""
    slug = slugify(text)
    return bool(slug) and slug == VARIATIONS.sub("", text)


def is_username(text: str) -> bool:
    """Tell whether a text is the user name that somebody may have, as it is stored."""
    return bool(USERNAME_PATTERN.fullmatch(text))


def normalise_username(text: str) -> str:
    """Return the lower-case user name, or raise Invalid: 3 to 30 of a-z, 0-9, `_`, `.`, `-`."""
    username = unicodedata.normalize("NFKC", text).strip().casefold()
    if not is_username(username):
        raise Invalid(
            username=gettext_lazy(
                "A user name has 3 to 30 letters (a to z), digits, dots, dashes or underscores, "
                "and starts with a letter or digit."
            )
        )
    return username


def normalise_sign_in_name(text: str) -> str:
    """Return the one form of a user name or e-mail address as which it is looked up, or of a text that is neither."""
    try:
        return normalise_email(text) if "@" in text else normalise_username(text)
    except Invalid:
        return without_unseen(normalise(text)).casefold()


def normalise_email(text: str) -> str:
    """Return an e-mail address as it is compared, counted and looked up, in lower case, or raise Invalid."""
    return folded(email_as_typed(text))


def email_as_typed(text: str) -> str:
    """Return an e-mail address as it is kept, shown and written to, or raise Invalid.

    Its local part is as it was typed, its domain as the network knows it (xn--…).
    """
    typed = AT_SIGN.sub("@", unicodedata.normalize("NFC", text).strip())
    local, _at, domain = typed.rpartition("@")
    email = f"{local}@{_known_domain(unicodedata.normalize('NFKC', domain))}"
    if (
        not all(len(one) <= 254 and EMAIL_PATTERN.fullmatch(one) for one in (email, folded(email)))
        or typed != without_unseen(typed)
        or any(unicodedata.category(c) in {*UNPRINTED, "Cf"} for c in typed)
    ):
        raise Invalid(email=gettext_lazy("Enter an e-mail address such as name@example.org."))
    return email


def _known_domain(domain: str) -> str:
    """Return a domain by the rules of 2008, which tell straße from strasse; '' for none."""
    if domain.isascii():
        return domain.lower()
    from idna import IDNAError, encode

    try:
        return encode(domain, uts46=True, std3_rules=True).decode()
    except IDNAError:
        return ""


def shown_email(email: str) -> str:
    """Return an address as people write it: anna@bücher.example for anna@xn--bcher-kva.example."""
    local, at, domain = email.rpartition("@")
    if "xn--" not in domain:
        return email
    from idna import IDNAError, decode

    try:
        return f"{local}{at}{decode(domain)}"
    except IDNAError:
        return email


def is_web_link(link: str) -> bool:
    """Tell whether a link is http or https, to a host, without sign-in data or spaces."""
    try:
        parts = urlsplit(link)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(host)
        and "@" not in parts.netloc
        and not (ODD_IN_LINKS(link) or any(unicodedata.category(c) == "Cf" for c in link if c > "~"))
    )
