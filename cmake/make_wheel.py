#!/usr/bin/env python3
"""make_wheel.py CMAKE BUILD VERSION MACHINE PYTHON OUT: the installed tree and the package in PYTHON as a wheel, in OUT.

pip puts the folder `data` of a wheel below the prefix of its Python, where the command finds the library beside it.
What the files need of glibc is what the tag says: 2.34 (tests/house/package.sh holds them to it). The wheel's bytes
depend on the tree alone: entries are sorted, and have the time of SOURCE_DATE_EPOCH, or of 1980."""
import base64
import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import time
import zipfile

TAG = "py3-none-manylinux_2_34_{machine}"


def installed(cmake, build):
    """{path below the prefix: (bytes, mode)}."""
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([cmake, "--install", build, "--prefix", prefix, "--strip"], check=True, stdout=subprocess.DEVNULL)
        found = {}
        for folder, _, names in os.walk(prefix):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, prefix)] = file.read(), os.stat(path).st_mode
        return found


def package(folder):
    """{path below the folder: (bytes, mode)} of Python sources."""
    found = {}
    for name in sorted(os.listdir(os.path.join(folder, "gpuwatch"))):
        if name.endswith((".py", ".typed")):
            with open(os.path.join(folder, "gpuwatch", name), "rb") as file:
                found["gpuwatch/" + name] = file.read(), 0o644
    return found


def main():
    cmake, build, version, machine, python, out = sys.argv[1:]
    tag = TAG.format(machine=machine)
    info = f"gpuwatch-{version}.dist-info"
    entries = {f"gpuwatch-{version}.data/data/{path}": entry for path, entry in installed(cmake, build).items()}
    entries.update(package(python))
    entries[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: gpuwatch\nVersion: {version}\nSummary: Predicts and measures every "
                                   "CUDA kernel of an unmodified program\nLicense: Apache-2.0\nRequires-Python: >=3.7\n"
                                   "Provides-Extra: pandas\nRequires-Dist: pandas; extra == 'pandas'\n"
                                   "Requires-Dist: pyarrow; extra == 'pandas'\n").encode(), 0o644
    entries[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: gpuwatch\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                     for path, (data, _) in sorted(entries.items()))
    entries[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode(), 0o644
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]
    path = os.path.join(out, f"gpuwatch-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, (data, mode) in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (stat.S_IFREG | (0o755 if mode & 0o111 else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(path)


main()
