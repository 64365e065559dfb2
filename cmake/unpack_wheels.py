"""unpack_wheels.py FOLDER WHEEL...: the headers, nvcc and libcupti of NVIDIA's wheels.

A wheel keeps them under nvidia/<something>/; they land in FOLDER as a toolkit has them.
"""
import pathlib
import shutil
import sys
import zipfile


def wanted(parts):
    if len(parts) < 4 or parts[0] != "nvidia" or ".." in parts:
        return False
    return parts[2] in ("include", "bin", "nvvm") or (
        parts[2] == "lib" and parts[-1].startswith("libcupti.so"))


def main(folder, *wheels):
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                parts = pathlib.PurePosixPath(name).parts
                if name.endswith("/") or not wanted(parts):
                    continue
                target = pathlib.Path(folder, *parts[2:])
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as source, open(target, "wb") as out:
                    shutil.copyfileobj(source, out)
                if "bin" in parts:  # a wheel's own marks of what is a program are pip's to read
                    target.chmod(0o755)


main(*sys.argv[1:])
