#!/usr/bin/env python3
"""The files of fleet/: fleet.py CASE. Exit 77: the tool that checks it is not here."""
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FLEET = os.path.join(TREE, "fleet")


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def need(tool, package):
    if not shutil.which(tool):
        skip(f"{tool} is not here (Debian: {package})")


def yaml():
    try:
        import yaml as module
    except ImportError:
        skip("Python's yaml is not here (Debian: python3-yaml)")
    return module


def metrics():
    """Names of the series that the agent exports, by metrics.def."""
    names = set()
    with open(os.path.join(TREE, "cli/agent/metrics.def")) as lines:
        for kind, name in re.findall(r'^METRIC\(\w+, (\w+), "(\w+)"', lines.read(), re.M):
            if kind == "HISTOGRAM":
                names |= {name + end for end in ("_bucket", "_sum", "_count")}
            else:
                names.add(name + ("_total" if kind == "COUNTER" else ""))
    assert len(names) > 30
    return names


def named(text):
    return set(re.findall(r"\bgpuwatch_\w+\b", text))


def dashboard():
    with open(os.path.join(FLEET, "grafana/gpuwatch.json")) as file:
        return json.load(file)


# ---- cases ----

def rules():
    need("promtool", "prometheus")
    folder = os.path.join(FLEET, "prometheus")
    subprocess.run(["promtool", "check", "rules", "gpuwatch.rules.yml"], cwd=folder, check=True)
    subprocess.run(["promtool", "test", "rules", "gpuwatch.rules.test.yml"], cwd=folder, check=True)
    subprocess.run(["promtool", "check", "config", "prometheus.yml"], cwd=folder, check=True)


def every_alert_has_a_test():
    with open(os.path.join(FLEET, "prometheus/gpuwatch.rules.yml")) as file:
        alerts = set(re.findall(r"- alert: (\w+)", file.read()))
    with open(os.path.join(FLEET, "prometheus/gpuwatch.rules.test.yml")) as file:
        tested = set(re.findall(r"alertname: (\w+)", file.read()))
    assert alerts == tested and alerts, alerts ^ tested


def rules_and_panels_use_metrics_that_exist():
    known = metrics()
    with open(os.path.join(FLEET, "prometheus/gpuwatch.rules.yml")) as file:
        used = named(re.sub(r"gpuwatch:\w+:\w+", "", file.read()))
    for panel in dashboard()["panels"]:
        used |= named(" ".join(t["expr"] for t in panel["targets"]))
    assert used and used <= known, used - known


def the_dashboard_is_whole():
    board = dashboard()
    panels = board["panels"]
    assert len({p["id"] for p in panels}) == len(panels) > 8
    variables = {v["name"] for v in board["templating"]["list"]}
    cells = set()
    for panel in panels:
        assert panel["title"] and panel["description"], panel["id"]
        place = panel["gridPos"]
        assert 0 <= place["x"] and place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in cells, panel["title"] + " lies over another"
                cells.add((x, y))
        for target in panel["targets"]:
            used = set(re.findall(r"\$\{?(\w+)", target["expr"] + target["datasource"]["uid"]))
            assert used <= variables | {"__rate_interval"}, used


def panels_are_promql():
    need("promtool", "prometheus")
    out = ["groups:", "- name: panels", "  rules:"]
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "1m").replace("$hostname", ".*").replace("$UUID", ".*")
            out += [f"  - record: panel:{panel['id']}:{target['refId']}", "    expr: " + json.dumps(expression)]
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        file.write("\n".join(out) + "\n")
        file.flush()
        subprocess.run(["promtool", "check", "rules", file.name], check=True)


