#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pm_columns.py: a recording of pm_record.c with its numbers by columns, which xz packs to half.

usage: pm_columns.py pack RECORDING COLUMNS
       pm_columns.py unpack COLUMNS RECORDING
Of each window (struct pm_recorded) the head stays as it is. Of its samples, and then of its runs, come all first words of
64 bits, then all second ones, and of each of these all first bytes, then all second ones. The two times that samples and
runs begin with are kept as what the first adds to the first of the row before, and the second to the first."""
import struct
import sys

HEAD, SAMPLE, RUN = 40, 14, 3  # bytes; words in a struct gw_sample and a struct gw_interval
WORD = 1 << 64


def pack_rows(data, words):
    columns = [struct.unpack(f"<{len(data) // 8}Q", data)[at::words] for at in range(words)]
    begins, ends = columns[:2]
    columns[0] = [(now - before) % WORD for before, now in zip((0, *begins), begins)]
    columns[1] = [(end - begin) % WORD for begin, end in zip(begins, ends)]
    columns = [struct.pack(f"<{len(column)}Q", *column) for column in columns]
    return b"".join(column[byte::8] for column in columns for byte in range(8))


def unpack_rows(data, words):
    count, columns = len(data) // 8 // words, []
    for at in range(words):
        column = bytearray(8 * count)
        for byte in range(8):
            first = (8 * at + byte) * count
            column[byte::8] = data[first:first + count]
        columns.append(struct.unpack(f"<{count}Q", column))
    begins, begin = [], 0
    for step in columns[0]:
        begin = (begin + step) % WORD
        begins.append(begin)
    columns[:2] = begins, [(begin + length) % WORD for begin, length in zip(begins, columns[1])]
    return struct.pack(f"<{words * count}Q", *(word for row in zip(*columns) for word in row))


def turned(data, rows):
    """All windows of @p data, their rows led through @p rows."""
    at, out = 0, []
    while at < len(data):
        out.append(data[at:at + HEAD])
        samples, runs = struct.unpack("<QQ", out[-1][-16:])
        at += HEAD
        for count, words in ((samples, SAMPLE), (runs, RUN)):
            out.append(rows(data[at:at + 8 * words * count], words))
            at += 8 * words * count
    return b"".join(out)


def pack(recording):
    return turned(recording, pack_rows)


def unpack(columns):
    return turned(columns, unpack_rows)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    with open(sys.argv[2], "rb") as source, open(sys.argv[3], "wb") as target:
        target.write({"pack": pack, "unpack": unpack}[sys.argv[1]](source.read()))
