"""Buckets of moto, which stands in for S3."""

from __future__ import annotations

from typing import Any

import boto3

KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
REGION = "us-east-1"


def bucket(endpoint_url: str, name: str) -> Any:
    """A bucket as boto3 has it."""
    secret = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    return boto3.resource("s3", region_name=REGION, endpoint_url=endpoint_url, **secret).Bucket(name)


def empty_bucket(endpoint_url: str, name: str, **options: Any) -> dict[str, Any]:
    """Make a bucket, or empty it; return a storage in it, as the settings have storages."""
    made = bucket(endpoint_url, name)
    made.create()
    made.objects.delete()
    place = {"bucket_name": name, "region_name": REGION, "endpoint_url": endpoint_url}
    return {"BACKEND": "dealsite.buckets.bucket", "OPTIONS": place | options}