def units():
    need("systemd-analyze", "systemd")
    with tempfile.TemporaryDirectory() as folder:
        names = ("gpuwatch-agent.service", "gpuwatch-agent.socket", "gpuwatch-off.path", "gpuwatch-off.service")
        for name in names:
            with open(os.path.join(FLEET, "systemd", name)) as file:
                text = file.read()
            # It is not installed here, and neither is its manual.
            text = text.replace("/usr/bin/gpuwatch", "/bin/true").replace("Documentation=man:gpuwatch-agent(1)\n", "").replace("Documentation=man:gpuwatch-ctl(1)\n", "")
            with open(os.path.join(folder, name), "w") as out:
                out.write(text)
        os.mkdir(os.path.join(folder, "server.service.d"))
        shutil.copy(os.path.join(FLEET, "systemd/gpuwatch.conf"), os.path.join(folder, "server.service.d"))
        with open(os.path.join(folder, "server.service"), "w") as out:
            out.write("[Service]\nExecStart=/bin/true\n")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", os.path.join(folder, "server.service"),
                               *(os.path.join(folder, name) for name in names)], capture_output=True, text=True)
        complaints = [line for line in done.stderr.splitlines() if "gpuwatch" in line or folder in line]
        assert not complaints, complaints


def manifests():
    load = yaml().safe_load_all
    kinds = []
    for name in sorted(os.listdir(os.path.join(FLEET, "kubernetes"))):
        path = os.path.join(FLEET, "kubernetes", name)
        if name.endswith(".yaml"):
            with open(path) as file:
                for document in load(file):
                    assert document["apiVersion"] and document["metadata"]["name"]
                    kinds.append(document["kind"])
                    if document["kind"] == "DaemonSet":
                        daemon_set(document)
        elif name.endswith(".json"):
            with open(path) as file:
                json.load(file)
    assert "DaemonSet" in kinds


def manifests_follow_the_schema_of_kubernetes():
    try:
        import kubernetes_validate
    except ImportError:
        skip("Python's kubernetes-validate is not here (PyPI)")
    with open(os.path.join(FLEET, "kubernetes/daemonset.yaml")) as file:
        documents = list(yaml().safe_load_all(file))
    for version in ("1.25", "1.31", kubernetes_validate.latest_version()):
        for document in documents:
            kubernetes_validate.validate(document, version, strict=True)
    documents[-1]["spec"]["template"]["spec"]["hostPids"] = True
    try:
        kubernetes_validate.validate(documents[-1], version, strict=True)
    except kubernetes_validate.ValidationError:
        return
    assert False, "an unknown field was taken"


def daemon_set(d):
    pod = d["spec"]["template"]["spec"]
    labels = d["spec"]["template"]["metadata"]["labels"]
    assert d["spec"]["selector"]["matchLabels"].items() <= labels.items()
    volumes = {v["name"] for v in pod["volumes"]}
    for c in pod["containers"]:
        assert {m["name"] for m in c["volumeMounts"]} == volumes
        assert all(m["readOnly"] for m in c["volumeMounts"]), "the agent writes nothing"
        security = c["securityContext"]
        assert security["readOnlyRootFilesystem"] and security["runAsNonRoot"]
        assert not security["allowPrivilegeEscalation"] and security["capabilities"] == {"drop": ["ALL"]}
        # What it is started with are options that there are.
        for argument in c["args"][1:]:
            option = argument.split("=")[0][2:].replace("-", "_")
            with open(os.path.join(TREE, "cli/agent/agent.c")) as source:
                assert re.search(r"GW_OPT_\w+\(" + option + r"\b", source.read()), option


def the_image_fits_the_daemon_set():
    with open(os.path.join(FLEET, "kubernetes/Containerfile")) as file:
        recipe = file.read()
    with open(os.path.join(FLEET, "kubernetes/daemonset.yaml")) as file:
        manifest = file.read()
    user, group = re.search(r"^USER (\d+):(\d+)$", recipe, re.M).groups()
    assert f"runAsUser: {user}\n" in manifest and f"runAsGroup: {group}\n" in manifest
    # The libraries that the agent opens, by Debian's names.
    for source in ("cli/agent/http.c", "cli/agent/curl/curl.h"):
        with open(os.path.join(TREE, source)) as file:
            library, version = re.search(r'"(lib\w+)\.so\.(\d+)"', file.read()).groups()
        assert library + version in recipe.split(), library + version


