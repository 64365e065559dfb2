#!/usr/bin/env python3
"""parquet.py GPUWATCH MANY_LAUNCHES LOG...: every reader that is there finds in the Parquet file what is in the CSV file of the same
log, cell by cell, and its SQL gives the sums of the report; a log of 150,000 launches, more than a row group holds, is
one of them. Exit status 77 without a reader."""
import csv
import datetime
import importlib
import json
import os
import subprocess
import sys
import tempfile

gpuwatch, many_launches, logs = sys.argv[1], sys.argv[2], sys.argv[3:]
TIMES = ("start_ns", "call_ns")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def there(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print("skipped: no", name)
        return None


def export(log, form, path, *more):
    subprocess.run([gpuwatch, "export", "--format=" + form, "-o", path, *more, log], check=True)


def rows_of_csv(path):
    """{column: [text or None]}; an empty text is unknown, but in a name."""
    with open(path, newline="", encoding="utf-8", errors="replace") as f:
        rows = list(csv.DictReader(f))
    names = rows[0].keys() if rows else []
    return {name: [row[name] if row[name] or name in ("kernel", "mangled") else None for row in rows] for name in names}


def same(column, have, want, reader):
    assert len(have) == len(want), (reader, column, len(have), len(want))
    for i, (a, b) in enumerate(zip(have, want)):
        if b is None:
            good = a is None
        elif isinstance(a, float):
            good = "%.9g" % a == b or a == int(a) == int(float(b))
        else:
            good = str(a) == b
        assert good, (reader, column, i, a, b)


def unknown_as_none(values):
    return [None if v is None or v != v else v for v in values]


def by_pyarrow(pyarrow, path):
    import pyarrow.parquet
    table = pyarrow.parquet.read_table(path)
    table.validate(full=True)
    for name in TIMES:
        assert table.schema.field(name).type == pyarrow.timestamp("ns", tz="UTC"), name
    out = {}
    for name in table.column_names:
        column = table.column(name)
        out[name] = (column.cast(pyarrow.int64()) if name in TIMES else column).to_pylist()
    check_statistics(pyarrow.parquet.ParquetFile(path).metadata, pyarrow.parquet.ParquetFile(path))
    return out


def check_statistics(metadata, file):
    for g in range(metadata.num_row_groups):
        group = file.read_row_group(g)
        for c in range(metadata.num_columns):
            column = metadata.row_group(g).column(c)
            values = group.column(c).drop_null().to_pylist()
            assert column.statistics.null_count == group.num_rows - len(values), column.path_in_schema
            if column.statistics.has_min_max:
                assert values, column.path_in_schema
                if column.path_in_schema not in TIMES:
                    assert column.statistics.min == min(values), column.path_in_schema
                    assert column.statistics.max == max(values), column.path_in_schema


def by_pandas(pandas, path):
    frame = pandas.read_parquet(path, dtype_backend="numpy_nullable")
    out = {}
    for name in frame.columns:
        column = frame[name]
        if name in TIMES:
            known = column.notna()
            values = column.dt.tz_localize(None).astype("datetime64[ns]").astype("int64")
            out[name] = [v if k else None for v, k in zip(values.tolist(), known)]
        else:
            out[name] = [None if v is pandas.NA else v for v in column.tolist()]
    return out


def by_fastparquet(fastparquet, path):
    frame = fastparquet.ParquetFile(path).to_pandas()
    out = {}
    for name in frame.columns:
        column = frame[name]
        if name in TIMES:
            out[name] = [v if k else None for v, k in zip(column.astype("datetime64[ns]").astype("int64").tolist(), column.notna())]
        else:
            out[name] = [None if type(v).__name__ == "NAType" or v is None or v != v else v for v in column.tolist()]
    return out


def by_duckdb(duckdb, path):
    db = duckdb.connect()
    names = [row[0] for row in db.execute("DESCRIBE SELECT * FROM read_parquet(?)", [path]).fetchall()]
    parts = ", ".join("epoch_ns(%s)" % n if n in TIMES else '"%s"' % n for n in names)
    columns = list(zip(*db.execute("SELECT %s FROM read_parquet(?)" % parts, [path]).fetchall()))
    return {name: list(columns[i]) if columns else [] for i, name in enumerate(names)}


READERS = {"pyarrow": by_pyarrow, "pandas": by_pandas, "fastparquet": by_fastparquet, "duckdb": by_duckdb}


def sums_by_sql(duckdb, log, launches, kernels):
    report = json.loads(subprocess.check_output([gpuwatch, "report", "--json", "--top=0", log]))
    db = duckdb.connect()
    query = "SELECT count(*), count(duration_ns), sum(duration_ns) FROM read_parquet(?)"
    assert db.execute(query, [launches]).fetchone()[:2] == (report["launches"], report["measured"])
    whole = sum(row["Total Time (ns)"] or 0 for row in report["kernels"])
    assert db.execute(query, [launches]).fetchone()[2] == whole
    query = "SELECT sum(launches), sum(measured_launches), sum(measured_ns) FROM read_parquet(?)"
    assert db.execute(query, [kernels]).fetchone() == (report["launches"], report["measured"], whole)


def check(readers, log, folder):
    path, text = os.path.join(folder, "out.parquet"), os.path.join(folder, "out.csv")
    kernels = os.path.join(folder, "kernels.parquet")
    export(log, "parquet", path)
    export(log, "parquet", kernels, "--table=kernels")
    export(log, "csv", text)
    want = rows_of_csv(text)
    for name, module in readers.items():
        if name == "pandas" and "pyarrow" not in readers:
            continue
        have = READERS[name](module, path)
        assert list(have) == list(want), (name, list(have))
        for column in want:
            same(column, have[column], want[column], name)
        print(os.path.basename(log), name, len(want["pid"]), "rows")
    if "duckdb" in readers:
        sums_by_sql(readers["duckdb"], log, path, kernels)


def other_tables(pyarrow, log, folder):
    import pyarrow.parquet
    for table in ("graphs", "idle", "clocks"):
        path = os.path.join(folder, table + ".parquet")
        export(log, "parquet", path, "--table=" + table)
        pyarrow.parquet.read_table(path).validate(full=True)


def main():
    readers = {name: module for name in READERS for module in [there(name)] if module}
    if not readers:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        long = os.path.join(folder, "long.gwl")
        subprocess.run([many_launches, "150000", long], check=True)
        for log in [*logs, long]:
            check(readers, log, folder)
            if "pyarrow" in readers:
                other_tables(readers["pyarrow"], log, folder)


main()
