#!/usr/bin/env python3
"""gpuwatch agent as a process: agent_serves.py GPUWATCH LIVE_SEGMENT CASE

Talks to 127.0.0.1 and Unix sockets alone. Exit 77: this build serves nothing.
"""
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from protobuf_reader import delimited, message, signed

GPUWATCH, SEGMENT, CASE = sys.argv[1:4]
FOLDER = tempfile.mkdtemp(prefix="gw-agent-")
SEGMENTS = os.path.join(FOLDER, "seg")
os.mkdir(SEGMENTS)
STARTED = []


def until(what, seconds=60):
    """Machines may be slow: what becomes true in the end is good."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("did not come true: " + (what.__doc__ or what.__name__))


def start(*command, **more):
    process = subprocess.Popen(command, **more)
    STARTED.append(process)
    return process


def segment(what="run"):
    process = start(SEGMENT, SEGMENTS, what, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"there\n"
    return process


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Agent:
    def __init__(self, *options, listen=None, **more):
        self.port = free_port()
        self.unix = listen[5:] if listen and listen.startswith("unix:") else None
        self.errors = open(os.path.join(FOLDER, "stderr"), "w+b")
        self.process = start(GPUWATCH, "agent", "--dir=" + SEGMENTS, "--interval=0.2",
                             "--listen=" + (listen or f"127.0.0.1:{self.port}"), *options, stderr=self.errors, **more)

    def get(self, path="/metrics", method="GET", **headers):
        connection = Unix(self.unix) if self.unix else http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if "protobuf" not in answer.getheader("Content-Type"):
            body = body.decode()
        connection.close()
        return answer.status, answer.getheader("Content-Type"), body

    def ready(self):
        def serves():
            if self.process.poll() is not None:
                self.errors.seek(0)
                text = self.errors.read()
                if b"without libmicrohttpd" in text or b"is not here" in text:
                    print("skipped: " + text.decode())
                    finish(77)
                raise AssertionError(f"the agent ended: {text}")
            try:
                return self.get("/healthz")[0] in (200, 401)
            except OSError:
                return False
        until(serves)
        return self

    def value(self, name):
        for line in self.get()[2].splitlines():
            if line.startswith(name):
                return float(line.rsplit(" ", 1)[1])
        return None

    def said(self, text):
        with open(self.errors.name, "rb") as errors:
            return errors.read().count(text)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, self.process.returncode


def finish(status):
    for process in STARTED:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(FOLDER, ignore_errors=True)
    sys.exit(status)


def launches(agent):
    return sum(float(line.rsplit(" ", 1)[1]) for line in agent.get()[2].splitlines()
               if line.startswith("gpuwatch_launches_total"))


def parquet_files(folder):
    """Of samples: the tables of hours are beside them."""
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if "/hours/" not in at)


# ---- cases ----

def serves_what_processes_do():
    segment()
    agent = Agent().ready()
    until(lambda: launches(agent) > 0)
    before = launches(agent)
    until(lambda: launches(agent) > before)
    status, kind, body = agent.get()
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8"), (status, kind)
    assert "# TYPE gpuwatch_launches_total counter" in body
    status, kind, body = agent.get(Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text; version=1.0.0"), kind
    assert body.endswith("# EOF\n") and "# TYPE gpuwatch_launches counter" in body
    assert "# UNIT gpuwatch_gpu_seconds seconds" in body
    assert agent.get("/nothing")[0] == 404
    assert agent.get("/healthz")[2] == "ok\n"
    assert '"gpuwatch-health-1"' in agent.get("/health")[2]
    assert agent.get(method="POST")[0] == 405
    assert agent.get(method="HEAD")[0] == 200
    agent.end()


def counters_outlive_processes():
    agent = Agent().ready()
    seen = 0.0
    for turn in range(4):
        process = segment("run" if turn % 2 else "remove")
        until(lambda: launches(agent) > seen)
        if turn % 2:
            process.kill()  # its file stays
        else:
            process.stdin.write(b"\n")
            process.stdin.flush()
            process.stdout.readline()
            process.kill()
        process.wait()
        until(lambda: agent.value("gpuwatch_processes{") == 0)
        assert launches(agent) >= seen
        seen = launches(agent)
    assert agent.value("gpuwatch_processes_begun_total") == 4
    agent.end()


def a_hostile_segment_changes_nothing_else():
    segment()
    wild, cut = segment("wild"), segment("truncate")
    agent = Agent().ready()
    until(lambda: launches(agent) > 0)
    cut.stdin.write(b"\n")
    cut.stdin.flush()
    last = 0.0
    for _ in range(30):
        now = launches(agent)
        assert last <= now < 1e12, (last, now)
        last = now
        time.sleep(0.1)
    for line in agent.get()[2].splitlines():
        assert line.startswith("#") or 0 <= float(line.rsplit(" ", 1)[1]) < 1e19, line
    assert agent.value("gpuwatch_agent_refused_total") > 0
    assert wild.poll() is None
    agent.end()


def segments_that_cannot_be_read_are_said_once():
    with open("/proc/self/stat") as stat, open(os.path.join(SEGMENTS, f"{os.getpid()}-{stat.read().rsplit(')')[1].split()[19]}-1.gwlive"), "w") as out:
        out.write("none")
    agent = Agent().ready()
    until(lambda: agent.said(b"1 live segments can't be read: it is damaged"))
    time.sleep(1)
    assert agent.said(b"can't be read") == 1
    agent.end()


def the_token_keeps_others_out():
    token = os.path.join(FOLDER, "token")
    with open(token, "w") as out:
        out.write("secret\n")
    agent = Agent("--token-file=" + token).ready()
    assert agent.get()[0] == 401
    assert agent.get("/healthz")[0] == 200
    assert agent.get("/health")[0] == 401
    assert agent.get(Authorization="Bearer secre")[0] == 401
    assert agent.get(Authorization="Bearer secrets")[0] == 401
    assert agent.get(Authorization="secret")[0] == 401
    assert agent.get(Authorization="Bearer secret")[0] == 200
    where = f"--agent=127.0.0.1:{agent.port}"
    answer = subprocess.run([GPUWATCH, "health", where], capture_output=True)
    assert answer.returncode == 2 and b"--token-file" in answer.stderr, answer
    assert subprocess.run([GPUWATCH, "health", where, "--token-file=" + token]).returncode == 0
    agent.end()


def a_unix_socket_serves_and_goes():
    path = os.path.join(FOLDER, "socket")
    agent = Agent(listen="unix:" + path).ready()
    assert os.stat(path).st_mode & 0o777 == 0o660
    assert agent.get()[0] == 200
    second = Agent(listen="unix:" + path)
    assert second.process.wait(60) == 2
    assert agent.get()[0] == 200
    agent.process.kill()
    agent.process.wait()
    third = Agent(listen="unix:" + path).ready()  # takes the place of the one that was killed
    assert subprocess.run([GPUWATCH, "health", "--agent=unix:" + path]).returncode == 0
    third.end()
    assert not os.path.exists(path)


def systemd_hands_the_socket_over():
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(5)
    port, fd = listening.getsockname()[1], listening.fileno()

    shell = f'exec 3<&{fd}; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
    process = start("bash", "-c", shell, "-", GPUWATCH, "agent", "--dir=" + SEGMENTS, pass_fds=[fd])
    agent = Agent.__new__(Agent)
    agent.port, agent.unix, agent.process, agent.errors = port, None, process, open(os.devnull, "r+b")
    agent.ready()
    assert agent.get()[0] == 200
    agent.end()


def clients_that_misbehave_are_bounded():
    segment()
    # AddressSanitizer keeps what is freed: what the agent itself holds is asked.
    os.environ["ASAN_OPTIONS"] = "quarantine_size_mb=1:thread_local_quarantine_size_kb=16"
    agent = Agent().ready()

    def send(data):
        s = socket.create_connection(("127.0.0.1", agent.port), 20)
        s.settimeout(20)
        try:
            s.sendall(data)
            return s, s.recv(4096)
        except OSError:
            return s, b""
    _, answer = send(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 200000 + b"\r\n\r\n")
    assert b" 200 " not in answer[:20], answer[:60]
    _, answer = send(b"\x00\xff" * 1000 + b"\r\n\r\n")
    assert b" 200 " not in answer[:20], answer[:60]
    # They take all connections that there are, and read nothing; who comes later is served once they are timed out.
    slow = []
    for _ in range(80):
        s = socket.create_connection(("127.0.0.1", agent.port), 20)
        s.sendall(b"GET /metrics HTTP/1.1\r\n")
        slow.append(s)

    def answers():
        try:
            return agent.get("/healthz")[0] == 200
        except OSError:
            return False
    until(answers, 120)
    for s in slow:
        s.close()
    with open(f"/proc/{agent.process.pid}/status") as status:
        resident = [int(line.split()[1]) for line in status if line.startswith("VmRSS")][0]
    assert resident < 200000, resident
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=20)
    for _ in range(2000):
        connection.request("GET", "/metrics")
        assert connection.getresponse().read()
    connection.close()
    with open(f"/proc/{agent.process.pid}/status") as status:
        after = [int(line.split()[1]) for line in status if line.startswith("VmRSS")][0]
    assert after < resident + 20000, (resident, after)
    agent.end()


class Collector(http.server.BaseHTTPRequestHandler):
    bodies, status = [], 200

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Content-Type"] == "application/x-protobuf"
        Collector.bodies.append(body)
        self.send_response(Collector.status)
        self.end_headers()

    def log_message(self, *_):
        pass


def metrics_of(body):
    resource = message(message(body)[1][0])
    scope = message(resource[2][0])
    return {message(m)[1][0].decode(): message(m) for m in scope[2]}


def pushes_to_a_collector():
    segment()
    server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1/metrics"
    agent = Agent("--otlp=" + url, "--otlp-interval=1").ready()
    until(lambda: len(Collector.bodies) >= 2)
    metrics = metrics_of(Collector.bodies[-1])
    total = message(metrics["gpuwatch_launches"][7][0])
    assert total[2] == [2] and total[3] == [1], total
    point = message(total[1][0])
    assert struct.unpack("<d", point[4][0])[0] > 0
    assert struct.unpack("<Q", point[3][0])[0] > struct.unpack("<Q", point[2][0])[0]
    names = {message(a)[1][0].decode() for a in point[7]}
    assert {"UUID", "gpu", "kernel"} <= names, names
    histogram = message(message(metrics["gpuwatch_kernel_seconds"][9][0])[1][0])
    counts = struct.unpack("<7Q", histogram[6][0])
    assert sum(counts) == struct.unpack("<Q", histogram[4][0])[0]
    assert len(struct.unpack("<6d", histogram[7][0])) == 6
    # It answers that it is busy: what waits is bounded, and comes later.
    Collector.status = 503
    until(lambda: agent.value('gpuwatch_agent_output_failures_total{hostname="%s",output="push"}'
                              % os.uname().nodename) > 0)
    Collector.status = 200
    count = len(Collector.bodies)
    until(lambda: len(Collector.bodies) > count + 1)
    agent.end()
    server.shutdown()


def pushes_what_the_official_messages_hold():
    try:
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
    except ImportError:
        print("skipped: Python's opentelemetry-proto is not here (PyPI)")
        finish(77)
    segment()
    server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    agent = Agent(f"--otlp=http://127.0.0.1:{server.server_port}/v1/metrics", "--otlp-interval=1").ready()
    until(lambda: len(Collector.bodies) >= 2)
    request = metrics_service_pb2.ExportMetricsServiceRequest.FromString(Collector.bodies[-1])
    assert request.SerializeToString() and not request.FindInitializationErrors()
    resource = request.resource_metrics[0]
    assert {a.key for a in resource.resource.attributes} >= {"service.name", "host.name"}
    metrics = {m.name: m for m in resource.scope_metrics[0].metrics}
    total = metrics["gpuwatch_launches"].sum
    assert total.is_monotonic and total.aggregation_temporality == 2 and total.data_points[0].as_double >= 0
    for point in metrics["gpuwatch_kernel_seconds"].histogram.data_points:
        assert sum(point.bucket_counts) == point.count and len(point.bucket_counts) == len(point.explicit_bounds) + 1
    assert metrics["gpuwatch_own_memory_bytes"].unit == "By"
    agent.end()
    server.shutdown()


def an_unreachable_collector_holds_nothing_up():
    segment()
    agent = Agent(f"--otlp=http://127.0.0.1:{free_port()}/v1/metrics", "--otlp-interval=1").ready()
    until(lambda: agent.value('gpuwatch_agent_output_failures_total{hostname="%s",output="push"}'
                              % os.uname().nodename) > 0)
    before = launches(agent)
    until(lambda: launches(agent) > before)
    time.sleep(2)
    assert agent.said(b"agent: --otlp: ") == 1
    agent.end()


def bytes_field(number, value):
    assert len(value) < 16384
    size = bytes([len(value)]) if len(value) < 128 else bytes([len(value) & 0x7F | 0x80, len(value) >> 7])
    return bytes([number << 3 | 2]) + size + value


def pod_of(name, uuid):
    """A PodResources of kubelet's API v1."""
    devices = bytes_field(1, b"nvidia.com/gpu") + bytes_field(2, uuid)
    container = bytes_field(2, devices) + bytes_field(1, b"main") + bytes_field(5, b"x" * 300)
    return bytes_field(3, container) + bytes_field(1, name) + bytes_field(2, b"team")


