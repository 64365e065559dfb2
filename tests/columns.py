#!/usr/bin/env python3
"""columns.py: recordings with their numbers by columns, which xz packs to half.

usage: columns.py pack FILE...      writes FILE.columns beside each
       columns.py unpack FOLDER     each FILE.columns below it becomes FILE; FOLDER.numbered (tests/archive) a folder
Of a log (.gwl, blocks of whole records) the blocks' headers come first, then how each record begins, then the records by
kind and length, of a device profile's text what differs from the H200's in calib/profiles (who calibrates anew unpacks the logs
before, and packs them again after); of windows of samples (.rec, struct pm_recorded) the heads, the samples, the runs. The rows of each lie
by words, all first ones, then all second ones, and of each word all first bytes, then all second ones; as numbers or as
what each adds to the one before, whichever packs better. The second time of samples and runs is kept as what it adds to
the first. A table (.csv) is turned. Of launches in a log the times between
them may lie instead. Of a listing of machine code (.lst) the texts come first, then the code, 16 bytes each."""
import functools
import itertools
import lzma
import operator
import os
import pathlib
import struct
import sys
import tarfile

BLOCK, HEAD, SAMPLE, RUN = 16, 40, 112, 24  # bytes: header of a block, struct pm_recorded, gw_sample, gw_interval
LAUNCH, CALL = b"\x09\0", 32  # of log records: kind of a launch's, bytes before its times
PROFILE, TEXT = b"\x0d\0", 16  # kind of a profile's, bytes before its text


def planes(numbers, word):
    data = b"".join(number.to_bytes(word, "little") for number in numbers)
    return b"".join(data[byte::word] for byte in range(word))


def pack_rows(rows, size, word):
    """Rows of @p size bytes each, one after the other: first whether they lie by columns."""
    columns = []
    for at in range(0, size, word):
        numbers = [int.from_bytes(rows[row + at:row + at + word], "little") for row in range(0, len(rows), size)]
        steps = [(now - before) % (1 << 8 * word) for before, now in zip((0, *numbers), numbers)]
        columns.append(min((bytes([way]) + planes(column, word) for way, column in enumerate((numbers, steps))),
                           key=lambda packed: len(lzma.compress(packed))))
    return min((b"\0" + rows, b"\1" + b"".join(columns)), key=lambda packed: len(lzma.compress(packed)))


def unpack_rows(take, count, size, word):
    if not take(1)[0]:
        return take(count * size)
    columns = []
    for _ in range(0, size, word):
        steps, column = take(1)[0], bytearray(count * word)
        for byte in range(word):
            column[byte::word] = take(count)
        numbers = [int.from_bytes(column[row:row + word], "little") for row in range(0, len(column), word)]
        if steps:
            numbers = [number % (1 << 8 * word) for number in itertools.accumulate(numbers)]
        columns.append([number.to_bytes(word, "little") for number in numbers])
    return b"".join(itertools.chain.from_iterable(zip(*columns)))


def taker(data):
    at = 0

    def take(count):
        nonlocal at
        at += count
        return data[at - count:at]
    return take


def groups(begins):
    """{how records begin: how many}, in the order in which they come first."""
    found = {}
    for begin in begins:
        found[begin] = found.get(begin, 0) + 1
    return found


@functools.cache
def shipped():
    with tarfile.open(pathlib.Path(__file__).resolve().parents[1] / "calib/profiles/calibrated.tar.xz") as tar:
        return tar.extractfile("nvidia-h200.json").read()


def beside_shipped(record):
    """@p record; of a PROFILE the text by exclusive or with the shipped one, which the second time brings it back."""
    if record[:2] != PROFILE:
        return record
    at, length = struct.unpack_from("<I", record, 8)[0], len(record) - TEXT
    return record[:TEXT] + bytes(map(operator.xor, record[TEXT:], shipped()[at:at + length].ljust(length, b"\0")))


def waited(rows, size, there):
    """@p rows of LAUNCH: its call as the time from there to its start, this as the time since the launch before ended; and back."""
    out, ended = bytearray(rows), 0
    for at in range(0, len(rows), size):
        call, start, took = struct.unpack_from("<QQQ", rows, at + CALL)
        known = start if there else (start + ended) % (1 << 64)
        struct.pack_into("<QQ", out, at + CALL, (known - call) % (1 << 64), (start - ended) % (1 << 64) if there else known)
        ended = known + took
    return bytes(out)


def pack_records(begin, rows):
    size = len(rows[0])
    ways = [b"\0" + pack_rows(b"".join(rows), size, 4)]
    if begin[:2] == LAUNCH:
        ways.append(b"\1" + pack_rows(waited(b"".join(rows), size, True), size, 4))
    return min(ways, key=lambda packed: len(lzma.compress(packed)))


def unpack_records(take, count, size):
    way, rows = take(1)[0], unpack_rows(take, count, size, 4)
    return waited(rows, size, False) if way else rows


def pack_log(log):
    take, headers, rows, begins, at = taker(log), [], {}, [], 0
    while at < len(log):
        headers.append(take(BLOCK))
        at += BLOCK
        end = at + struct.unpack("<I", headers[-1][4:8])[0]
        while at < end:
            begins.append(log[at:at + 4])
            record = beside_shipped(take(struct.unpack("<H", begins[-1][2:])[0]))
            rows.setdefault(begins[-1], []).append(record)
            at += len(record)
    return (struct.pack("<II", len(headers), len(begins)) + b"".join(headers) + pack_rows(b"".join(begins), 4, 4)
            + b"".join(pack_records(begin, rows[begin]) for begin in groups(begins)))


