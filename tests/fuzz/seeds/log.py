"""Small logs, one for each thing a log can say or get wrong. Records follow predictor/log/record.def, so that
a change of the format makes them anew: the reader's samples are longer than what a fuzzer keeps of them."""
import json
import re
import struct

NAN, UNKNOWN = float("nan"), 0xFFFFFFFF
FORMAT = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f32": "f"}


class Format:
    """What the lists of the repository say: records, flags of a launch, kinds of work, units."""

    def __init__(self, root):
        def text(name):
            return (root / "predictor" / name).read_text()

        self.records, fields = {}, None
        for kind, name, ctype, field in re.findall(
                r"^RECORD\((\d+), \w+, (\w+)|^FIELD\((\w+), (\w+)", text("log/record.def"), re.M):
            if name:
                fields = []
                self.records[name] = int(kind), fields
            else:
                fields.append((field, FORMAT[ctype]))
        self.flags = {name: 1 << int(bit)
                      for name, bit in re.findall(r"^FLAG\(LAUNCH, (\w+), (\d+)", text("log/value.def"), re.M)}
        self.work = len(re.findall(r"^WORK(?:_MOST)?\(", text("core/work.def"), re.M))
        self.units = dict(re.findall(r'^PARAM\((\w+), "([^"]*)"', text("core/device.def"), re.M))
        self.magic = int(re.search(r"GW_BLOCK_MAGIC\s*=?\s*(0x\w+)", text("log/record.h"))[1], 16)
        self.packed = int(re.search(r"GW_PACKED_MAGIC\s*=?\s*(0x\w+)", text("log/record.h"))[1], 16)
        self.blocks = {name: 1 << int(bit)
                       for name, bit in re.findall(r"^FLAG\(BLOCK, (\w+), (\d+)", text("log/value.def"), re.M)}
        self.version = int(re.search(r"GW_LOG_VERSION\s*=?\s*(\d+)", text("log/record.h"))[1])


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def strings(*texts):
    return b"".join(text.encode() + b"\0" for text in texts)