def kubelet_says_which_pod_has_which_gpu():
    try:
        import grpc
    except ImportError:
        print("skipped: Python's grpcio is not here (PyPI)")
        finish(77)
    from concurrent import futures
    uuid = b"GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    answers = {"now": b"\x0a\xff", "asked": 0}  # no message

    def answer(_request, _context):
        answers["asked"] += 1
        return answers["now"]

    class Lister(grpc.GenericRpcHandler):
        def service(self, call):
            if call.method == "/v1.PodResourcesLister/List":
                return grpc.unary_unary_rpc_method_handler(answer)
            return None
    path = os.path.join(FOLDER, "kubelet.sock")
    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[Lister()])
    server.add_insecure_port("unix:" + path)
    server.start()
    segment("elsewhere")
    agent = Agent("--pod-resources=" + path, "--host=node7").ready()
    until(lambda: (agent.value('gpuwatch_agent_pod_query_failures_total{hostname="node7"}') or 0) > 0)
    assert 'pod="' not in agent.get()[2]
    answers["now"] = bytes_field(1, pod_of(b"other", b"GPU-ff" + uuid[6:])) + bytes_field(1, pod_of(b"train-7", uuid))
    segment("elsewhere")  # a process that begins has it asked at once
    line = until(lambda: [x for x in agent.get()[2].splitlines() if "gpuwatch_owner_gpu_seconds" in x and 'pod="' in x])
    assert 'namespace="team",pod="train-7",container="main"' in line[0], line
    agent.end()
    server.stop(None)
    agent = Agent("--pod-resources=" + path + "x").ready()  # there is none
    until(lambda: (agent.value("gpuwatch_agent_pod_query_failures_total") or 0) > 0)
    agent.end()


