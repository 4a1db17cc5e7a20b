"""The same work as an AWS Lambda function: set its handler to `dealsite.stream.handler.lambda_handler`.

Lambda keeps the place in the stream and repeats a batch that failed; the lake must be a bucket (DEALSITE_LAKE).
"""

from __future__ import annotations

import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
django.setup()

from dealsite.lake.projection import Lake  # noqa: E402 - only once the settings are there
from dealsite.stream.changes import changes_of  # noqa: E402


def lambda_handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Put a batch of the stream's records into the lake; an error makes Lambda send the batch again."""
    lake = Lake()
    lake.apply(changes_of(event["Records"]))
    lake.commit(None)
    return {"batchItemFailures": []}
