#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""links.py: every link and every path of the tree that a page names exists.

Checks the pages that git tracks (without git, those of the tree's folders), except docs/results, which describes
earlier trees. A link must lead
to a file, and its anchor to a heading. A path in backquotes is checked when it begins with a folder of
the tree; patterns, placeholders and files of a build are not.
"""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("calib", "cli", "cmake", "docs", "examples", "fleet", "kernels", "predictor", "preload", "tests")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:%s)/[\w./-]+)`" % "|".join(ROOMS))
PLACEHOLDER = re.compile(r"/(?!README)[A-Z]{3,}(?=[./]|$)")


def tracked():
    """Names of the pages, from the top."""
    try:
        listed = subprocess.run(["git", "ls-files", "*.md"], cwd=TOP, capture_output=True, text=True, check=True)
        return listed.stdout.split()
    except (OSError, subprocess.CalledProcessError):
        found = [*TOP.glob("*.md"), *(page for room in ROOMS for page in (TOP / room).rglob("*.md"))]
        return [str(page.relative_to(TOP)) for page in found]


def pages():
    return [TOP / name for name in tracked() if not name.startswith("docs/results/")]


def anchors(page):
    """What GitHub makes of the page's headings."""
    found = set()
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            title = line.lstrip("#").strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def exists(path):
    """As it stands, or without its ending: several files of one name are named together."""
    return path.exists() or any(path.parent.glob(path.name + ".*"))


def faults(page):
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for target in LINK.findall(line):
            name, _, anchor = target.partition("#")
            goal = page.parent / name if name else page
            if re.match(r"\w+:", target):
                continue
            if not goal.exists():
                yield number, f"{target}: no such file"
            elif anchor and goal.suffix == ".md" and anchor not in anchors(goal):
                yield number, f"{target}: no such heading"
        for name in PATH.findall(line):
            if not PLACEHOLDER.search(name) and not exists(TOP / name.rstrip(".")):
                yield number, f"{name}: no such file"


def main():
    failed = 0
    for page in pages():
        for number, what in faults(page):
            print(f"{page.relative_to(TOP)}:{number}: {what}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