def a_textfile_is_written_and_a_full_disk_survived():
    segment()
    out = os.path.join(FOLDER, "out")
    os.mkdir(out)
    path = os.path.join(out, "gpuwatch.prom")
    agent = Agent("--textfile=" + out, "--textfile-interval=1").ready()
    until(lambda: os.path.exists(path) and b"gpuwatch_launches_total{" in open(path, "rb").read())
    assert os.listdir(out) == ["gpuwatch.prom"], os.listdir(out)
    # Its folder goes: as a full disk, it can't be written.
    shutil.rmtree(out)
    failures = 'gpuwatch_agent_output_failures_total{hostname="%s",output="textfile"}' % os.uname().nodename
    until(lambda: agent.value(failures) > 0)
    os.mkdir(out)
    until(lambda: os.path.exists(path))
    agent.end()
    if shutil.which("bash"):
        # A file may have no byte: every write fails.
        limited = start("bash", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "-", GPUWATCH, "agent", "--listen=none",
                        "--dir=" + SEGMENTS, "--textfile=" + out, "--textfile-interval=1", stderr=subprocess.PIPE)
        line = limited.stderr.readline()
        assert b"--textfile" in line and b"File too large" in line, line
        time.sleep(1)
        limited.send_signal(signal.SIGTERM)
        assert limited.wait(60) == 0
        assert os.listdir(out) == ["gpuwatch.prom"], os.listdir(out)


