"""Pictures are read in a process of their own: bounded in memory and time, few at once, and the site does not grow."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from PIL import Image, ImageCms

from dealsite.data.table.errors import Invalid
from dealsite.pictures import encoding, uploads
from tests.pictures.test_store_picture import make_file, png_bomb

ROOT = Path(__file__).resolve().parent.parent.parent
TOO_MUCH = "This picture takes too long or too much memory to read. Make it smaller."
LARGEST = (5000, 4000)
# A process that reads a picture as the site does and says how many MB it grew by itself, and how large its child was.
MEASURED = """
import os, resource, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from dealsite.data.table.errors import Invalid
from dealsite.pictures import uploads
data = sys.stdin.buffer.read()
def megabytes(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field)) // 1024
before = megabytes("VmHWM")
uploads.encode(data)
print(megabytes("VmHWM") - before, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


@pytest.fixture(autouse=True)
def own_slots(settings: Any, tmp_path: Path) -> None:
    settings.VAR = tmp_path


def worst_picture() -> bytes:
    """Return what needs most memory: all pixels allowed, with transparency, a profile, and to be turned."""
    exif = Image.Exif()
    exif[0x0112] = 6
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return make_file("WEBP", LARGEST, "RGBA", (9, 9, 9, 9), exif=exif.tobytes(), icc_profile=profile)


def refusal(data: bytes) -> str:
    with pytest.raises(Invalid) as caught:
        uploads.encode(data)
    return str(caught.value.fields["picture"])


@pytest.mark.sample(quick=3)
def test_a_web_process_does_not_grow_with_a_picture_of_78_kb_and_20_megapixels():
    data = make_file("PNG", LARGEST, "RGBA", (0, 0, 0, 0))
    assert len(data) < 80_000
    end = subprocess.run(
        [sys.executable, "-c", MEASURED], input=data, capture_output=True, cwd=ROOT, check=True
    )
    own, child = map(int, end.stdout.split())
    assert own < 10
    assert child < 400


@pytest.mark.sample(quick=4)
@pytest.mark.parametrize("kind", ["WEBP", "PNG", "JPEG", "AVIF", "GIF"])
def test_the_limit_of_memory_leaves_room_for_the_largest_picture_of_each_format(kind):
    data = worst_picture() if kind == "WEBP" else make_file(kind, LARGEST)
    assert uploads.encode(data)[1][0] in (1200, 800)


def test_a_picture_that_needs_more_memory_is_refused(monkeypatch):
    monkeypatch.setattr(uploads, "MEMORY", 100_000_000)
    assert refusal(make_file("PNG", LARGEST)) == TOO_MUCH


def test_a_picture_that_takes_longer_is_refused_in_time(monkeypatch):
    """No file holds up the process for so long, so one does that waits for its alarm."""
    slow = settings.VAR / "slow.py"
    slow.write_text(
        f"import sys, time; sys.path.insert(0, {str(ROOT)!r})\n"
        "from dealsite.ask import confinement\n"
        "confinement.limit(memory=int(sys.argv[1]), seconds=int(sys.argv[2]), file_size=0)\n"
        "time.sleep(30)\n"
    )
    monkeypatch.setattr(encoding, "__file__", str(slow))
    monkeypatch.setattr(uploads, "SECONDS", 1)
    began = time.monotonic()
    assert refusal(make_file()) == TOO_MUCH
    assert time.monotonic() - began < 10


def test_one_that_has_shaken_off_its_alarm_is_killed(monkeypatch):
    slow = settings.VAR / "slow.py"
    slow.write_text("import time; time.sleep(30)")
    monkeypatch.setattr(encoding, "__file__", str(slow))
    monkeypatch.setattr(uploads, "SECONDS", -1)
    assert refusal(make_file()) == TOO_MUCH


@pytest.mark.parametrize("answer", ["", "{}", '{"size": [1, 2]', "\\x00\\xff"])
def test_an_answer_that_broke_off_is_none(monkeypatch, answer):
    other = settings.VAR / "other.py"
    other.write_text(f"import sys; sys.stdin.buffer.read(); sys.stdout.write({answer!r}); sys.exit(1)")
    monkeypatch.setattr(encoding, "__file__", str(other))
    assert refusal(make_file()) == TOO_MUCH


def test_the_process_takes_on_all_its_limits(monkeypatch):
    """Asked of the kernel, while it waits for its input."""
    child = subprocess.Popen(
        [sys.executable, "-I", "-B", encoding.__file__, "300000000", "7", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={},
    )
    with child:
        end = time.monotonic() + 20
        while resource.prlimit(child.pid, resource.RLIMIT_AS)[0] < 0 and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.05)
        found = {
            name: resource.prlimit(child.pid, getattr(resource, f"RLIMIT_{name}"))[0]
            for name in ("AS", "CPU", "FSIZE", "CORE")
        }
        child.communicate(make_file(size=(20, 20)))
    assert found == {"AS": 300_000_000, "CPU": 14, "FSIZE": 0, "CORE": 0}


def test_no_more_than_two_are_read_at_once_and_the_others_wait_for_their_turn(monkeypatch):
    data, most, lock = make_file(size=(800, 600)), [0, 0], threading.Lock()
    answer = uploads._answer

    def counted(*arguments):
        with lock:
            most[0] += 1
            most[1] = max(most)
        try:
            return answer(*arguments)
        finally:
            with lock:
                most[0] -= 1

    monkeypatch.setattr(uploads, "_answer", counted)
    sizes = []
    threads = [threading.Thread(target=lambda: sizes.append(uploads.encode(data)[1])) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sizes == [(800, 600)] * 6
    assert most[1] == 2


def test_who_has_waited_long_enough_is_told_to_try_again(monkeypatch):
    monkeypatch.setattr(uploads, "PATIENCE", 0.0)
    with uploads._slot(), uploads._slot():
        assert refusal(make_file()) == "Other pictures are being read just now. Try again in a moment."
    assert uploads.encode(make_file())


def test_a_process_keeps_its_slot_when_the_site_has_gone(monkeypatch):
    monkeypatch.setattr(uploads, "AT_ONCE", 1)
    monkeypatch.setattr(uploads, "PATIENCE", 0.0)
    with uploads._slot() as slot:
        orphan = subprocess.Popen(["sleep", "30"], pass_fds=(slot.fileno(),))
    with pytest.raises(Invalid), uploads._slot():
        pass
    orphan.send_signal(signal.SIGKILL)
    orphan.wait()
    with uploads._slot():
        pass


# What an attacker would upload

JPEG, SCRIPT = make_file("JPEG", (60, 40)), b"<script>alert(1)</script><?php system($_GET[0]); ?>"
POLYGLOTS = {
    "script behind a GIF": make_file("GIF", (50, 50)) + SCRIPT,
    "script behind a PNG": make_file("PNG", (50, 50)) + SCRIPT,
    "script behind a JPEG": JPEG + SCRIPT,
    "script behind a WebP": make_file("WEBP", (50, 50)) + SCRIPT,
    "script behind an AVIF": make_file("AVIF", (50, 50)) + SCRIPT,
    "zip behind a JPEG": JPEG + b"PK\x03\x04" + SCRIPT + b"PK\x05\x06" + bytes(18),
    "script in a comment of a JPEG": make_file("JPEG", (50, 50), comment=SCRIPT),
    "script in a comment of a GIF": make_file("GIF", (50, 50), comment=SCRIPT),
    "script in a profile": make_file("JPEG", (50, 50), icc_profile=SCRIPT),
    "script in EXIF": make_file("JPEG", (50, 50), exif=b"Exif\x00\x00" + SCRIPT),
    "script in XMP": make_file("JPEG", (50, 50), xmp=SCRIPT),
}
REFUSED = {
    "SVG": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "SVG behind a mark": b"\xef\xbb\xbf<svg onload=alert(1)>",
    "HTML": b"<!doctype html>" + SCRIPT,
    "GIF89a and script": b"GIF89a/*" + SCRIPT + b"*/=1;",
    "BMP": make_file("BMP", (50, 50)),
    "TIFF": make_file("TIFF", (50, 50)),
    "ICO": make_file("ICO", (32, 32)),
    "PDF": make_file("PDF", (50, 50)),
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\n(/etc/passwd) run\n",
    "an MVG of ImageMagick": b"push graphic-context\nimage over 0,0 0,0 'ephemeral:/etc/passwd'\npop graphic-context",
    "a playlist of ffmpeg": b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
    "an ELF": b"\x7fELF" + bytes(200),
    "a zip": b"PK\x03\x04" + bytes(200),
    "nothing but zeros": bytes(5000),
    "half a PNG": make_file("PNG", (50, 50))[:70],
    "a PNG of a wrong sum": make_file("PNG", (50, 50))[:-6] + b"xxxxxx",
    "a PNG of 0 pixels": png_bomb(0, 0),
    "a PNG of 2**31 by 1": png_bomb(2**31 - 1, 1),
    "a PNG of 60,000 squared": png_bomb(60_000, 60_000),
    "a PNG that lacks its pixels": png_bomb(4000, 4000),
}


@pytest.mark.parametrize("name", POLYGLOTS)
def test_nothing_of_a_second_file_is_stored(name):
    original, files, _ = encoding.encode(POLYGLOTS[name])
    for content in (*files.values(), original):
        assert content[:4] == b"RIFF"
        assert content[8:12] == b"WEBP"
        for part in (b"script", b"php", b"PK\x03\x04", b"alert"):
            assert part not in content


@pytest.mark.sample(quick=4)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_picture_of_a_web_page_is_refused(name):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever a decoder says
        encoding.encode(REFUSED[name])
    assert not isinstance(caught.value, MemoryError | AssertionError)


def test_whatever_a_decoder_says_is_a_sentence_to_who_uploaded_it():
    assert refusal(REFUSED["SVG"]).startswith("This file is not a picture")
    assert refusal(REFUSED["a PNG of 60,000 squared"]).startswith("The picture has more than")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "AVIF", "GIF"])
def test_a_file_with_some_bytes_changed_is_a_picture_or_refused(kind):
    draw = random.Random(kind)
    image = Image.effect_noise((64, 64), 60).convert("RGB")
    file = io.BytesIO()
    image.save(file, kind)
    for _ in range(25):
        data = bytearray(file.getvalue())
        for _byte in range(draw.randrange(1, 12)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        with contextlib.suppress(Invalid):
            assert uploads.encode(bytes(data))[1] <= (1200, 2400)


def test_the_slots_are_files_of_their_owner_alone():
    with uploads._slot() as slot:
        assert Path(slot.name).parent.stat().st_mode & 0o077 == 0
        with Path(slot.name).open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert [file.name for file in Path(slot.name).parent.iterdir()] == ["0"]
