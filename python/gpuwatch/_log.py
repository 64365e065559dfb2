# SPDX-License-Identifier: Apache-2.0
"""One or more logs, read by the command as they are asked for."""
from __future__ import annotations

import csv
import html
import io
import os
import re
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence, Union

from gpuwatch import _command
from gpuwatch._launch import ALWAYS, KINDS, Launch

if TYPE_CHECKING:
    import pandas
    import pyarrow

Path = Union[str, "os.PathLike[str]"]


def read(*paths: Path, device: str | None = None) -> Log:
    """Logs at @paths: files, or folders of them; without any the last run in the current folder.

    @device: only launches on that GPU in kernels() and info: its number, the first letters of its UUID, or part of its
    name. Raises Error where no log can be read.
    """
    return Log([os.fspath(path) for path in paths], device)


class Log:
    """What read() returns. Tables are pandas.DataFrame; the methods with `arrow` give pyarrow.Table.

    Times in ns are integers; start_ns, call_ns and time_ns are timestamps in UTC. What is unknown is <NA> (None in
    arrow and in tuples).
    """

    info: dict[str, Any]
    """The document of `gpuwatch report --json` (docs/user/json-schema.md), without its rows: processes, devices,
    prediction, causality, verdict, fix_first and so on."""

    def __init__(self, paths: Sequence[str], device: str | None = None):
        self._report = ["report", "--json", "--top=0"] + (["--device=" + device] if device else [])
        self._arguments = ["--", *paths]
        self.info = _command.document([*self._report, *self._arguments])
        self._rows = self.info.pop("kernels")
        self.paths = [process["path"] for process in self.info["processes"] if process["read"]]

    # --- without any other package

    def kernel_rows(self, by: str = "kernel") -> list[dict[str, Any]]:
        """The rows of the report, with what the columns of `--json` hold. @by: kernel, config, device or module."""
        if by == "kernel":
            return list(self._rows)
        rows: list[dict[str, Any]] = _command.document([*self._report, "--by=" + by, *self._arguments])["kernels"]
        return rows

    def __iter__(self) -> Iterator[Launch]:
        """The launches, about in the order of their starts."""
        return self.iterate()

    def iterate(self, since: float | None = None, until: float | None = None, kernel: str | None = None) -> Iterator[Launch]:
        """Launches whose start is at or after @since and before @until (s after the first log's start) and whose
        kernel's demangled name matches @kernel (a POSIX extended regular expression)."""
        rows = csv.reader(_texts(_command.lines(self._export("csv", since, until, kernel))))
        if tuple(next(rows)) != Launch._fields:
            raise _command.Error("the command gpuwatch is of another version than the package; install both from one wheel")
        parsers = [str if name in ALWAYS and KINDS[name] == "TEXT" else _PARSERS[KINDS[name]] for name in Launch._fields]
        for row in rows:
            yield Launch._make(parse(cell) for parse, cell in zip(parsers, row))

    # --- pandas

    def kernels(self, by: str = "kernel") -> pandas.DataFrame:
        """The rows of the report; @by as in kernel_rows(). What is no number and no text is left out."""
        pandas = _need("pandas")
        rows = [{key: value for key, value in row.items() if not isinstance(value, (dict, list))}
                for row in self.kernel_rows(by)]
        return pandas.DataFrame(rows).convert_dtypes()

    def launches(self, since: float | None = None, until: float | None = None, kernel: str | None = None) -> pandas.DataFrame:
        """One row per launch; arguments as of iterate(). By way of Parquet where pyarrow is there, else of CSV."""
        pandas = _need("pandas")
        if _there("pyarrow"):
            data = io.BytesIO(_command.output(self._export("parquet", since, until, kernel)))
            return pandas.read_parquet(data, dtype_backend="numpy_nullable")
        types = {"COUNT": "Int64", "TIME": "Int64", "REAL": "Float64", "TEXT": "string"}
        data = io.BytesIO(_command.output(self._export("csv", since, until, kernel)))
        frame = pandas.read_csv(data, dtype={name: types[kind] for name, kind in KINDS.items()}, encoding_errors="replace",
                                keep_default_na=False, na_values={name: [""] for name in KINDS if name not in ALWAYS})
        for name, kind in KINDS.items():
            if kind == "TIME":
                frame[name] = pandas.to_datetime(frame[name], unit="ns", utc=True)
        return frame

    def idle(self) -> pandas.DataFrame:
        """Times in which no kernel of a process ran on a GPU, and why; needs pyarrow, too."""
        return _frame(self.arrow("idle"))

    def clocks(self) -> pandas.DataFrame:
        """Samples of clocks, power and temperature; needs pyarrow, too."""
        return _frame(self.arrow("clocks"))

    # --- pyarrow

    def arrow(self, table: str = "launches", since: float | None = None, until: float | None = None,
              kernel: str | None = None) -> pyarrow.Table:
        """@table of `gpuwatch export --format=parquet`: launches, kernels, graphs, idle or clocks (docs/user/export.md)."""
        _need("pyarrow")
        import pyarrow
        import pyarrow.parquet
        data = _command.output(self._export("parquet", since, until, kernel, "--table=" + table))
        return pyarrow.parquet.read_table(pyarrow.BufferReader(data))

    # --- display

    def __repr__(self) -> str:
        return "<gpuwatch.Log of %d process%s: %s launches, %s of GPU time>" % (
            len(self.paths), "" if len(self.paths) == 1 else "es", format(self.info["launches"], ","),
            _duration(self.info["total_ns"] or 0))

    def _repr_html_(self) -> str:
        """For notebooks: the ten kernels with the most GPU time."""
        cells = "".join("<th>%s</th>" % html.escape(column.split(" (")[0]) for column in _SHOWN)
        body = "".join("<tr>%s</tr>" % "".join(_cell(row.get(column), form) for column, form in _SHOWN.items())
                       for row in self._rows[:10])
        more = len(self._rows) - 10
        return "<p>%s</p><table><thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (
            html.escape(repr(self)[1:-1]), cells, body, "<p>%d more kernels</p>" % more if more > 0 else "")

    def _export(self, form: str, since: float | None, until: float | None, kernel: str | None, *more: str) -> list[str]:
        options = ["--%s=%s" % (name, value) for name, value in (("since", since), ("until", until), ("kernel", kernel))
                   if value is not None]
        return ["export", "--format=" + form, "-o", "-", *options, *more, "--", *self.paths]