def a_store_has_whole_files_of_all_samples():
    segment()
    store = os.path.join(FOLDER, "store")
    os.mkdir(store)
    agent = Agent("--store=" + store, "--store-interval=1", "--store-rotate=2").ready()
    until(lambda: len([name for name in parquet_files(store) if name.endswith(".parquet")]) >= 2)
    agent.end()
    files = parquet_files(store)
    for path in files:
        with open(path, "rb") as f:
            data = f.read()
        assert path.endswith(".parquet") and data[:4] == b"PAR1" == data[-4:], path
        assert re.search("/host=[^/]+/day=[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9]{6}-[0-9]{9}\\.parquet$", path), path
    try:
        import duckdb
    except ImportError:
        return
    rows = duckdb.sql("SELECT metric, uuid, kernel, value, launches, time, host FROM "
                      f"read_parquet('{store}/host=*/*/*.parquet', hive_partitioning = true) ORDER BY time").fetchall()
    assert {row[6] for row in rows} == {os.uname().nodename}
    sums = [row[3] for row in rows if row[0] == "gpuwatch_launches_total" and row[2] and "gemm" in row[2]]
    assert len(sums) >= 3 and sums == sorted(sums) and sums[-1] > sums[0], sums
    times = [row for row in rows if row[0] == "gpuwatch_kernel_seconds" and row[4]]
    assert times and all(0 < row[3] / row[4] < 1 for row in times)
    assert all(row[4] is None for row in rows if row[0] != "gpuwatch_kernel_seconds")


