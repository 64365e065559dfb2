# SPDX-License-Identifier: Apache-2.0
"""Seeds of fuzz_live: changes to a good segment (tests/fuzz/fuzz_live.c), as offset, length and bytes."""
import struct

PAGE = 4096
SIZE = 4 << 20
SKETCH = 5 * 8 + 2 * 4 + 64 * 8
# Of a head: where its fields are. Rings and sections follow the names of the log.
HEAD = {"magic": 0, "version": 4, "tick_khz": 52, "entries_used": 64, "log_turn": 72, "adding": 80, "control": 96, "boot_id": 384,
        "ring": 384 + 64 + 256 + 2 * 4112}
# (name, bytes of an element, 1/share of the file or 0, most)
SECTIONS = [("kernels", 1, 0, 1 << 20), ("graphs", 8, 0, 1 << 14), ("chunks", 128, 16, 1 << 14), ("streams", 24, 0, 1 << 14),
            ("totals", 16 + 16 * 8 + 8 + 128 * 8, 0, 1), ("devices", 8 + 3 * 8 + SKETCH + 24, 0, 16),
            ("configs", 112 + 2 * SKETCH, 8, 1 << 16), ("sums", 48, 0, 1 << 13), ("entries", 80, 4, 1 << 24)]
at = HEAD["ring"] + 256 * 48
OFFSET = {}
for number, (section, size, share, most) in enumerate(SECTIONS):
    HEAD[section] = at + 16 * number
at = (at + 16 * len(SECTIONS) + PAGE - 1) // PAGE * PAGE
for section, size, share, most in SECTIONS:
    count = min(most, SIZE // share // size) if share else most
    OFFSET[section] = at
    at += (size * count + PAGE - 1) // PAGE * PAGE
WORDS = SIZE - 8192
RING = SIZE - 4096


def change(offset, content):
    return struct.pack("<IB", offset, len(content)) + content


def files(root):
    word = struct.Struct("<I").pack
    seeds = {
        "as_it_is": b"",
        "no_magic": change(0, bytes(4)),
        "zeroed_head": change(0, bytes(128)),
        "kernels_outside": change(HEAD["kernels"], struct.pack("<Q", 1 << 63)),
        "entries_outside": change(HEAD["entries"] + 12, word(0xffffffff)),
        "configs_of_another_size": change(HEAD["configs"] + 8, word(8)),
        "ring_outside": change(HEAD["ring"], struct.pack("<Q", 1 << 40)),
        "ring_crossed": change(WORDS, word(1) + word(0) + word(9)),
        "chunk_circle": change(OFFSET["chunks"] + 2 * 128, word(1)),
        "chunk_count": change(OFFSET["chunks"] + 128 + 4, word(0xffffffff)),
        "kernel_length": change(OFFSET["kernels"], word(7)),
        "kernel_long": change(OFFSET["kernels"], word(1 << 19)),
        "unknown_nodes": change(OFFSET["graphs"] + 8, struct.pack("<Q", 3 << 32 | 1)),
        "inner": change(WORDS + 4, word(7)) + change(RING + 6 * 64, struct.pack("<QBB", 9, 0, 16)),
        "entry_of_no_ring": change(OFFSET["entries"], word(257)),
        "span_no_integer_holds": change(35, b"W\x08Q\x12\x00") + change(HEAD["tick_khz"], word(45)),
        "lone": change(OFFSET["entries"] + 3 * 80 + 4, word(2)),
        "sketch_schema": change(OFFSET["configs"] + 112 + 40, word(0x80000000) + word(0x7fffffff)),
        "sketch_coarse": change(OFFSET["configs"] + 112 + 40, word(0xffffffff) + word(0xfffffe00)),
        "sketch_counts": change(OFFSET["configs"] + 112 + 48, b"\xff" * 200),
        "config_written": change(OFFSET["configs"], word(1)),
        "device_gap": change(OFFSET["devices"] + 32, b"\xff" * 48),
        "counters": change(OFFSET["totals"] + 16 + 128 + 4, word(0xffffffff)),
        "stream": change(OFFSET["streams"] + 24, word(1 << 20) + word(64)) + change(RING + 2 * 64 + 14, struct.pack("<H", 1)),
        "log_names": change(HEAD["log_turn"], word(0xffffffff)),
        "sum_of_others": change(OFFSET["sums"], word(0)),
        "sum_unknown": change(OFFSET["sums"], word(1 << 30)),
        "sum_in_file": change(OFFSET["sums"] + 4, word(0)),
        "sum_times": change(OFFSET["sums"] + 12, b"\xff" * 36),
        "sum_other_half": change(OFFSET["sums"] + 48 * 4096, word(1) + word(0xffffffff) + word(5)),
        "adding_outside": change(HEAD["adding"], word(0xffffffff) + word(0xffffffff)),
        "adding_not_yet": change(HEAD["adding"] + 8, word(4)),
        "control": change(HEAD["control"], b"\xff" * 24),
        "with_a_log": struct.pack("<IB", 0xffffffff, 0) + b"GWB2" + bytes(60),
    }
    for name, content in seeds.items():
        yield "live", name, content