class Writer:
    """Records with what most seeds have in common, and blocks of them."""

    def __init__(self, form):
        self.form = form
        self.small = json.dumps({"gpuwatch_profile": 1, "name": "x"})
        known = {"sm_count": 4, "warp_size": 32, "sm_clock": 1.98e9, "max_threads_per_sm": 2048,
                 "max_blocks_per_sm": 32, "registers_per_sm": 65536, "shared_per_sm": 233472,
                 "shared_per_block": 232448, "max_threads_per_block": 1024, "compute_capability": 90,
                 "schedulers_per_sm": 4, "b_mem": 3e12, "t_sp": 6e13, "l2_size": 5e7, "lat_dram": 600,
                 "lat_l2": 260, "lat_l1": 33, "launch_floor": 2e-6, "fp32_lanes_per_sm": 128}
        self.whole = json.dumps({"gpuwatch_profile": 1, "name": "Test GPU", "params": {
            name: {"value": value, "unit": form.units[name], "method": "driver"}
            for name, value in known.items() if name in form.units}})

    def block(self, *records, sequence=0):
        body = b"".join(records)
        return struct.pack("<IIII", self.form.magic, len(body), sequence, crc32c(body)) + body

    def new_block(self, *records, sequence=0, flags=(), room=0):
        """As version 3 has them, with records as they are."""
        body = b"".join(records)
        rest = struct.pack("<IIIIII", len(body), sequence, len(body), sum(self.form.blocks[f] for f in flags), room, 1) + body
        return struct.pack("<II", self.form.packed, crc32c(rest)) + rest

    def record(self, name, tail=b"", /, **values):
        kind, fields = self.form.records[name]
        body = struct.pack("<" + "".join(code for _, code in fields),
                           *[values.get(field, 0) for field, _ in fields]) + tail
        body += b"\0" * (-(len(body) + 4) % 8)
        return struct.pack("<HH", kind, len(body) + 4) + body

    def header(self, version=None):
        return self.record("header", strings("host=h", "command=c", "build=b", "mode=m"), pid=1, start_ns=1000,
                           version=self.form.version if version is None else version)

    def device(self, id=1, name="Test GPU"):
        return self.record("device", strings(name, "00" * 16), id=id, compute_capability=90, sm_count=4,
                           sm_clock_khz=1980000, mem_clock_khz=2619000, memory=1 << 36)

    def kernel(self, id=1, name="_Z1kv"):
        return self.record("kernel", strings(name), id=id, registers=32, static_shared=UNKNOWN, constant=UNKNOWN,
                           max_threads=1024, binary_version=90)

    def config(self, id=1, kernel=1, device=1, **more):
        return self.record("config", id=id, kernel=kernel, grid_x=8, grid_y=1, grid_z=1, block_x=128, block_y=1,
                           block_z=1, cluster_x=1, cluster_y=1, cluster_z=1, device=device, **more)

    def launch(self, config=1, known=0, at=2000, lasts=5000, predicted=NAN, low=NAN, high=NAN,
               flags=("MEASURED", "LEARNT"), **more):
        return self.record("launch", config=config, flags=sum(self.form.flags[name] for name in flags), known=known,
                           call_ns=at, start_ns=at + 10 if lasts else 0, duration_ns=lasts, predicted=predicted,
                           low=low, high=high, **more)

    def work(self, config=1, parts=((0, 4, 1.0, 5e4),), count=None, known=0):
        """Parts: field, source, confidence, value."""
        return self.record("work", b"".join(struct.pack("<HBBfd", field, source, 0, sure, value)
                                            for field, source, sure, value in parts),
                           config=config, count=len(parts) if count is None else count, known=known)

    def profile(self, text, device=1, cut=None):
        """In pieces of `cut` bytes."""
        data = text.encode()
        cut = cut or len(data)
        return [self.record("profile", data[at:at + cut] + b"\0", device=device, offset=at, size=len(data))
                for at in range(0, len(data), cut)]

    def clock(self, device=1, sm=1980000, memory=2619000, temperature=50, power=300000, ns=1500, **more):
        return self.record("clock", device=device, sm_khz=sm, mem_khz=memory, temperature=temperature,
                           power_mw=power, ns=ns, **more)

    def slow(self, config=1, since=3000, cause=1, **more):
        return self.record("slow", config=config, cause=cause, launches=9, slow=3, predicted=5000, low=4000,
                           high=6000, ratio=2, since_ns=since, **more)

    def published(self, known):
        return self.record("published", known=known)

    def stream(self, id=1, device=1):
        return self.record("stream", id=id, device=device, kind=1, cupti_id=7)

    def end(self, records):
        return self.record("end", ns=9000, records=records)


def host_seeds(w, kernel, launches):
    """Copies, waits, ranges and children at work, in order and not, of threads and GPUs that are there and not."""
    begin = [w.record("header", strings("mode=audit"), version=w.form.version, pid=1, start_ns=1000, flags=12),
             w.device(), *kernel, w.record("thread", id=1, tid=7)]
    names = [w.record("range_name", strings("layers"), id=1), w.record("range_name", strings("conv"), id=2, domain=1),
             w.record("range_name", strings(""), id=65535, domain=9)]
    copies = [w.record("copy", device=1, direction=d, start_ns=s, duration_ns=n, bytes=64)
              for d, s, n in ((1, 2500, 9000), (2, 3000, 100), (5, 1, 1 << 62), (77, 2600, 40000))]
    waits = [w.record("wait", thread=t, call=c, start_ns=s, duration_ns=n)
             for t, c, s, n in ((1, 1, 7500, 2000), (1, 99, 9600, 3000), (1, 2, 5, (1 << 64) - 1), (4, 0, 1, 1))]
    ranges = [w.record("range", thread=t, name=i, depth=d, ns=n)
              for t, i, d, n in ((1, 2, 1, 1500), (1, 0, 0, 20000), (0, 1, 1, 1000), (0, 9, 7, 30000), (5, 1, 1, 1))]
    children = [w.record("children", start_ns=s, duration_ns=n, children_ns=n, threads_ns=t)
                for s, n, t in ((4000, 5000, 10), (3000, 90000, 0), (7, (1 << 64) - 1, 0), (0, 0, 1 << 63))]
    yield "where_the_time_went", [*begin, *names, *copies, *waits, *ranges, *children, *launches]
    yield "copies_without_launches", [*begin, *copies, *waits]