def a_store_has_tables_of_hours_without_what_ran_before():
    ran = segment()
    store = os.path.join(FOLDER, "store")
    os.mkdir(store)
    agent = Agent("--store=" + store, "--store-interval=1", "--store-rotate=2").ready()
    launched = lambda: sum(float(line.rsplit(" ", 1)[1]) for line in agent.get()[2].splitlines()
                           if line.startswith("gpuwatch_launches_total{"))
    before = launched()
    hours = os.path.join(store, "hours", "host=" + os.uname().nodename)
    until(lambda: os.path.isdir(hours) and len([n for _, _, names in os.walk(hours) for n in names]) >= 1)
    time.sleep(3)
    after = launched()
    ran.kill()
    ran.wait()
    agent.end()
    try:
        import duckdb
    except ImportError:
        return
    table = f"read_parquet('{hours}/day=*/work-*.parquet', hive_partitioning = false)"
    launches, kernels, builds = duckdb.sql(f"SELECT sum(launches), count(DISTINCT kernel), count(build) FROM {table}").fetchall()[0]
    # At least those between the two looks; at first there were some already.
    assert before > 0 and after - before <= launches and kernels > 0 and builds > 0, (launches, before, after)
    print("launches:", before, after, launches)
    state = duckdb.sql(f"SELECT DISTINCT metric FROM read_parquet('{hours}/day=*/state-*.parquet', hive_partitioning = false)").fetchall()
    assert ("gpuwatch_busy_seconds",) in state or ("gpuwatch_sm_clock_hertz",) in state, state
    answer = subprocess.run([GPUWATCH, "fleet", "--json", "--python=" + sys.executable, "costly_kernels", store],
                            capture_output=True, text=True)
    assert answer.returncode == 0 and json.loads(answer.stdout)["questions"][0]["rows"], (answer.stdout, answer.stderr)