def unpack_log(columns):
    take = taker(columns)
    blocks, records = struct.unpack("<II", take(8))
    headers = [take(BLOCK) for _ in range(blocks)]
    begins = unpack_rows(take, records, 4, 4)
    begins = [begins[at:at + 4] for at in range(0, len(begins), 4)]
    size = {begin: struct.unpack("<H", begin[2:])[0] for begin in begins}
    rows = {begin: taker(unpack_records(take, count, size[begin])) for begin, count in groups(begins).items()}
    body = taker(b"".join(beside_shipped(rows[begin](size[begin])) for begin in begins))
    return b"".join(header + body(struct.unpack("<I", header[4:8])[0]) for header in headers)


def timed(rows, size, sign):
    """@p rows whose second word, a time, had the first one subtracted (-1) or added (1)."""
    out = bytearray(rows)
    for at in range(0, len(rows), size):
        first, second = struct.unpack_from("<QQ", rows, at)
        struct.pack_into("<Q", out, at + 8, (second + sign * first) % (1 << 64))
    return bytes(out)


def pack_windows(recording):
    take, parts, at = taker(recording), (bytearray(), bytearray(), bytearray()), 0
    while at < len(recording):
        head = take(HEAD)
        samples, runs = struct.unpack("<QQ", head[-16:])
        for part, rows in zip(parts, (head, take(samples * SAMPLE), take(runs * RUN))):
            part += rows
            at += len(rows)
    heads, samples, runs = map(bytes, parts)
    return (struct.pack("<III", len(heads) // HEAD, len(samples) // SAMPLE, len(runs) // RUN) + pack_rows(heads, HEAD, 8)
            + pack_rows(timed(samples, SAMPLE, -1), SAMPLE, 8) + pack_rows(timed(runs, RUN, -1), RUN, 8))


def unpack_windows(columns):
    take = taker(columns)
    windows, samples, runs = struct.unpack("<III", take(12))
    heads = unpack_rows(take, windows, HEAD, 8)
    sample = taker(timed(unpack_rows(take, samples, SAMPLE, 8), SAMPLE, 1))
    run = taker(timed(unpack_rows(take, runs, RUN, 8), RUN, 1))
    out = []
    for at in range(0, len(heads), HEAD):
        count, ran = struct.unpack("<QQ", heads[at + HEAD - 16:at + HEAD])
        out += heads[at:at + HEAD], sample(count * SAMPLE), run(ran * RUN)
    return b"".join(out)


def turned(table):
    return "".join(",".join(row) + "\n" for row in zip(*(line.split(",") for line in table.decode().splitlines()))).encode()


def pack_listing(listing):
    texts, code = [], b""
    for line in listing.decode().splitlines():
        if not line.startswith(("=", "#")):
            _, high, low, *text = line.split(" ", 3)
            code += bytes.fromhex(high + low)[::-1]
            line = "".join(text)
        texts.append(line)
    text = "\n".join(texts).encode()
    return struct.pack("<I", len(text)) + text + code


def unpack_listing(columns):
    take, lines = taker(columns), []
    for line in take(struct.unpack("<I", take(4))[0]).decode().split("\n"):
        if not line.startswith(("=", "#")):
            code = take(16)[::-1].hex()
            line = f"0 {code[:16]} {code[16:]} {line}".rstrip()
        lines.append(line + "\n")
    return "".join(lines).encode()


NUMBERED = ".numbered"


def joined(contents):
    return " ".join(str(len(content)) for content in contents).encode() + b"\n" + b"".join(contents)


def told_apart(files):
    """@p files, {name: content}, with each entry of numbered files as these."""
    out = {}
    for name, content in files.items():
        if not name.endswith(NUMBERED):
            out[name] = content
            continue
        sizes, _, body = content.partition(b"\n")
        sizes, take = sizes.split(), taker(body)
        width = len(str(len(sizes) - 1))
        out.update((os.path.join(name[:-len(NUMBERED)], f"{number:0{width}}"), take(int(size))) for number, size in enumerate(sizes))
    return out


FORMS = {".gwl": (pack_log, unpack_log), ".rec": (pack_windows, unpack_windows), ".csv": (turned, turned), ".lst": (pack_listing, unpack_listing)}


def main(action, *paths):
    if action == "pack":
        for path in map(pathlib.Path, paths):
            there, back = FORMS[path.suffix]
            data = path.read_bytes()
            columns = there(data)
            if back(columns) != data:
                sys.exit(f"columns.py: {path} does not come back")
            path.with_name(path.name + ".columns").write_bytes(columns)
    else:
        for path in sorted(pathlib.Path(paths[0]).rglob("*.columns")):
            path.with_suffix("").write_bytes(FORMS[path.with_suffix("").suffix][1](path.read_bytes()))
            path.unlink()
        for path in sorted(pathlib.Path(paths[0]).rglob("*" + NUMBERED)):
            path.with_suffix("").mkdir(exist_ok=True)
            for name, content in told_apart({str(path): path.read_bytes()}).items():
                pathlib.Path(name).write_bytes(content)
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
