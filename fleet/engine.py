# SPDX-License-Identifier: Apache-2.0
"""Runs the plan of `gpuwatch fleet` in an engine: engine.py FOLDER, which holds plan.json, paths.parquet and links to the
files of each table. Answers with a line of JSON for each thing there is to say."""
import sys

if sys.path[:1] == [""]:  # of -c: the current folder, where anyone may have put a json.py
    del sys.path[0]
import glob
import importlib
import json
import math
import os
import shutil
import time

FOLDER = sys.argv[1]
TABLES = ("work", "state", "samples", "launches")
NUMBERED = ("samples", "launches")  # with the column `file`
UNNUMBERED = "work_unnumbered_files"  # of work, which may lack the column gpu_id: all, or those that do
# Libraries may print what they like: standard output becomes that of errors, and answers go where it was.
ANSWERS = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def say(**line):
    print(json.dumps(line), file=ANSWERS, flush=True)


def absent(what, remedy):
    say(absent=f"{what} is not here; {remedy}")
    sys.exit(0)


def package(name, pip):
    try:
        return importlib.import_module(name)
    except ImportError:
        absent(f"Python's package {name}",
               f"install it (python3 -m pip install {pip}), or name a Python that has it by --python")


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def short(error):
    return " ".join(str(error).split())[:300]


class DuckDB:
    def __init__(self, threads):
        self.duckdb = package("duckdb", "duckdb")
        self.db = self.duckdb.connect(config={"threads": threads} if threads else {})
        self.db.sql("SET preserve_insertion_order = false; SET enable_progress_bar = false; SET parquet_metadata_cache = true")
        self.version = "DuckDB " + self.duckdb.__version__

    def schemas(self, files):
        """Whether not all have the same columns (by their names, all are opened again for each question), and all gpu_id."""
        column = "concat(name, ' ', type, ' ', converted_type, ' ', logical_type)"
        return self.db.execute("SELECT count(DISTINCT columns) > 1, bool_and(numbered) FROM (SELECT list_sort(list("
                               f"{column})) AS columns, bool_or(name = 'gpu_id') AS numbered FROM parquet_schema({files}) "
                               "GROUP BY file_name)").fetchall()[0]

    def files(self, table):
        files = quoted(FOLDER + '/' + table + '/*.parquet')
        differ, numbered = self.schemas(files)
        source = f"read_parquet({files}, union_by_name = {differ}, filename = {table in NUMBERED}, hive_partitioning = false)"
        more = ", CAST(regexp_extract(filename, '([0-9]+)[.]parquet$', 1) AS BIGINT) AS file" if table in NUMBERED else ""
        self.db.sql(f"CREATE OR REPLACE TEMP VIEW {table}_files AS SELECT *{more} FROM {source}")
        if table == "work":
            self.create("VIEW", UNNUMBERED, "SELECT * FROM work_files" + (" WHERE false" if numbered else ""))

    def paths(self):
        self.db.sql(f"CREATE OR REPLACE TEMP VIEW paths AS SELECT * FROM read_parquet({quoted(FOLDER + '/paths.parquet')}, hive_partitioning = false)")

    def create(self, kind, name, sql):
        self.db.execute(f"CREATE OR REPLACE TEMP {kind} {name} AS {sql}")

    def ask(self, sql):
        answer = self.db.execute(sql)
        return [c[0] for c in answer.description], answer.fetchall()

    def types(self, path):
        return {row[0]: row[1] for row in self.db.execute(f"DESCRIBE SELECT * FROM read_parquet({quoted(path)}, hive_partitioning = false)").fetchall()}

    def read(self, path, columns):
        self.db.execute("SELECT " + ", ".join(f'min("{c}")' for c in columns) + f" FROM read_parquet({quoted(path)}, hive_partitioning = false)").fetchall()


class Spark:
    def __init__(self, threads):
        package("pyspark", "pyspark")
        if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
            absent("Java, which Spark needs,", "install it (Debian: default-jre-headless), or set JAVA_HOME")
        from pyspark.sql import SparkSession
        master = os.environ.get("SPARK_MASTER", f"local[{threads or '*'}]")
        builder = SparkSession.builder.master(master)
        if master.startswith("local"):  # a cluster's executors call the driver
            builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
        self.spark = (builder.appName("gpuwatch fleet").config("spark.ui.enabled", "false")
                      .config("spark.driver.memory", os.environ.get("GPUWATCH_SPARK_MEMORY", "4g"))
                      .config("spark.local.dir", FOLDER + "/spark").config("spark.sql.warehouse.dir", FOLDER + "/spark")
                      .config("spark.sql.shuffle.partitions", str(2 * threads or 200)).config("spark.ui.showConsoleProgress", "false")
                      .config("spark.sql.legacy.parquet.nanosAsLong", "true").config("spark.sql.ansi.enabled", "false")
                      .config("spark.sql.parquet.mergeSchema", "true")
                      .config("spark.sql.session.timeZone", "UTC").getOrCreate())
        self.spark.sparkContext.setLogLevel("ERROR")
        self.version = "Spark " + self.spark.version

    def files(self, table):
        from pyspark.sql import functions as f
        frame = self.spark.read.parquet(f"file://{FOLDER}/{table}")
        if table in NUMBERED:
            frame = frame.withColumn("file", f.regexp_extract(f.input_file_name(), "([0-9]+)[.]parquet$", 1).cast("bigint"))
        frame.createOrReplaceTempView(table + "_files")
        if table == "work":
            frame.createOrReplaceTempView(UNNUMBERED)

    def paths(self):
        self.spark.read.parquet(f"file://{FOLDER}/paths.parquet").createOrReplaceTempView("paths")

    def create(self, kind, name, sql):
        frame = self.spark.sql(sql)
        if kind == "TABLE":  # read from files: in memory, a plan holds those of all tables it reads, and planning takes minutes
            path = f"file://{FOLDER}/spark/{name}"
            frame.write.mode("overwrite").option("compression", "none").parquet(path)
            frame = self.spark.read.schema(frame.schema).parquet(path)
        frame.createOrReplaceTempView(name)

    def ask(self, sql):
        frame = self.spark.sql(sql)
        return frame.columns, [tuple(row) for row in frame.collect()]

    def types(self, path):
        return {c.name: c.dataType.simpleString() for c in self.spark.read.parquet("file://" + path).schema}

    def read(self, path, columns):
        self.spark.read.parquet("file://" + path).selectExpr(*(f"min(`{c}`)" for c in columns)).collect()