def has_only(fields, known):
    assert set(fields) <= set(known.split()), set(fields) - set(known.split())


def container_edits():
    with open(os.path.join(FLEET, "kubernetes/cdi.json")) as file:
        spec = json.load(file)
    # A runtime refuses versions newer than its own, Podman 4.3 of Debian 12 those from 0.6.0 on: the first, whose fields suffice.
    assert re.fullmatch(r"[a-z.]+/[a-z]+", spec["kind"]) and spec["cdiVersion"] == "0.3.0"
    has_only(spec, "cdiVersion kind devices containerEdits")
    for edits in (spec["containerEdits"], *(d["containerEdits"] for d in spec["devices"])):
        has_only(edits, "env deviceNodes mounts hooks")
        for mount in edits.get("mounts", ()):
            has_only(mount, "hostPath containerPath options")
            assert mount["hostPath"].startswith("/") and all(isinstance(o, str) for o in mount["options"])
    for device in spec["devices"]:
        has_only(device, "name containerEdits")
        assert re.fullmatch(r"[A-Za-z][\w.:-]*", device["name"])
    mounted = [m["containerPath"] for m in spec["containerEdits"]["mounts"]]
    with open(os.path.join(TREE, "predictor/core/config.def")) as file:
        options = set(re.findall(r'"(GPUWATCH_\w+)"', file.read()))
    with open(os.path.join(FLEET, "kubernetes/daemonset.yaml")) as file:
        group = re.search(r"runAsGroup: (\d+)", file.read())[1]
    for device in spec["devices"]:
        assert "GPUWATCH_RUN_GROUP=" + group in device["containerEdits"]["env"], "the agent reads the segments"
        for variable in device["containerEdits"]["env"]:
            name, value = variable.split("=", 1)
            assert name == "LD_PRELOAD" or name in options, name
            if value.startswith("/"):
                assert any(value.startswith(path) for path in mounted), value


def scripts_are_clean():
    need("shellcheck", "shellcheck")
    paths = [os.path.join(FLEET, p) for p in ("slurm/prolog.sh", "slurm/task_prolog.sh", "slurm/health_check.sh", "kubernetes/gpu-slow")]
    paths.append(os.path.join(TREE, "examples/fleet/run"))
    for path in paths:
        assert os.stat(path).st_mode & stat.S_IXUSR, path
    subprocess.run(["shellcheck", *paths], check=True)


SLOW = """GPU 0  GPU-a  H200  healthy
GPU 3  GPU-b  H200  slow
  memory: 4.2% slow since 2026-11-26 14:02:00, log-likelihood ratio 51
    50.0%  +4.2%  10 launches, expected 1.00 us, took 1.04 us  copy
"""


def with_health(status, text, script, **environment):
    """Run @p script where `gpuwatch health` says @p text and ends with @p status."""
    with tempfile.TemporaryDirectory() as folder:
        for name, body in (("gpuwatch", f"cat {folder}/text; exit {status}"), ("scontrol", f'echo "$@" >{folder}/said')):
            path = os.path.join(folder, name)
            with open(path, "w") as out:
                out.write("#!/bin/sh\n" + body + "\n")
            os.chmod(path, 0o755)
        with open(os.path.join(folder, "text"), "w") as out:
            out.write(text)
        done = subprocess.run([os.path.join(FLEET, script)], capture_output=True, text=True,
                              env={"PATH": folder + ":" + os.environ["PATH"], **environment})
        said = os.path.join(folder, "said")
        if not os.path.exists(said):
            return done.returncode, done.stdout, None
        with open(said) as file:
            return done.returncode, done.stdout, file.read().strip()