def rank_seeds(w):
    """A rank's steps with NCCL's collectives, numbered and not; and with copies to the host and back."""
    begin = [w.header(), w.device(), w.stream(), w.record("thread", id=1, tid=7), w.kernel(1, "gemm"), w.kernel(2, "ncclDevKernel_AllReduce_f"),
             w.config(1, 1), w.config(2, 2)]
    steps, numbers, copies = [], [w.record("communicator", id=1, rank=0, ranks=2, hash=9)], []
    for i in range(12):
        at = 2000 + 100000 * i
        steps += [w.launch(1, at=at, lasts=40000, stream=1, thread=1), w.launch(2, at=at + 41000, lasts=9000, stream=1, thread=1)]
        numbers += [*steps[-2:], w.record("collective", communicator=1, thread=1, function=1, datatype=8, sequence=i, count=64, call_ns=at + 41001)]
        copies += [w.launch(1, at=at, lasts=40000, stream=1, thread=1)]
        copies += [w.record("copy", device=1, direction=d, bytes=8192, start_ns=at + s, duration_ns=1000) for d, s in ((2, 45000), (1, 80000))]
    yield "ranks_by_name", [*begin, *steps]
    yield "ranks_by_number", [*begin, *numbers]
    yield "ranks_by_copies", [*begin, *copies]
    yield "collective_of_none", [*begin, w.record("collective", communicator=7, thread=1), w.record("collective", thread=5), *steps[:2]]


