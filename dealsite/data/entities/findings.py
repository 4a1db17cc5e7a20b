"""What checks of the table leave behind: a note of each run, and the items that they found wrong."""

from dealsite.data import keys
from dealsite.data.entities.attributes import Attribute, Expiry, Flag, ListOf, Map, MapOf, Shape, Time, Whole
from dealsite.data.entities.entity import At, Entity
from dealsite.data.entities.texts import ForeignText, Hash, Text, Ulid, Username

MOST_CHARACTERS = 1000  # of a sentence
ANYTHING = MapOf(Attribute(), Attribute(), secret=True, personal=True, optional=True)

CHECK_RUN = Entity(
    type="CheckRun",
    about="when the table was checked, and what came of it",
    key=At(keys.check_run, run="id"),
    shape={
        "id": Ulid(),
        "scope": Text(one_of=("whole", "sample")),
        "by": Text(one_of=("worker", "command")),
        "items": Whole(about="those that were looked at twice count twice"),
        "seconds": Whole(unit="s"),
        "problems": Whole(),
        "repaired": Whole(),
        "new": Whole(about="entries of the quarantine"),
        "unreadable": Whole(optional=True, about="second factors whose secret opens under no key"),
        "position": MapOf(Text(), Attribute(), optional=True, about="where a sample left off"),
        "ttl": Expiry(),
    },
    is_passing=True,
)

QUARANTINE_CARD: Shape = {
    "key": ListOf(Attribute(), least=2, most=2),
    "kind": ForeignText(least=0, most=100, about="its type"),
    "what": ForeignText(most=MOST_CHARACTERS, about="the sentence"),
    "seen_at": Time(),
    "is_derivable": Flag(),
    "decision": Text(least=0, one_of=("", "deleted", "corrected", "left")),
    "by": Username(also=("",), personal=True, about="may have been deleted"),
}
QUARANTINED = Entity(
    type="Quarantined",
    about="an item that a check found wrong, and what was decided",
    stays="passing",
    key=At(keys.quarantined, entry="id"),
    rows=[At(keys.quarantine_rows, entry="id", state="state", group="group", at="at")],
    shape={
        "id": Hash(about="of key and sentence"),
        "state": Text(one_of=("open", "decided", "gone")),
        "group": Hash(about="of type and sentence without its values"),
        "first_at": Time(),
        "at": Time(optional=True, about="when it was decided, or found no more"),
        "times": Whole(least=1, about="checks that found it"),
        "version": Whole(least=1),
        "fingerprint": Text(
            least=0, most=64, about="tells this state of the item from others; '' without one"
        ),
        "copy": ANYTHING,
        "changed": ANYTHING,
        "ttl": Expiry(optional=True),
        "card": Map(QUARANTINE_CARD),
    },
)
