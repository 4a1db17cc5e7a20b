#!/bin/sh
# Changes the lines that differ from a commit in small ways, one at a time, and says which changes no test notices.
# Usage: tests/mutants.sh COMMIT TEST...
set -eu
cd "$(dirname "$0")/.."
since=$(git rev-parse --verify "$1^{commit}")
shift
root=$PWD tree=build/mutants # a clone: the sources are changed in place
rm -rf $tree
git clone --quiet . $tree
for name in .venv build node_modules; do ln -s "$root/$name" $tree/$name; done
cd $tree
modules=$(git diff --name-only --diff-filter=d "$since" -- 'dealsite/*.py' 'cms/*.py' 'shopping/*.py' | sed 's/.*/"&",/')
[ -n "$modules" ] || { echo "no line of the product differs from $since"; exit 0; }
cat >mutants.toml <<END
[cosmic-ray]
module-path = [$modules]
timeout = 300.0
excluded-modules = []
test-command = ".venv/bin/python -m pytest -x -q -p no:randomly -p no:cacheprovider --run=quick $*"
distributor.name = "local"

[cosmic-ray.filters.git-filter]
branch = "$since"
END
PATH="$root/.venv/bin:$PATH"
cosmic-ray init mutants.toml mutants.sqlite
cr-filter-git --config mutants.toml mutants.sqlite
cosmic-ray --verbosity WARNING baseline mutants.toml
cosmic-ray exec mutants.toml mutants.sqlite
cr-report --surviving-only --show-diff mutants.sqlite