def a_store_keeps_to_its_bytes_and_survives_a_full_disk():
    segment()
    store, old = os.path.join(FOLDER, "store"), []
    day = os.path.join(store, "host=" + os.uname().nodename, "day=2001-01-01")
    os.makedirs(day)
    for i in range(3):
        old.append(os.path.join(day, f"{i:06}-000000000.parquet"))
        with open(old[-1], "wb") as f:
            f.write(bytes(600000))
    cut = os.path.join(day, "000009-000000000.parquet.tmp")
    with open(cut, "wb") as f:
        f.write(b"PAR1")
    os.utime(cut, (0, 0))
    agent = Agent("--store=" + store, "--store-interval=1", "--store-rotate=1", "--store-max=1M").ready()
    until(lambda: not os.path.exists(old[1]))
    assert os.path.exists(old[2]) and not os.path.exists(old[0]) and not os.path.exists(cut)
    # Its folder goes: as a full disk, it can't be written. What was kept comes later.
    shutil.rmtree(store)
    failures = 'gpuwatch_agent_output_failures_total{hostname="%s",output="store"}' % os.uname().nodename
    until(lambda: agent.value(failures) > 0)
    os.mkdir(store)
    until(lambda: parquet_files(store))
    agent.end()
    if shutil.which("bash"):
        shutil.rmtree(store)
        os.mkdir(store)
        limited = start("bash", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "-", GPUWATCH, "agent", "--listen=none",
                        "--dir=" + SEGMENTS, "--store=" + store, "--store-interval=1", "--store-rotate=1",
                        stderr=subprocess.PIPE)
        line = limited.stderr.readline()
        assert b"--store" in line and b"File too large" in line, line
        limited.send_signal(signal.SIGTERM)
        assert limited.wait(60) == 0
        assert parquet_files(store) == [], parquet_files(store)


def node_exporter_reads_the_textfile():
    exporter = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if not exporter:
        print("skipped: node-exporter is not here (Debian: prometheus-node-exporter)")
        finish(77)
    segment()
    agent = Agent("--textfile=" + FOLDER, "--textfile-interval=1").ready()
    until(lambda: os.path.exists(os.path.join(FOLDER, "gpuwatch.prom")))
    port = free_port()
    start(exporter, "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory=" + FOLDER,
          f"--web.listen-address=127.0.0.1:{port}", stderr=subprocess.DEVNULL)

    def reads():
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        except OSError:
            return False
        assert "\nnode_textfile_scrape_error 0" in text
        return "gpuwatch_launches_total{" in text
    until(reads)
    agent.end()


def processes_that_come_and_go_are_counted():
    """100 processes, 20 at a time, each a fifth of a second."""
    agent = Agent().ready()
    running, begun = [], 0
    while begun < 100 or running:
        while begun < 100 and len(running) < 20:
            running.append((segment("remove"), time.monotonic()))
            begun += 1
        for process, since in list(running):
            if time.monotonic() - since > 0.2:
                process.stdin.write(b"\n")
                process.stdin.flush()
                process.stdout.readline()
                process.kill()
                process.wait()
                running.remove((process, since))
        time.sleep(0.01)
    until(lambda: agent.value("gpuwatch_processes_begun_total") +
          agent.value("gpuwatch_agent_missed_processes_total") == 100)
    # Each did at least 60 launches before it said that it was there.
    assert launches(agent) >= 60 * agent.value("gpuwatch_processes_begun_total")
    until(lambda: agent.value("gpuwatch_processes{") == 0)
    agent.end()


PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


def double(data):
    return struct.unpack("<d", data)[0]


def families(body):
    """{name: (type, [(labels, metric)])} of Prometheus' protobuf."""
    found = {}
    for family in map(message, delimited(body)):
        metrics = [message(m) for m in family[4]]
        name = family[1][0].decode()
        assert name not in found
        found[name] = family[3][0], [({message(p)[1][0].decode(): message(p)[2][0].decode() for p in m[1]}, m) for m in metrics]
    return found


def native(histogram):
    """The schema, and (upper end, count) of each native bucket."""
    schema, at, count, buckets = signed(histogram[5][0]), 0, 0, []
    deltas = iter(histogram[13])
    for span in map(message, histogram[12]):
        at += signed(span[1][0])
        for _ in range(span[2][0]):
            count += signed(next(deltas))
            buckets.append((2 ** (at / 2 ** schema), count))
            at += 1
    assert next(deltas, None) is None
    return schema, buckets


