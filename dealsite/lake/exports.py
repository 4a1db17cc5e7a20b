"""The table's own export to S3, which costs it no reads: on Amazon, where a snapshot goes to a bucket."""

import gzip
import time
from collections.abc import Iterator
from typing import Any

import orjson
from django.conf import settings
from django.core.files.storage import storages

from dealsite.buckets import delete, files
from dealsite.data import table
from dealsite.data.table.configuration import configuration
from dealsite.data.table.convert import Item, from_attributes
from dealsite.data.table.errors import DataError
from dealsite.data.table.schema import recovery

FOLDER = "exports"  # in the bucket; what is in it goes once it is read
LOOK_SECONDS = 10.0  # an export takes minutes


def is_offered() -> bool:
    """Tell whether the table can be exported: to a bucket, on Amazon, with point-in-time recovery. 1 request."""
    return bool(settings.DEALSITE_LAKE and is_amazon() and recovery(table.name()))


def is_amazon() -> bool:
    return not configuration().endpoint_url


def items(id_: str) -> Iterator[Item]:
    """Yield all items as of now, from an export named by an id. Raises DataError. 3 requests, 1 each 10 s meanwhile."""
    bucket = storages["lake"]
    name, _, prefix = settings.DEALSITE_LAKE.removeprefix("s3://").partition("/")
    folder = f"{FOLDER}/{id_}"
    described = table.call("DescribeTable", TableName=table.name())["Table"]
    export = _described(
        "ExportTableToPointInTime",
        TableArn=described["TableArn"],
        S3Bucket=name,
        S3Prefix=f"{prefix}/{folder}".lstrip("/"),
        ExportFormat="DYNAMODB_JSON",
        ClientToken=id_,  # sent again after a lost answer, it begins no second one in the same folder
    )
    while export["ExportStatus"] == "IN_PROGRESS":
        time.sleep(LOOK_SECONDS)
        export = _described("DescribeExport", ExportArn=export["ExportArn"])
    if export["ExportStatus"] != "COMPLETED":
        raise DataError(f"Amazon could not export the table: {export.get('FailureMessage')}")
    for path in files(bucket, folder):
        if path.endswith(".gz"):
            with bucket.open(path) as packed, gzip.open(packed) as lines:
                for line in lines:
                    yield table.current(from_attributes(orjson.loads(line)["Item"]))
    delete(bucket, folder)


def _described(operation: str, **parameters: Any) -> dict[str, Any]:
    described: dict[str, Any] = table.call(operation, **parameters)["ExportDescription"]
    return described
