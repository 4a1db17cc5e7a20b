"""Buckets of moto, which stands in for S3."""

from __future__ import annotations

from typing import Any

import boto3

KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
REGION = "us-east-1"


def empty_bucket(endpoint_url: str, name: str, **options: Any) -> dict[str, Any]:
    """Make a bucket, or empty it; return a storage in it, as the settings have storages."""
    secret = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    client = boto3.client("s3", REGION, endpoint_url=endpoint_url, **secret)
    client.create_bucket(Bucket=name)
    for found in client.list_objects_v2(Bucket=name).get("Contents", []):
        client.delete_object(Bucket=name, Key=found["Key"])
    place = {"bucket_name": name, "region_name": REGION, "endpoint_url": endpoint_url}
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": place | options}
