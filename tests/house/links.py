#!/usr/bin/env python3
"""links.py: every link, file and function of the tree that a page names exists, and every file that a comment names.

Checks the pages that git tracks (without git, those of the tree's folders), except docs/results, which describes
earlier trees. A link must lead
to a file, and its anchor to a heading. A path in backquotes is checked when it begins with a folder of
the tree; patterns, placeholders and files of a build are not. The name of a source in backquotes is that of a file of the
tree, or the end of its path; `gw_name` and `name()` stand in the code. So do the sources that comments name.
"""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
CODE = (".c", ".h", ".def", ".cu", ".cuh", ".py", ".sh")
ROOMS = ("calib", "cli", "cmake", "docs", "examples", "fleet", "kernels", "predictor", "preload", "tests")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:%s)/[\w./-]+)`" % "|".join(ROOMS))
SOURCE = re.compile(r"(?<![\w/.<$*{-])((?:[a-z_0-9]+/)*[a-z_0-9]+\.(?:c|h|def|py|sh))\b(?!\.)")
QUOTED = re.compile(r"`([^`]+)`")
FUNCTION = re.compile(r"\b(gw_\w*[a-z0-9])\b|^([a-z_]\w*)\(\)$")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*", re.S | re.M)
# Of others, or examples.
ELSEWHERE = {"cuda_occupancy.h", "elfutils/libdwfl.h", "emit_nvtx", "folder/file.py", "generated_cuda_meta.h", "gw_commit.h"}
PLACEHOLDER = re.compile(r"/(?!README)[A-Z]{3,}(?=[./]|$)")


def tracked():
    """Names of the files, from the top."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True, check=True)
        return [name for name in listed.stdout.split("\0") if (TOP / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        found = [*TOP.glob("*.md"), *(file for room in ROOMS for file in (TOP / room).rglob("*") if file.is_file())]
        return [str(file.relative_to(TOP)) for file in found]


class Tree:
    """What the names of pages and comments may mean."""

    def __init__(self):
        names = tracked()
        self.pages = [TOP / name for name in names if name.endswith(".md") and not name.startswith("docs/results/")]
        self.sources = {name: (TOP / name).read_text(errors="replace") for name in names
                        if name.endswith((*CODE, ".cmake", "CMakeLists.txt"))}
        self.ends = {name[at:] for name in names for at in (0, *(m.end() for m in re.finditer("/", name)))} | ELSEWHERE
        self.words = ELSEWHERE | {word for name, text in self.sources.items()
                      for word in re.findall(r"\w+", COMMENT.sub("", text) if name.endswith((".c", ".h")) else text)}

    def unknown(self, quoted):
        """What a page names in backquotes and the tree lacks."""
        if SOURCE.fullmatch(quoted) and quoted not in self.ends:
            return f"{quoted}: no such file"
        for word in (a or b for a, b in FUNCTION.findall(quoted)):
            if word not in self.words:
                return f"{word}: no such name in the code"
        return None

    def comments(self):
        """(name, line, what) of each source that a comment names and the tree lacks."""
        for name, text in self.sources.items():
            for comment in COMMENT.finditer(text):
                for found in SOURCE.finditer(comment.group()):
                    if found.group(1) not in self.ends:
                        line = text.count("\n", 0, comment.start() + found.start()) + 1
                        yield name, line, f"{found.group(1)}: no such file"


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


def faults(page, tree):
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
        for what in filter(None, map(tree.unknown, QUOTED.findall(line))):
            yield number, what


def main():
    tree = Tree()
    found = [(page.relative_to(TOP), number, what) for page in tree.pages for number, what in faults(page, tree)]
    found += tree.comments()
    for where, number, what in found:
        print(f"{where}:{number}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