def the_prolog_makes_a_folder_that_the_group_reads():
    if os.getuid():
        skip("a folder is given away by root alone")
    group = "games"
    import grp
    try:
        number = grp.getgrnam(group).gr_gid
    except KeyError:
        skip("there is no group games")

    def made(**environment):
        with tempfile.TemporaryDirectory() as shm:
            os.chmod(shm, 0o755)
            if "LINK" in environment:
                os.symlink("/etc", os.path.join(shm, "gpuwatch-1234"))
            subprocess.run([os.path.join(FLEET, "slurm/prolog.sh")], check=True,
                           env={"PATH": os.environ["PATH"], "GPUWATCH_SHM": shm, "GPUWATCH_GROUP": group,
                                "GPUWATCH_KILL_SWITCH": "/nonexistent", "SLURM_JOB_UID": "1234", **environment})
            path = os.path.join(shm, "gpuwatch-1234")
            return os.lstat(path) if os.path.lexists(path) else None
    st = made()
    assert (st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)) == (1234, number, 0o2750), st
    assert stat.S_ISLNK(made(LINK="1").st_mode) and os.stat("/etc").st_uid == 0
    assert made(GPUWATCH_KILL_SWITCH="/bin/sh") is None
    assert made(GPUWATCH_GROUP="no-such-group") is None
    # Whose it is by then may put a link in its place.
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "target")
        os.mkdir(target, 0o700)
        with open(os.path.join(folder, "chown"), "w") as file:
            file.write(f'#!/bin/sh\n/bin/chown "$@" && mv "$3" "$3.own" && ln -s {target} "$3"\n')
        os.chmod(file.name, 0o755)
        assert stat.S_ISLNK(made(PATH=folder + ":" + os.environ["PATH"]).st_mode)
        assert stat.S_IMODE(os.stat(target).st_mode) == 0o700


def slurm_drains_a_node_with_a_slow_gpu():
    status, _, said = with_health(1, SLOW, "slurm/health_check.sh", SLURMD_NODENAME="n7")
    assert status == 0
    assert said == ("update nodename=n7 state=drain reason=gpuwatch: GPU 3: memory: 4.2% slow since 2026-11-26 14:02:00"), said
    for other in (0, 2):
        assert with_health(other, "", "slurm/health_check.sh", SLURMD_NODENAME="n7")[::2] == (0, None)


def kubernetes_gets_a_condition():
    status, out, _ = with_health(1, SLOW, "kubernetes/gpu-slow")
    assert status == 1 and out == "GPU-b memory: 4.2%", (status, out)
    assert len(out) <= 80
    assert with_health(0, "GPU 0 GPU-a H200 healthy\n", "kubernetes/gpu-slow")[:2] == (0, "")
    assert with_health(2, "", "kubernetes/gpu-slow")[:2] == (2, "")


def the_task_prolog_respects_who_decided_otherwise():
    def exports(**environment):
        return subprocess.run([os.path.join(FLEET, "slurm/task_prolog.sh")], capture_output=True, text=True, check=True,
                              env={"PATH": os.environ["PATH"], "GPUWATCH_LIBRARY": "/bin/sh",
                                   "GPUWATCH_KILL_SWITCH": "/nonexistent", **environment}).stdout
    assert exports() == ""
    assert "export LD_PRELOAD=/bin/sh\n" in exports(SLURM_JOB_GPUS="0")
    assert exports(SLURM_JOB_GPUS="0", LD_PRELOAD="libmine.so", LD_BIND_NOW="1") == ""
    assert exports(SLURM_JOB_GPUS="0", GPUWATCH_MODE="off") == ""
    assert "export GPUWATCH_MODE=count\n" in exports(SLURM_JOB_GPUS="0", GPUWATCH_MODE="count")
    assert exports(SLURM_JOB_GPUS="0", GPUWATCH_KILL_SWITCH="/bin/sh") == ""
    assert exports(SLURM_JOB_GPUS="0", GPUWATCH_LIBRARY="/nonexistent") == ""


globals()[sys.argv[1]]()
