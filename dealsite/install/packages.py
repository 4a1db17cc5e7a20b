"""npm's packages as package-lock.json pins them, an engine that runs, and what is built: CSS, scripts, icons, fonts.

Where no engine of npm runs, it is DynamoDB Local, and Java to run it.
"""

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
from dealsite.install import system
from dealsite.install.system import InstallError, pip_install

MODULES = ROOT / "node_modules"
ASSETS = ROOT / "build" / "assets"
ICONS = ROOT / "static" / "icons.txt"
SHEETS = ("site", "desk")  # of the shop, and of the CMS
SCRIPTS = ("theme", *SHEETS, "charts")
FONTS = ("figtree-latin-wght-normal.woff2", "figtree-latin-ext-wght-normal.woff2")


class AssetError(Exception):
    """An asset cannot be built; the message says why."""


def copy_fonts() -> None:
    """Put the installed fonts where they are collected from."""
    (ASSETS / "fonts").mkdir(parents=True, exist_ok=True)
    for name in FONTS:
        shutil.copyfile(
            MODULES / "@fontsource-variable" / "figtree" / "files" / name, ASSETS / "fonts" / name
        )


def build_sprite() -> None:
    """Write icons.svg, used as <svg><use href="{% static 'icons.svg' %}#name"></use></svg>."""
    names = [line.strip() for line in ICONS.read_text("utf-8").splitlines()] if ICONS.exists() else []
    symbols = [symbol(name) for name in names if name and not name.startswith("#")]
    ASSETS.mkdir(parents=True, exist_ok=True)
    (ASSETS / "icons.svg").write_text(
        "<!-- Icons by Lucide (ISC licence) -->\n"
        '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n",
        "utf-8",
    )


def symbol(name: str) -> str:
    """One icon as a <symbol>; the class `icon` says how it is drawn."""
    try:
        picture = (MODULES / "lucide-static" / "icons" / f"{name}.svg").read_text("utf-8")
    except FileNotFoundError:
        raise AssetError(f"static/icons.txt names {name!r}, and Lucide has no such icon.") from None
    inner = picture.partition("<svg")[2].partition(">")[2].rpartition("</svg>")[0]
    shapes = " ".join(inner.split())
    return f'<symbol id="{name}" viewBox="0 0 24 24">{shapes}</symbol>'


def compilers(*, watch: bool = False) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The commands that compile CSS and scripts, once or whenever a file changes, by name, and their environment."""
    node_command, _ = system.find_or_install_node()
    how = ["--watch=always"] if watch else ["--minify"]  # plain --watch ends with its standard input
    tailwind = [*node_command, str(MODULES / "@tailwindcss" / "cli" / "dist" / "index.mjs"), *how]
    commands = {
        f"CSS compiler ({sheet})": [
            *tailwind,
            f"--input={ROOT / 'static' / 'css' / sheet}.css",
            f"--output={ASSETS / sheet}.css",
        ]
        for sheet in SHEETS
    }
    commands["script compiler"] = [
        *node_command,
        str(MODULES / "esbuild" / "bin" / "esbuild"),
        *(str(ROOT / "static" / "js" / f"{script}.js") for script in SCRIPTS),
        f"--outdir={ASSETS}",
        "--bundle",
        "--target=es2022",
        "--legal-comments=eof",
        "--define:eval=window.eval",  # htmx's, which it may not use here, would keep its names long
        "--log-level=warning",
        "--watch=forever" if watch else "--minify",
    ]
    return commands, system.node_environ(node_command)


def compile_assets() -> None:
    """Compile CSS and scripts; AssetError with a compiler's words where that fails."""
    commands, environ = compilers()
    for name, command in commands.items():
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
        if done.returncode:
            raise AssetError(f"The {name} failed:\n{(done.stdout + done.stderr).strip()[-3000:]}")


PACKAGE = "amplify-dynamodb-simulator@2.9.30"
SHA512 = "xTeeRLvzEfqyd5lh3bH4c0kHvSHHmmhD5ZDsHFKAQ5g2Zl6JqlFdutaQhCLHzxEp6Ry1o7TB6niIoXuQAnSewQ=="
FOLDER_IN_PACKAGE = "package/emulator/"


def install() -> None:
    """Run npm ci. It ends with 0 even if the engine could not be had: so that is tried by running it."""
    node_command, npm = system.find_or_install_node()
    ci, environ = [*npm, "ci", "--loglevel=error"], system.node_environ(node_command)
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
    node_command, npm = system.find_or_install_node()
    programs.BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=programs.BUILD) as scratch:
        pack = [*npm, "pack", PACKAGE, "--loglevel=error", "--pack-destination", scratch]
        done = subprocess.run(
            pack, cwd=scratch, env=system.node_environ(node_command), capture_output=True, text=True
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
