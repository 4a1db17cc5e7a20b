"""Builds what pages load and what is not written by hand: compiled CSS, the icon sprite, fonts, scripts."""

import shutil
import subprocess

from dealsite.home import ROOT
from dealsite.install import node

MODULES = ROOT / "node_modules"
ASSETS = ROOT / "build" / "assets"
ICONS = ROOT / "static" / "icons.txt"
SHEETS = ("site", "desk")  # of the shop, and of the CMS
COPIED = {
    "@github/combobox-nav/dist/index.js": "js/combobox-nav.js",
    "sortablejs/Sortable.min.js": "js/sortable.min.js",
    "echarts/dist/echarts.common.min.js": "js/echarts.min.js",
    **{
        f"@fontsource-variable/figtree/files/{name}": f"fonts/{name}"
        for name in ("figtree-latin-wght-normal.woff2", "figtree-latin-ext-wght-normal.woff2")
    },
}


class AssetError(Exception):
    """An asset cannot be built; the message says why."""


def copy_installed() -> None:
    """Put the installed scripts and fonts that pages load where they are collected from."""
    for source, target in COPIED.items():
        (ASSETS / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(MODULES / source, ASSETS / target)


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


def css_command(sheet: str, *, watch: bool = False) -> tuple[list[str], dict[str, str]]:
    """The command that compiles a sheet, once or whenever a template changes, and its environment."""
    node_command, _ = node.find_or_install()
    tailwind = [*node_command, str(MODULES / "@tailwindcss" / "cli" / "dist" / "index.mjs")]
    files = [
        "--input",
        str(ROOT / "static" / "css" / f"{sheet}.css"),
        "--output",
        str(ASSETS / f"{sheet}.css"),
    ]
    how = ["--watch=always"] if watch else ["--minify"]  # plain --watch ends with its standard input
    return [*tailwind, *files, *how], node.environ(node_command)


def build_css() -> None:
    """Compile the CSS; AssetError with the compiler's words where that fails."""
    for sheet in SHEETS:
        command, environ = css_command(sheet)
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
        if done.returncode:
            raise AssetError(f"The CSS does not compile:\n{(done.stdout + done.stderr).strip()[-3000:]}")
