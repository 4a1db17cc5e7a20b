"""Every item of a site with content of every kind is as the entity chart says."""

from collections.abc import Iterator

import pytest

from dealsite.data import table
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.entity import INDEX_KEYS
from tests.seeded import Content, seeded_site


@pytest.fixture(scope="module")
def content(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    with seeded_site(native_engine, tmp_path_factory.mktemp("declared")) as made:
        yield made


def test_every_item_of_a_site_is_as_the_chart_says(content, engine, settings):
    content.use(settings)
    wrong = set()
    for item in table.scan_all(consistent=True):
        entity = ENTITIES.get(item["type"])
        if entity is None:
            wrong.add(f"{item['type']} is not in the chart")
            continue
        said = list(entity.problems(item))
        if entity.key_of(item) != (item["PK"], item["SK"]):
            said.append(f"belongs under {entity.key_of(item)}")
        rows = {name: item[name] for name in INDEX_KEYS if name in item}
        if rows != entity.rows_of(item):
            said.append(f"has {rows}, should have {entity.rows_of(item)}")
        wrong |= {f"{entity.type} {item['PK']} {item['SK']}: {one}" for one in said}
    assert not wrong, "\n".join(sorted(wrong))
