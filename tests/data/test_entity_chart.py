"""Each type of the entity chart has an example that is as declared."""

from __future__ import annotations

import pytest

from dealsite.data.entities.chart import ENTITIES
from tests.data.entities.examples import EXAMPLES


@pytest.mark.parametrize("name", sorted(ENTITIES))
def test_every_type_has_an_example_that_is_as_declared(name):
    entity, item = ENTITIES[name], EXAMPLES[name]
    assert list(entity.problems(item)) == []
    assert entity.key_of(item) == (item["PK"], item["SK"])
