# SPDX-License-Identifier: Apache-2.0
"""Seeds of fuzz_live: changes to a good segment (tests/fuzz/fuzz_live.c), as offset, length and bytes."""
import struct

HEAD = {"magic": 0, "version": 4, "tick_khz": 44, "kernels": 56, "graphs": 72, "chunks": 80, "chunks_max": 88,
        "entries": 96, "entries_max": 104, "entries_used": 108, "ring": 112 + 64 + 256 + 4112}
RINGS_END = HEAD["ring"] + 256 * 48
KERNELS = (RINGS_END + 4095) // 4096 * 4096
GRAPHS = KERNELS + (1 << 20)
CHUNKS = GRAPHS + (1 << 14) * 8
ENTRIES = CHUNKS + 64 * 128
WORDS = ENTRIES + 64 * 80
RING = WORDS + 64


def change(offset, content):
    return struct.pack("<IB", offset, len(content)) + content


def files(root):
    word = struct.Struct("<I").pack
    seeds = {
        "as_it_is": b"",
        "no_magic": change(0, bytes(4)),
        "zeroed_head": change(0, bytes(128)),
        "kernels_outside": change(HEAD["kernels"], struct.pack("<Q", 1 << 63)),
        "entries_outside": change(HEAD["entries_max"], word(0xffffffff)),
        "ring_outside": change(HEAD["ring"], struct.pack("<Q", 1 << 40)),
        "ring_crossed": change(WORDS, word(1) + word(0) + word(9)),
        "chunk_circle": change(CHUNKS + 2 * 128, word(1)),
        "chunk_count": change(CHUNKS + 128 + 4, word(0xffffffff)),
        "kernel_length": change(KERNELS, word(7)),
        "kernel_long": change(KERNELS, word(1 << 19)),
        "unknown_nodes": change(GRAPHS + 8, struct.pack("<Q", 3 << 32 | 1)),
        "inner": change(WORDS + 4, word(7)) + change(RING + 6 * 64, struct.pack("<QBB", 9, 0, 16)),
        "entry_of_no_ring": change(ENTRIES, word(257)),
        "with_a_log": struct.pack("<IB", 0xffffffff, 0) + b"GWB2" + bytes(60),
    }
    for name, content in seeds.items():
        yield "live", name, content
