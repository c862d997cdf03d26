"""Print the oldest version of every dependency that pyproject.toml declares.

The lines are constraints for pip, `name==version`, one for each package that has a
lower bound in `dependencies` or in an extra.
"""

# SPDX-License-Identifier: BSD-3-Clause

import sys
import tomllib
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def lower_bound(specifiers):
    """Return the version after `>=`, or None if there is no lower bound."""
    bounds = (Version(item.version) for item in specifiers if item.operator == ">=")
    return max(bounds, default=None)


def floors(project):
    """Return the lower bound of each package, by name."""
    found = {}
    extras = project["optional-dependencies"].values()
    for line in chain(project["dependencies"], *extras):
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        bound = lower_bound(requirement.specifier)
        # One environment can hold only one version, so a second bound is not tested.
        if bound is not None and found.setdefault(name, bound) != bound:
            sys.exit(f"{name} has two lower bounds, {found[name]} and {bound}")
    return found


def main():
    """Check the version of Python, then print the constraints."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    python = lower_bound(SpecifierSet(project["requires-python"]))
    if sys.version_info[:2] != python.release[:2]:
        running = ".".join(map(str, sys.version_info[:2]))
        sys.exit(f"The oldest versions need Python {python}, this is Python {running}")
    for name, bound in sorted(floors(project).items()):
        print(f"{name}=={bound}")


if __name__ == "__main__":
    main()
