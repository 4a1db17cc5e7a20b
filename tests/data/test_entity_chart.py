"""Each type of the entity chart has an example that is as declared."""

from __future__ import annotations

from dealsite.data.entities.chart import ENTITIES
from tests.data.entities.examples import EXAMPLES


def test_every_type_has_an_example_that_is_as_declared():
    for name, entity in ENTITIES.items():
        item = EXAMPLES[name]
        assert list(entity.problems(item)) == [], name
        assert entity.key_of(item) == (item["PK"], item["SK"]), name