class ClickHouse:
    def __init__(self, threads):
        self.chdb = package("chdb", "chdb")
        from chdb import session
        self.session = session.Session(FOLDER + "/clickhouse")
        for setting in ("join_use_nulls = 1", "prefer_column_name_to_alias = 1", "schema_inference_make_columns_nullable = 1",
                        "schema_inference_mode = 'union'", "data_type_default_nullable = 1", "cast_keep_nullable = 1",
                        "group_by_use_nulls = 0", "use_hive_partitioning = 0") + ((f"max_threads = {threads}",) if threads else ()):
            self.session.query("SET " + setting)
        self.version = "ClickHouse " + str(self.session.query("SELECT version()", "TSV")).strip()

    def files(self, table):
        more = ", toInt64OrNull(extract(_path, '([0-9]+)[.]parquet$')) AS file" if table in NUMBERED else ""
        self.session.query(f"CREATE OR REPLACE VIEW {table}_files AS SELECT *{more} FROM file({quoted(FOLDER + '/' + table + '/*.parquet')}, Parquet)")
        if table == "work":
            self.create("VIEW", UNNUMBERED, "SELECT * FROM work_files")

    def paths(self):
        self.session.query(f"CREATE OR REPLACE VIEW paths AS SELECT * FROM file({quoted(FOLDER + '/paths.parquet')}, Parquet)")

    def create(self, kind, name, sql):
        self.session.query(f"DROP {kind} IF EXISTS {name}")
        self.session.query(f"CREATE {kind} {name} " + ("" if kind == "VIEW" else "ENGINE = Memory ") + f"AS {sql}")

    def ask(self, sql):
        answer = json.loads(str(self.session.query(sql + " SETTINGS output_format_json_quote_64bit_integers = 0", "JSONCompact")))
        return [c["name"] for c in answer["meta"]], answer["data"]

    def types(self, path):
        answer = json.loads(str(self.session.query(f"DESCRIBE file({quoted(path)}, Parquet)", "JSONCompact")))
        return {row[0]: row[1] for row in answer["data"]}

    def read(self, path, columns):
        self.session.query("SELECT " + ", ".join(f"min(`{c}`)" for c in columns) + f" FROM file({quoted(path)}, Parquet)")


def plain(value):
    """As JSON has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, int) and not -2**63 <= value < 2**63:
        return float(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return float(value)


def refuse_bad(engine):
    """Leave out the files that the engine can't read, or whose columns are of other types; how many."""
    count = 0
    for table in TABLES:
        usual = engine.types(f"{FOLDER}/{table}/0.parquet")
        for path in sorted(glob.glob(f"{FOLDER}/{table}/*.parquet")):
            try:
                types = engine.types(path)
                other = sorted(c for c in usual if c in types and types[c] != usual[c])
                why = f"its column {other[0]} is of another type" if other else ""
                if not why:
                    engine.read(path, [c for c in usual if c in types])
            except Exception as error:  # whatever the engine calls it
                why = "the engine can't read it: " + short(error).replace(FOLDER, "")
            if why:
                say(refused=os.path.relpath(path, FOLDER), why=why)
                os.unlink(path)
                count += 1
    return count


def answer(engine, steps):
    say(begin=True)
    began = time.monotonic()
    for table in TABLES:
        engine.files(table)
    engine.paths()
    for step in steps:
        since = time.monotonic()
        if step["kind"] != "question":
            engine.create(step["kind"].upper(), step["name"], step["sql"])
            print(f"{step['name']}: {time.monotonic() - since:.2f} s", file=sys.stderr)
            continue
        columns, rows = engine.ask(step["sql"])
        say(name=step["name"], columns=columns, rows=[[plain(v) for v in row] for row in rows],
            seconds=round(time.monotonic() - since, 3))
    say(all_seconds=round(time.monotonic() - began, 3))


def main():
    with open(FOLDER + "/plan.json") as file:
        plan = json.load(file)
    engine = {"duckdb": DuckDB, "spark": Spark, "clickhouse": ClickHouse}[plan["engine"]](plan["threads"])
    say(version=engine.version)
    try:
        answer(engine, plan["steps"])
    except Exception as first:  # a file that is damaged within, or an error of the engine
        if not refuse_bad(engine):
            say(error=short(first))
            return
        try:
            answer(engine, plan["steps"])
        except Exception as error:
            say(error=short(error))


main()