def protobuf_has_what_the_text_has_and_native_histograms():
    process = segment()
    agent = Agent().ready()
    until(lambda: launches(agent) > 100)
    process.kill()
    process.wait()
    until(lambda: agent.value("gpuwatch_processes{") == 0)
    status, kind, body = agent.get(Accept=PROTOBUF + ";q=0.6,text/plain;q=0.3")
    assert status == 200 and kind.startswith("application/vnd.google.protobuf") and "delimited" in kind, kind
    found, text = families(body), agent.get()[2]
    for line in text.splitlines():
        name = line.split("{")[0].split(" ")[0]
        if line.startswith("#") or name.startswith("gpuwatch_kernel_seconds"):
            continue
        kind, metrics = found[name]
        assert kind == (0 if name.endswith("_total") else 1), name
        assert all(key + '="' in text for labels, _ in metrics for key in labels)
    assert sum(double(message(m[3][0])[1][0]) for _, m in found["gpuwatch_launches_total"][1]) == launches(agent)
    timed = 0
    for labels, metric in found["gpuwatch_kernel_seconds"][1]:
        histogram = message(metric[7][0])
        schema, buckets = native(histogram)
        count, total = histogram[1][0], double(histogram[2][0])
        assert count == sum(n for _, n in buckets) + histogram[7][0]
        assert f'gpuwatch_kernel_seconds_count{{' in text and double(histogram[6][0]) > 0
        if not count:
            continue
        timed += count
        width = 2 ** (1 / 2 ** schema)
        assert schema <= 3 and buckets[0][0] / width / 1.02 <= total / count <= buckets[-1][0] * 1.02, (labels, buckets)
        for bucket in map(message, histogram[3]):
            end = double(bucket[2][0]) * 1.02
            assert schema < 3 or bucket[1][0] == sum(n for upper, n in buckets if upper <= end), (bucket, buckets)
    assert timed > 0
    for accept in ("text/plain", PROTOBUF.replace("delimited", "text") + ",text/plain;q=0.1", PROTOBUF + ";q=0"):
        assert agent.get(Accept=accept)[1].startswith("text/plain"), accept
    agent.end()