_PARSERS = {
    "COUNT": lambda cell: int(cell) if cell else None,
    "TIME": lambda cell: int(cell) if cell else None,
    "REAL": lambda cell: float(cell) if cell else None,
    "TEXT": lambda cell: cell or None,
}


def _texts(pieces: Iterator[bytes]) -> Iterator[str]:
    for piece in pieces:
        yield piece.decode("utf-8", "replace")


def _digits(value: float) -> str:
    """Three digits, as in the report."""
    return "%.*f" % (2 if value < 9.995 else 1 if value < 99.95 else 0, value)


def _duration(ns: float) -> str:
    """With its unit, as in the report."""
    for unit, size in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if ns < 999.5 * size:
            return ("%.0f" % ns if size == 1 else _digits(ns / size)) + " " + unit
    return _digits(ns / 1e9) + " s"


def _percent(share: float) -> str:
    return "<0.1%" if 0 < share < 0.05 else "%.1f%%" % share


_SHOWN = {"Time (%)": _percent, "Instances": "{:,}".format, "Med (ns)": _duration, "Predicted (ns)": _duration,
          "Error (%)": _percent, "Bound": None, "Name": None}


_DROPPED = re.compile(r"^void |(?:\(anonymous namespace\)|\b\w+)::")


def _cell(value: Any, form: Callable[[Any], str] | None) -> str:
    if value is None:
        return "<td></td>"
    if form:
        return "<td>%s</td>" % html.escape(form(value))
    short = _DROPPED.sub("", value)
    return "<td style='text-align:left' title='%s'>%s</td>" % (
        html.escape(value), html.escape(short if len(short) <= 100 else short[:99] + "…"))


def _there(name: str) -> bool:
    import importlib.util
    return importlib.util.find_spec(name) is not None


def _need(name: str) -> Any:
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _command.Error("%s is not installed: pip install %s; or iterate over the log, which needs neither" %
                             (name, name)) from error


def _frame(table: pyarrow.Table) -> pandas.DataFrame:
    pandas = _need("pandas")
    import pyarrow
    nullable = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.float64(): pandas.Float64Dtype(),
                pyarrow.string(): pandas.StringDtype()}
    return table.to_pandas(types_mapper=nullable.get)
