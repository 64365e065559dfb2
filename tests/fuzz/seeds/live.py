"""Seeds of fuzz_live: changes to a good segment (tests/fuzz/fuzz_live.c), as offset, length and bytes."""
import re
import struct

from log import UNKNOWN
import log

PAGE, SIZE = 4096, 4 << 20
WORDS, RING = SIZE - 8192, SIZE - 4096
KINDS = {"char": 1, "unsigned char": 1, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4}  # others: 8 bytes


def layout(root):
    """By predictor/log/live.def: (where fields of the head are, where sections are, bytes of their elements)."""
    def text(name):
        return (root / "predictor" / name).read_text()
    constants = {name: eval(value) for name, value in re.findall(r"(GW_\w+) = (\d+(?: << \d+)?)\b", text("log/live.h") + text("core/sketch.h"))}
    types, head, sections = {}, {}, {}
    fields, at, align = head, 0, 8

    def field(kind, name, dims):
        nonlocal at, align
        size, own = types.get(kind.replace("struct gw_live_", ""), (KINDS.get(kind, 8),) * 2)
        align, at = max(align, own), -(-at // own) * own
        fields[name] = at
        for count in re.findall(r"\[(.*?)\]", dims):
            size *= eval(count or "0", constants.copy())
        at += size
    for kind, name, dims in re.findall(r"^SKETCH_FIELD\(([\w ]+), (\w+), (.*?),", text("core/sketch.def"), re.M):
        field(kind, name, dims)
    types["struct gw_sketch"], fields, at, align = (at, 8), {}, 0, 1
    for line in text("log/live.def").splitlines():
        macro, _, rest = line.partition("(")
        word = [w.strip() for w in rest.split(",")]
        if macro == "FIELD":
            field(*word[1:4])
        elif macro == "STRUCT_END":
            types[word[0].rstrip(")")] = -(-at // align) * align, align
            fields, at, align = {}, 0, 1
        elif macro == "HEAD_FIELD":
            fields = head
            field(*word[:3])
        elif macro == "SECTION":
            field("struct gw_live_section", word[0], "")
            size = types.get(word[1].replace("struct gw_live_", ""), (KINDS.get(word[1], 8),))[0]
            share, most = eval(word[2]), eval(word[3], constants.copy())
            sections[word[0]] = size, min(most, SIZE // share // size) if share else most
    offset, at = {}, -(-at // PAGE) * PAGE
    for name, (size, count) in sections.items():
        offset[name], at = at, at + -(-size * count // PAGE) * PAGE
    return head, offset, {name: size for name, (size, _) in sections.items()}


def change(offset, content):
    return struct.pack("<IB", offset, len(content)) + content


def files(root):
    word = struct.Struct("<I").pack
    head, offset, size = layout(root)
    seeds = {
        "as_it_is": b"",
        "no_magic": change(0, bytes(4)),
        "zeroed_head": change(0, bytes(128)),
        "kernels_outside": change(head["kernels"], struct.pack("<Q", 1 << 63)),
        "entries_outside": change(head["entries"] + 12, word(0xffffffff)),
        "configs_of_another_size": change(head["configs"] + 8, word(8)),
        "ring_outside": change(head["ring"], struct.pack("<Q", 1 << 40)),
        "ring_crossed": change(WORDS, word(1) + word(0) + word(9)),
        "chunk_circle": change(offset["chunks"] + 2 * 128, word(1)),
        "chunk_count": change(offset["chunks"] + 128 + 4, word(0xffffffff)),
        "kernel_length": change(offset["kernels"], word(7)),
        "kernel_long": change(offset["kernels"], word(1 << 19)),
        "unknown_nodes": change(offset["graphs"] + 8, struct.pack("<Q", 3 << 32 | 1)),
        "inner": change(WORDS + 4, word(7)) + change(RING + 6 * 64, struct.pack("<QBB", 9, 0, 16)),
        "entry_of_no_ring": change(offset["entries"], word(257)),
        "span_no_integer_holds": change(35, b"W\x08Q\x12\x00") + change(head["tick_khz"], word(45)),
        "lone": change(offset["entries"] + 3 * size["entries"] + 4, word(2)),
        "sketch_schema": change(offset["configs"] + 112 + 40, word(0x80000000) + word(0x7fffffff)),
        "sketch_coarse": change(offset["configs"] + 112 + 40, word(0xffffffff) + word(0xfffffe00)),
        "sketch_counts": change(offset["configs"] + 112 + 48, b"\xff" * 200),
        "config_written": change(offset["configs"], word(1)),
        "device_gap": change(offset["devices"] + 32, b"\xff" * 48),
        "counters": change(offset["totals"] + 16 + 128 + 4, word(0xffffffff)),
        "stream": change(offset["streams"] + 24, word(1 << 20) + word(64)) + change(RING + 2 * 64 + 14, struct.pack("<H", 1)),
        "log_names": change(head["log_turn"], word(0xffffffff)),
        "sum_of_others": change(offset["sums"], word(0)),
        "sum_unknown": change(offset["sums"], word(1 << 30)),
        "sum_in_file": change(offset["sums"] + 4, word(0)),
        "sum_times": change(offset["sums"] + 12, b"\xff" * 44),
        "sum_other_half": change(offset["sums"] + size["sums"] * 4096, word(1) + word(0xffffffff) + word(5)),
        "adding_outside": change(head["adding"], word(0xffffffff) + word(0xffffffff)),
        "adding_not_yet": change(head["adding"] + 8, word(4)),
        "control": change(head["control"], b"\xff" * 24),
        "with_a_log": struct.pack("<IB", 0xffffffff, 0) + b"GWB2" + bytes(60),
    }
    for name, content in seeds.items():
        yield "live", name, content
    def part(number, content):
        return bytes([number << 3 | 2, len(content) & 127 | 128, len(content) >> 7]) + content

    def pod(*ids):
        return part(1, part(1, b"p") + part(2, b"n") + part(3, part(1, b"c") + b"".join(part(2, part(2, i)) for i in ids)))
    uuid = b"-0123abCD-0000-0000-0000-0123456789ab"
    for name, pods in {"a_gpu": pod(b"GPU" + uuid), "replicas": pod(b"GPU" + uuid + b"::0", b"GPU" + uuid + b"::1"), "two": pod(b"MIG" + uuid) + pod(b"GPU" + uuid),
                       "no_uuid": pod(b"GPU" + uuid[:-1] + b"x", b"nvidia" + uuid, b"GPU" + uuid.replace(b"-", b"_"))}.items():
        yield "live", "pods_" + name, pods
    w = log.Writer(log.Format(root))
    own = w.record("header", log.strings("boot_id="), version=w.form.version)
    shapes = [w.record("config", id=i, kernel=i, device=1, block_x=x, cluster_x=1, cluster_y=1, cluster_z=1) for i, x in ((1, 64), (2, 32))]
    known = [w.device(), *[w.record("kernel", log.strings(name), id=i) for i, name in ((1, "mul"), (2, "add"))], *shapes, w.stream(),
             w.record("thread", id=1, tid=9)]
    lone = b"".join(change(offset["entries"] + i * size["entries"], struct.pack("<IIIIQIIQ", UNKNOWN, 0, 0, 1, 0, 0, 2, 900 + 200 * i)) for i in range(3))
    for name, records in {
            "of_it": [own], "of_another": [w.header(), *known], "that_ended": [own, *known, w.end(6)], "without_a_header": known,
            "that_knows_what_is_left": [own, *known, w.launch(flags=())],
            "of_damaged_ids": [own, w.stream(1 << 31, 64), w.device(id=64), w.config(1 << 31), w.record("kernel", log.strings("x"), id=1 << 31)]}.items():
        for number in 0, 1:
            for before in b"", lone:
                text = before + change(SIZE + 2 * number, b"") + b"".join(records)
                yield "live", f"log_{name}_{number}{'_lone' * bool(before)}", text
    yield "live", "logs_blocks", change(SIZE + 1, b"") + w.new_block(own) + w.new_block(*known, sequence=7) + w.block(w.launch(), sequence=8)
    yield "live", "logs_copies", change(SIZE + 1, b"") + w.new_block(own) + w.new_block(*known, flags=["COPY"], room=2048, sequence=5)
