"""The deployment's template: what it may not do, and that it says what the code says."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint
from django.conf import settings
from django.core.management import get_commands, load_command_class

from dealsite.variables import VARIABLES
from dealsite.web import log_lines
from tests.deploy.stack import (
    FOLDER,
    PATH,
    as_list,
    containers,
    environment,
    properties,
    resources,
    statements,
    template,
)

KEPT = ("DynamoDB::Table", "S3::Bucket", "SecretsManager::Secret", "Logs::LogGroup")
TEXT = PATH.read_text("utf-8")
SECRET_KEY = (
    "Zt0pV8kQe3LrW6yBn1MuXa9HsJ5cFd2GiKoE7vTxNwRqYbPlmUzDgC4fShO"  # of no site, as long as a made one
)


def test_cfn_lint_finds_nothing():
    assert [str(match) for match in lint(TEXT, config=ManualArgs(regions=["eu-central-1"]))] == []


# What nobody may do


def policy_statements() -> Iterator[tuple[str, Any]]:
    for role in resources("IAM::Role"):
        yield from ((role, one) for one in statements(role))
    for name, one in resources("S3::BucketPolicy").items():
        yield from ((name, statement) for statement in one["Properties"]["PolicyDocument"]["Statement"])


def test_nothing_is_allowed_by_a_star():
    stars = [
        (name, as_list(one["Action"]))
        for name, one in policy_statements()
        if one["Effect"] == "Allow"
        and (one.get("Resource") == "*" or "*" in json.dumps([one["Action"], one.get("Principal")]))
    ]
    assert stars == [("ExecutionRole", ["ecr:GetAuthorizationToken"])]  # which knows no other resource


def test_roles_have_no_policies_but_their_own():
    for role in resources("IAM::Role").values():
        assert "ManagedPolicyArns" not in role["Properties"]
        for trust in role["Properties"]["AssumeRolePolicyDocument"]["Statement"]:
            assert trust["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}


@pytest.mark.parametrize("name", sorted(resources("S3::Bucket")))
def test_a_bucket_is_encrypted_closed_to_the_public_and_asked_over_tls(name):
    bucket = properties(name)
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]
    assert rule.keys() >= {"AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration"}
    first = properties(f"{name}Policy")["PolicyDocument"]["Statement"][0]
    assert (first["Effect"], first["Action"]) == ("Deny", "s3:*")
    assert first["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_table_is_encrypted_kept_and_recoverable():
    table = properties("Table")
    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["DeletionProtectionEnabled"] is True


def test_what_holds_data_outlives_its_stack(subtests):
    for name in [name for kind in KEPT for name in resources(kind)]:
        with subtests.test(name=name):
            one = template()["Resources"][name]
            assert (one["DeletionPolicy"], one["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_nothing_has_a_public_address_but_the_way_out():
    assert properties("LoadBalancer")["Scheme"] == "internal"
    for service in resources("ECS::Service").values():
        network = service["Properties"]["NetworkConfiguration"]["AwsvpcConfiguration"]
        assert network["AssignPublicIp"] == "DISABLED"
        assert {subnet["Ref"] for subnet in network["Subnets"]} == {"PrivateA", "PrivateB"}
    for subnet in resources("EC2::Subnet").values():
        assert not subnet["Properties"].get("MapPublicIpOnLaunch")


def test_nobody_comes_in_but_from_the_cdn_and_the_load_balancer():
    come_in = {
        name: one["Properties"]["SecurityGroupIngress"]
        for name, one in resources("EC2::SecurityGroup").items()
        if "SecurityGroupIngress" in one["Properties"]
    }
    assert come_in.keys() == {"CdnGroup", "WebGroup"}
    assert [one["SourcePrefixListId"] for one in come_in["CdnGroup"]] == [{"Ref": "CdnPrefixList"}]
    assert [one["SourceSecurityGroupId"] for one in come_in["WebGroup"]] == [{"Ref": "CdnGroup"}]


def test_every_way_for_visitors_is_tls():
    assert properties("Listener")["Protocol"] == "HTTPS"
    assert properties("Listener")["SslPolicy"] == "ELBSecurityPolicy-TLS13-1-2-2021-06"
    cdn = properties("Cdn")["DistributionConfig"]
    assert cdn["ViewerCertificate"]["MinimumProtocolVersion"] == "TLSv1.2_2021"
    for behaviour in (cdn["DefaultCacheBehavior"], *cdn["CacheBehaviors"]):
        assert behaviour["ViewerProtocolPolicy"] == "redirect-to-https"
    assert properties("CdnOrigin")["VpcOriginEndpointConfig"]["OriginProtocolPolicy"] == "https-only"


def test_a_container_can_write_to_its_data_folder_alone(subtests):
    for name in sorted(containers()):
        with subtests.test(name=name):
            container = containers()[name]
            assert container["ReadonlyRootFilesystem"] is True
            assert container["LinuxParameters"]["Capabilities"] == {"Drop": ["ALL"]}
            assert [one["ContainerPath"] for one in container["MountPoints"]] == ["/data"]
            told = environment(container)
            assert (told["DEALSITE_VAR"], told["TMPDIR"]) == ("/data", "/data")


def test_the_image_gives_the_volume_to_its_user():
    """Elsewhere than at a VOLUME of the image, a task's volume belongs to root."""
    image = FOLDER / "Dockerfile"
    if not image.exists():
        pytest.skip("There is no image yet.")
    lines = image.read_text("utf-8").splitlines()
    assert "VOLUME /data" in lines
    assert 'ENTRYPOINT ["dealsite"]' in lines