def seeds(root):
    w = Writer(Format(root))
    launch, config, work, profile, clock = w.launch, w.config, w.work, w.profile, w.clock
    begin, kernel = [w.header(), w.device()], [w.kernel(), config(), w.stream()]
    two = [w.header(), w.device(1), w.device(2, "Other")]
    # Two launches that nothing predicted, and four after them.
    six = [launch(at=2000, stream=1), launch(at=11000, stream=1)]
    six += [launch(at=2000 + 9000 * i, known=i // 2, predicted=5000.0, low=4500.0, high=5500.0, tier=3, stream=1)
            for i in range(2, 6)]
    counted = w.form.work
    yield from work_seeds(w, begin, kernel, six, counted)
    yield from profile_seeds(w, begin, two, kernel, six)

    yield from host_seeds(w, kernel, six)
    yield from rank_seeds(w)

    yield "clocks_of_all_kinds", [
        *begin, clock(sm=0, memory=0, temperature=UNKNOWN, power=UNKNOWN, others=UNKNOWN, ns=1),
        clock(others=50, reasons=(1 << 64) - 1, ns=2, sm=1000000),
        clock(sm=1500000, temperature=10, power=10, ns=3, reasons=4), clock(ns=2),
        *[clock(ns=10 + i, sm=1000000 + i) for i in range(3)], *kernel, *six, clock(ns=4000), launch(at=3000)]
    yield "slow_episodes", [
        *begin, *kernel, w.slow(), w.slow(until_ns=8000, ns=7),
        w.slow(cause=99, since=4000, reasons=4, sm_khz_before=1980000, sm_khz_during=1200000), config(2),
        w.slow(config=2), *six, w.slow(since=9000)]
    yield "tier_of_no_meaning", [
        *begin, *kernel, launch(tier=9, work=9, predicted=1.0, low=0.5, high=2.0),
        launch(tier=3, work=4, predicted=5000.0, low=0.0, high=9e9, flags=("MEASURED",))]
    yield "successor", [
        *begin, *kernel, config(2, digest=7), w.record("successor", config=2, of=1), *six,
        *[launch(config=2, at=90000 + i * 9000, known=6, predicted=5000.0, low=4000.0, high=6000.0, tier=3)
          for i in range(3)], w.published(6), w.published(9), w.record("successor", config=1, of=1)]
    yield "version_one", [w.header(version=1), w.device(), w.kernel(), config(),
                          *[launch(at=1000 * i, known=i, predicted=5000.0) for i in range(1, 5)], launch()]
    yield "newer_version", [w.header(version=w.form.version + 1), w.device()]
    yield "version_zero", [w.header(version=0), w.device()]
    yield "two_headers", [w.header(), *begin]
    yield "launch_of_no_configuration", [*begin, launch(config=7), launch(config=7, lasts=0)]
    yield "many_kinds_of_trouble", [
        *begin, *[w.record("degraded", strings(f"r{i % 3}"), code=i % 2, ns=i) for i in range(6)],
        *[w.record("counters", struct.pack("<Q", 5) * has, count=says, ns=1) for has, says in ((3, 3), (0, 3), (200, 200))],
        w.end(3)]
    yield "more_reasons_than_are_kept", [*begin, *[w.record("degraded", strings("r"), code=i, ns=i) for i in range(260)]]
    yield "more_of_the_unknown_than_is_distinguished", [
        *begin, *kernel, *[w.record("analysis", strings(f"{i}"), config=1, end=1) for i in range(260)]]
    yield "more_violations_than_are_reported", [
        *begin, *kernel, *[launch(known=900, at=1000 + i, predicted=5000.0) for i in range(102)]]
    yield "order_broken", [
        *begin, *kernel, *[launch(known=known, at=1000 + known) for known in (0, 5, 1, 1, 3, 900, 2)],
        *[w.published(known) for known in (9, 3, 3)], launch(known=4, flags=("MEASURED",)),
        launch(lasts=0, flags=("LEARNT",)), launch(flags=("MEASURED", "LEARNT", "INVALID")),
        launch(flags=("MEASURED", "LEARNT", "OVERLAPPED"))]
    yield "more_ids_than_the_index_begins_with", [
        *begin, w.kernel(), *[w.record("stream", id=i + 1, device=1) for i in range(70)],
        *[config(i + 1) for i in range(34)], launch(config=34)]
    yield "ids_that_fall", [
        *begin, w.kernel(2), w.kernel(1), config(2, 2), config(1, 2), config(3, 7),
        w.record("module", strings(""), id=1), w.record("thread", id=1, tid=5), w.record("node", id=1, graph=1),
        w.record("module", b"x" * 8, id=2)]
    yield "aggregates_of_all_kinds", [
        *begin, *kernel, w.record("aggregate", config=1, launches=9, measured=9, scored=5, covered=4, error_sum=0.5,
                                  total_ns=900, min_ns=50, max_ns=200),
        w.record("aggregate", config=1, launches=9), w.record("aggregate", config=8, launches=9), *six]
    names = ["_ZN2at6native29vectorized_elementwise_kernelILi4EEEvv", "_ZSt1aIS_St1aIS_St1aIS_", "_Z1k\x01", "plain", ""]
    yield "mangled_names", [
        *begin, *[w.kernel(i, name) for i, name in enumerate(names, 1)], *[config(i, i) for i in range(1, 6)],
        *[launch(config=i) for i in range(1, 6)]]
    yield "three_blocks", (w.block(*begin) + w.block(*kernel, sequence=1) + w.block(*six, sequence=3) + b"GWL")
    yield "new_blocks", w.new_block(*begin) + w.new_block(*kernel, sequence=1) + w.new_block(*six, sequence=2)
    yield "definitions_again", (w.new_block(*begin) + w.new_block(*six, sequence=2) +
                                w.new_block(*begin, *kernel, sequence=3, flags=["REPEAT"]) + w.new_block(*six, sequence=4))
    yield "two_copies", (w.new_block(*begin, *kernel) +
                         w.new_block(*six, flags=["COPY"], room=2048, sequence=5).ljust(2048, b"\0") +
                         w.new_block(*six, *six, flags=["COPY"], room=2048, sequence=4))
    yield "damage_between_blocks", (w.block(*begin) + b"\0" * 24 + w.block(*kernel, sequence=1) +
                                    w.block(*six, sequence=2)[:-8])
    yield "block_with_a_wrong_checksum", w.block(*begin)[:-1] + b"\1" + w.block(*kernel, sequence=1)


def work_seeds(w, begin, kernel, six, fields):
    work = w.work
    yield "work_and_a_profile", [
        *begin, *w.profile(w.whole), *kernel, work(parts=[(i, 4, 0.9, 1e5 + i) for i in range(min(fields, 30))]),
        w.clock(), *six, w.published(2), w.published(6), w.end(99)]
    yield "work_of_all_fields", [*begin, *w.profile(w.whole), *kernel,
                                 work(parts=[(i, 1 + i % 4, 0.9, 0.5) for i in range(fields)]), *six]
    yield "work_given_twice", [
        *begin, *w.profile(w.whole), *kernel, work(parts=((0, 1, 0.5, 1e4), (1, 4, 1, 1e4))), *six[:3],
        work(parts=((0, 4, 1, 2e4),), known=2), *six[3:], w.published(6)]
    yield "work_of_no_field", [
        *begin, *w.profile(w.whole), *kernel,
        work(parts=((fields, 4, 1, 1), (0, 9, 1, 1), (0, 4, 1, float("inf")), (1, 4, 2, -1.0))), *six]
    yield "work_longer_than_its_record", [*begin, *kernel, work(count=5), *six]
    yield "work_of_no_configuration", [*begin, *kernel, work(config=9), w.record("slow", config=9),
                                       w.record("successor", config=9, of=1), *six]


def profile_seeds(w, begin, two, kernel, six):
    profile, pieces = w.profile, w.profile(w.whole, cut=200)
    small = w.profile(w.whole, cut=100)
    yield "profile_in_pieces", [*begin, *pieces, *kernel, w.work(), *six]
    yield "profile_with_a_gap", [*begin, pieces[0], *pieces[2:], *kernel, w.work(), *six]
    yield "profile_that_goes_on_after_a_gap", [*begin, small[0], *small[3:], *profile(w.small), *kernel, *six]
    yield "profile_that_is_none", [*begin, *profile('{"gpuwatch_profile":1}'), *kernel, w.work(), *six]
    yield "profile_of_no_device", [*begin, *profile(w.small, device=9), *kernel, w.clock(device=9), w.stream(2, 9), *six]
    yield "profiles_of_two_devices", [
        *two, *profile(w.whole), *profile(w.small, device=2), w.kernel(), w.config(1), w.config(2, device=2),
        w.config(3, device=0), w.stream(1, 1), w.stream(2, 2), w.stream(3, 0), w.work(1), w.work(2), w.work(3),
        *[w.launch(config=c, stream=s, at=1000 * (3 * c + s)) for c in (1, 2, 3) for s in range(4)]]
    one = [w.kernel(), w.config(1, device=0), w.work(1), w.launch(stream=0)]
    yield "one_profile_of_two_devices", [*two, *profile(w.whole), *one]
    yield "two_profiles_and_no_device", [*two, *profile(w.whole), *profile(w.whole, device=2), *one]


def files(root):
    """(folder of the corpus, name, content) of each."""
    block = Writer(Format(root)).block
    for name, content in seeds(root):
        yield "log_reader", name, content if isinstance(content, bytes) else block(*content)
