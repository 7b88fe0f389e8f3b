# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""python -m qgen.report: prints versions, the library, and the devices, or the reason why there are none."""
import platform

import numpy as np

import qgen
from qgen._library import path


def main() -> None:
    print(f"qgen {qgen.__version__}, library {path()}")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}")
    try:
        names = qgen.devices()
    except qgen.Error as error:
        print(f"no device: {error}")
        return
    for i, name in enumerate(names):
        print(f"device {i}: {name}")


if __name__ == "__main__":
    main()