def prometheus_reads_native_histograms():
    if not shutil.which("prometheus"):
        print("skipped: prometheus is not here (Debian: prometheus)")
        finish(77)
    segment()
    agent = Agent().ready()
    port = free_port()
    config = os.path.join(FOLDER, "prometheus.yml")
    with open(config, "w") as f:
        f.write("scrape_configs:\n- job_name: g\n  scrape_interval: 1s\n  static_configs:\n"
                f"  - targets: ['127.0.0.1:{agent.port}']\n")
    start("prometheus", "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(FOLDER, "tsdb"),
          f"--web.listen-address=127.0.0.1:{port}", "--enable-feature=native-histograms", "--log.level=warn",
          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def asked(query):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            connection.request("GET", "/api/v1/query?query=" + urllib.parse.quote(query))
            return json.loads(connection.getresponse().read())["data"]["result"]
        except (OSError, KeyError, ValueError):
            return []
    counts = until(lambda: asked("histogram_count(gpuwatch_kernel_seconds) > 0"))
    assert all("kernel" in one["metric"] for one in counts), counts
    median = until(lambda: [float(one["value"][1]) for one in asked("histogram_quantile(0.5, gpuwatch_kernel_seconds)")
                            if one["value"][1] != "NaN"])
    assert all(1e-9 < value < 10 for value in median), median
    agent.end()


def once_prints_and_ends():
    segment()
    answer = subprocess.run([GPUWATCH, "agent", "--once", "--dir=" + SEGMENTS], capture_output=True, text=True)
    assert answer.returncode == 0 and "gpuwatch_launches_total{" in answer.stdout, answer
    answer = subprocess.run([GPUWATCH, "agent", "--once", "--format=openmetrics", "--dir=" + SEGMENTS],
                            capture_output=True, text=True)
    assert answer.stdout.endswith("# EOF\n")


def bad_options_end_with_one_message():
    for option, says in (("--listen=nowhere", "127.0.0.1:9464"), ("--once --listen=nowhere", "127.0.0.1:9464"),
                         ("--once --textfile=/nonexistent", "/nonexistent"), ("--store=/nonexistent", "/nonexistent"), ("--listen=127.0.0.1:99999", "127.0.0.1:9464"),
                         ("--listen=unix:", "unix:PATH"), ("--textfile=/nonexistent", "/nonexistent"), ("--once --otlp=ftp://x/", "ftp://x/"),
                         ("--token-file=/nonexistent", "/nonexistent"),
                         ("--host-label=a-b", "letters"), ("--otlp=ftp://x/", "ftp://x/"), ("more", "more")):
        answer = subprocess.run([GPUWATCH, "agent", "--dir=" + SEGMENTS, *option.split()], capture_output=True, text=True,
                                timeout=60)
        assert answer.returncode == 2 and says in answer.stderr and answer.stderr.count("\n") == 1, (option, answer)
    answer = subprocess.run([GPUWATCH, "health", f"--agent=127.0.0.1:{free_port()}"], capture_output=True, text=True)
    assert answer.returncode == 2 and "gpuwatch agent" in answer.stderr, answer


def answered(body, pause=0):
    """gpuwatch health, where something else than an agent answers, a byte at a time if @p pause."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = server.accept()
        client.recv(4096)  # closing with the request unread would reset the connection
        text = b"HTTP/1.1 200 OK\r\n\r\n" + body
        try:
            for piece in [text[i:i + 1] for i in range(len(text))] if pause else [text]:
                client.sendall(piece)
                time.sleep(pause)
        except OSError:
            pass
        client.close()

    threading.Thread(target=serve, daemon=True).start()
    return subprocess.run([GPUWATCH, "health", f"--timeout={1 if pause else 30}", f"--agent=127.0.0.1:{server.getsockname()[1]}"],
                          capture_output=True, text=True)


def health_waits_no_longer_for_an_answer_that_drips():
    answer = answered(b"{}" * 10, 0.2)
    assert answer.returncode == 2 and "does not answer within 1 s" in answer.stderr, answer


def health_prints_no_control_characters_and_no_time_that_is_none():
    slow = {"state": "slow", "resource": "clock\033[2J", "since_ns": 1e300}
    gpu = {"gpu": 0, "uuid": "GPU-\033[2J", "model": "m", "state": "\033[2J", "resources": [slow]}
    answer = answered(json.dumps({"schema": "gpuwatch-health-1", "gpus": [gpu]}).encode())
    assert "since an unknown time" in answer.stdout and "\033" not in answer.stdout, answer


def health_says_by_its_status_whether_a_gpu_is_slow():
    for states, status in ((("healthy", "slow"), 1), (("healthy", "unknown"), 0), ((), 0)):
        gpus = [{"gpu": i, "uuid": "GPU", "model": "m", "state": state, "resources": []} for i, state in enumerate(states)]
        answer = answered(json.dumps({"schema": "gpuwatch-health-1", "gpus": gpus}).encode())
        assert answer.returncode == status, answer


def health_refuses_a_socket_path_that_is_too_long():
    answer = subprocess.run([GPUWATCH, "health", "--agent=unix:/" + "x" * 200], capture_output=True, text=True)
    assert answer.returncode == 2 and "too long" in answer.stderr, answer


def the_metrics_pass_promtool():
    if not shutil.which("promtool"):
        print("skipped: promtool is not here (Debian: prometheus)")
        finish(77)
    segment()
    text = subprocess.run([GPUWATCH, "agent", "--once", "--dir=" + SEGMENTS], capture_output=True).stdout
    answer = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    # modelName is what dcgm-exporter calls it.
    complaints = [line for line in answer.stderr.decode().splitlines() if "'snake_case' not 'camelCase'" not in line]
    assert not complaints and answer.returncode in (0, 3), (answer.returncode, complaints)


try:
    globals()[CASE]()
except AssertionError:
    import traceback
    traceback.print_exc()
    finish(1)
finish(0)
