"""npm's packages as package-lock.json pins them, and an engine that runs: else DynamoDB Local, and Java to run it."""

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from dealsite.engine import programs
from dealsite.home import ROOT
from dealsite.install import node
from dealsite.install.system import InstallError, pip_install

PACKAGE = "amplify-dynamodb-simulator@2.9.30"
SHA512 = "xTeeRLvzEfqyd5lh3bH4c0kHvSHHmmhD5ZDsHFKAQ5g2Zl6JqlFdutaQhCLHzxEp6Ry1o7TB6niIoXuQAnSewQ=="
FOLDER_IN_PACKAGE = "package/emulator/"


def install() -> None:
    """Run npm ci. It ends with 0 even if the engine could not be had: so that is tried by running it."""
    node_command, npm = node.find_or_install()
    ci, environ = [*npm, "ci", "--loglevel=error"], node.environ(node_command)
    done = subprocess.run(ci, cwd=ROOT, env=environ, capture_output=True, text=True)
    if done.returncode:
        raise InstallError(f"npm ci failed:\n{(done.stdout + done.stderr).strip()[-3000:]}")
    if not programs.runs([programs.NATIVE, "--version"]):
        print("The native engine does not run on this machine: falling back to Amazon's DynamoDB Local.")
        sys.stdout.flush()
        install_local_engine()


def install_local_engine() -> None:
    """Install DynamoDB Local into build/dynamodb-local and, where no Java works, a runtime into build/java."""
    if programs.java() is None:
        _install_java()
    if not (programs.LOCAL / "DynamoDBLocal.jar").exists():
        _install_engine()


def _install_java() -> None:
    print("There is no Java here: installing a runtime into build/java ...", flush=True)
    if not pip_install("requirements-java.txt", programs.BUILD / "java") or programs.java() is None:
        raise InstallError(
            "DynamoDB Local needs Java. Install a runtime (Debian: apt-get install default-jre-headless)."
        )


def _install_engine() -> None:
    print("Installing DynamoDB Local into build/dynamodb-local ...", flush=True)
    node_command, npm = node.find_or_install()
    programs.BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=programs.BUILD) as scratch:
        pack = [*npm, "pack", PACKAGE, "--loglevel=error", "--pack-destination", scratch]
        done = subprocess.run(
            pack, cwd=scratch, env=node.environ(node_command), capture_output=True, text=True
        )
        archives = list(Path(scratch).glob("*.tgz"))
        if done.returncode or len(archives) != 1:
            raise InstallError(f"npm pack {PACKAGE} failed:\n{done.stderr.strip()[-2000:]}")
        unpacked = Path(scratch) / "unpacked"
        unpack(archives[0], unpacked)
        shutil.rmtree(programs.LOCAL, ignore_errors=True)
        unpacked.rename(programs.LOCAL)


def unpack(archive: Path, target: Path, *, sha512: str = SHA512) -> None:
    """Unpack the engine's folder of a package whose content is the pinned one; InstallError otherwise."""
    with archive.open("rb") as file:
        found = base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode("ascii")
    if found != sha512:
        raise InstallError(f"{PACKAGE} is not what it was when it was pinned: its SHA-512 is {found}.")
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            name = PurePosixPath(member.name.removeprefix(FOLDER_IN_PACKAGE))
            content = tar.extractfile(member) if member.isfile() else None
            if content is None or not member.name.startswith(FOLDER_IN_PACKAGE) or ".." in name.parts:
                continue
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                shutil.copyfileobj(content, file)