# What the code says


@pytest.mark.parametrize("name", sorted(containers()))
def test_a_container_is_told_settings_that_there_are_and_no_secret(name):
    container = containers()[name]
    given = {one["Name"]: one["Value"] for one in container["Environment"]}
    for setting, value in given.items():
        if setting in ("FIRST_ADMIN", "TMPDIR"):
            continue
        assert not VARIABLES[setting].is_secret
        if isinstance(value, str):
            VARIABLES[setting].kind(value)
    secrets = {one["Name"] for one in container["Secrets"]} - {"FIRST_PASSWORD"}
    assert all(VARIABLES[one].is_secret for one in secrets)
    assert given["DEALSITE_ENGINE"] == "amazon"


def test_every_secret_of_the_chart_has_its_place():
    chart = {name for name, one in VARIABLES.items() if one.is_secret}
    told = {one["Name"] for container in containers().values() for one in container["Secrets"]}
    chart.discard("DEALSITE_OPENSEARCH_PASSWORD")  # it is experimental, and the stack runs none
    assert told - {"FIRST_PASSWORD"} == chart
    described = {one["Properties"]["Description"] for one in resources("SecretsManager::Secret").values()}
    assert chart <= described


def test_only_what_sends_mail_knows_the_mail_server_s_password():
    knows = {
        name
        for name, one in containers().items()
        if any(secret["Name"] == "DEALSITE_SMTP_PASSWORD" for secret in one["Secrets"])
    }
    assert knows == {"worker", "manage"}


def test_containers_run_commands_that_there_are():
    for name, container in containers().items():
        if name == "manage":
            continue
        command, *options = container["Command"]
        parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)
        parser.parse_args([str(option) for option in options])
        assert container["EntryPoint"] == ["dealsite"]


def test_the_first_command_is_there():
    (line,) = containers()["manage"]["Command"]
    command = re.search(r"dealsite (\w+)", line)
    assert command
    if command[1] not in get_commands():
        pytest.skip(f"There is no {command[1]} yet.")
    parser = load_command_class(get_commands()[command[1]], command[1]).create_parser("manage.py", command[1])
    parser.parse_args(["--admin", "ada", "--email", "ada@deals.example", "--yes"])


def test_the_load_balancer_asks_what_stays_well_while_the_table_is_away():
    assert properties("Targets")["HealthCheckPath"] == "/healthz"
    *_, health = containers()["web"]["HealthCheck"]["Command"]
    assert health.startswith("if test -e /data/.was-ready; then page=healthz; else page=readyz; fi;")


def test_nobody_asks_where_the_next_one_has_hung_up():
    patience = next(
        int(one["Value"])
        for one in containers()["web"]["Environment"]
        if one["Name"] == "DEALSITE_CLIENT_SECONDS"
    )
    attributes = {one["Key"]: one["Value"] for one in properties("LoadBalancer")["LoadBalancerAttributes"]}
    balancer = int(attributes["idle_timeout.timeout_seconds"])
    (web, _media) = properties("Cdn")["DistributionConfig"]["Origins"]
    assert web["VpcOriginConfig"]["OriginKeepaliveTimeout"] < balancer < patience


# Seeing it


def test_every_alarm_says_what_it_means_and_tells_somebody():
    for name, alarm in resources("CloudWatch::Alarm").items():
        assert alarm["Properties"]["AlarmActions"] == [{"Ref": "Alarms"}]
        assert alarm["Properties"]["AlarmDescription"].endswith("."), name


def test_the_alarm_of_errors_reads_lines_as_the_log_writes_them():
    configured = log_lines.formatter("json")
    formatter = configured.pop("()")(**configured)
    for level, name in ((logging.ERROR, "error"), (logging.CRITICAL, "critical"), (logging.WARNING, "")):
        line = json.loads(formatter.format(logging.LogRecord("dealsite", level, "", 1, "said", None, None)))
        assert (f'$.level = "{line["level"]}"' in properties("Errors")["FilterPattern"]) == bool(name)


def test_the_dashboard_is_json():
    text, _names = properties("Dashboard")["DashboardBody"]["Fn::Sub"]
    assert len(json.loads(text)["widgets"]) == 6


@pytest.mark.thorough
def test_a_site_of_the_template_may_be_shown_to_the_public(tmp_path):
    """What `check --deploy` refuses or warns of, nobody has to find out on Amazon."""
    web = containers()["web"]
    told = environment(
        web,
        Host="deals.example",
        MailFrom="Deals <noreply@deals.example>",
        SmtpHost="smtp.example",
        AlarmMail="ops@deals.example",
        SecurityContact="mailto:security@deals.example",
    )
    secrets = {one["Name"]: " " for one in web["Secrets"]}
    secrets |= {"DEALSITE_SECRET_KEY": SECRET_KEY, "STRIPE_SECRET_KEY": "sk_live_1"}
    var = tmp_path / "var"
    var.mkdir(mode=0o700)
    said = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], **told, **secrets, "DEALSITE_VAR": str(var)},
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr
