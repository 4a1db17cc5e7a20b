#!/bin/sh
# install.sh DIST TARGET [otel] [opensearch]: installs the wheel of `make dist` beside earlier ones, in TARGET/VERSION, and makes it TARGET/current.
# With otel it also installs what sends traces, with opensearch what talks to OpenSearch. It needs python3 with venv, and the package index; no Node, no compiler. The image is made by the same steps.
set -eu
mkdir -p "$2"
dist=$1 target=$(cd "$2" && pwd)
shift 2
wheel=$(ls "$dist"/dealsite-*-linux_"$(uname -m)".whl 2>/dev/null || ls "$dist"/dealsite-*-none-any.whl)
version=$(basename "$wheel" | cut -d- -f2)-$(sha256sum "$wheel" | cut -c1-8)
venv=$target/$version
if [ ! -e "$venv/.complete" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check --require-hashes -r "$dist/requirements.txt"
    "$venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check --no-deps "$wheel"
    # By the link, so that a site which is told to reload starts the release that the link names then.
    sed -i "1s|^#!.*|#!$target/current/bin/python|" "$venv/bin/dealsite"
    touch "$venv/.complete"
fi
for extra in "$@"; do
    "$venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check --require-hashes -r "$dist/requirements-$extra.txt"
done
ln -sfn "$version" "$target/.next"
mv -T "$target/.next" "$target/current" # at once: whoever starts meanwhile finds the one or the other
echo "$target/current is Dealsite $version."
