# SPDX-License-Identifier: Apache-2.0
"""Runs the command `gpuwatch`."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import warnings
from typing import IO, Any, Iterator, Sequence


class Error(Exception):
    """A log cannot be read, or an argument makes no sense: the command's own message."""


class LogWarning(UserWarning):
    """Something of a log is missing or damaged: the command's own message."""


def _installed() -> str | None:
    """The command of the package that this module is of, wherever pip has put it."""
    try:
        from importlib import metadata
    except ImportError:  # Python 3.7
        return None
    try:
        files = metadata.files("gpuwatch") or []
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == "gpuwatch" and file.parent.name == "bin":
            path = os.path.realpath(str(file.locate()))
            if os.access(path, os.X_OK):
                return path
    return None


def command() -> str:
    """Path of the command: the one that was installed with this package, else the one in PATH."""
    path = _installed() or shutil.which("gpuwatch")
    if not path:
        raise Error("the command gpuwatch is not in PATH; install the wheel, or add its folder to PATH")
    return path


def _complain(stderr: IO[bytes], failed: bool) -> None:
    """Raise the last message where the command @failed; warn of the others."""
    stderr.seek(0)
    lines = stderr.read().decode("utf-8", "replace").splitlines()
    texts = [line[len("gpuwatch: "):] if line.startswith("gpuwatch: ") else line for line in lines if line]
    if failed:
        raise Error(texts[-1] if texts else "the command gpuwatch failed without a message")
    for text in texts:
        warnings.warn(text[len("warning: "):] if text.startswith("warning: ") else text, LogWarning, stacklevel=2)


class Stream:
    """What the command writes, while it runs; it is ended when nobody reads on."""

    def __init__(self, arguments: Sequence[str]):
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen([command(), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=self._stderr)
        assert self._process.stdout
        self.out: IO[bytes] = self._process.stdout

    def close(self, whole: bool) -> None:
        """Wait for the end. @whole: everything was read, so that the exit status means something."""
        self.out.close()
        if not whole:
            self._process.kill()
        status = self._process.wait()
        with self._stderr:
            if whole:
                _complain(self._stderr, status not in (0, 1))


def output(arguments: Sequence[str]) -> bytes:
    stream, data = Stream(arguments), None
    try:
        data = stream.out.read()
    finally:
        stream.close(data is not None)
    return data


def lines(arguments: Sequence[str]) -> Iterator[bytes]:
    """Pieces of what the command writes, as it does."""
    stream, whole = Stream(arguments), False
    try:
        yield from stream.out
        whole = True
    finally:
        stream.close(whole)


def document(arguments: Sequence[str]) -> dict[str, Any]:
    found = json.loads(output(arguments))
    assert isinstance(found, dict)
    return found
