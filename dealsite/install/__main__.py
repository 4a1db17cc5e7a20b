"""python3 -m dealsite.install STEP: installs what pip does not. Run by make, with nothing but the standard library."""

import sys

from dealsite.install import packages, system, wheel

STEPS = {
    "virtualenv": system.make_virtualenv,
    "packages": packages.install,
    "local-engine": packages.install_local_engine,
    "chromium": system.install_chromium,
    "wheel": wheel.build,
}

if __name__ == "__main__":
    try:
        STEPS[sys.argv[1]]()
    except system.InstallError as error:
        sys.exit(str(error))
