# SPDX-License-Identifier: Apache-2.0
"""Logs of gpuwatch in Python.

    import gpuwatch

    log = gpuwatch.read("gpuwatch.4711.gwl")
    log.kernels()       # a pandas.DataFrame: the rows of gpuwatch report
    log.launches()      # the same: one row per launch
    for launch in log:  # without pandas: a Launch, a named tuple, each
        ...

The command `gpuwatch` reads the logs; what it says of them is what is raised (Error) or warned of (LogWarning).
"""
from __future__ import annotations

from gpuwatch._command import Error, LogWarning, command
from gpuwatch._launch import Launch
from gpuwatch._log import Log, read

__all__ = ["Error", "Launch", "Log", "LogWarning", "command", "read"]
