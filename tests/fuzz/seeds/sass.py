"""Machine code with jumps through a table and calls, made of instructions of two real kernels of the corpus
(first byte: the architecture; then instructions of 16 bytes, and the table): a mutation doesn't hit the bits of
a table's address, of a jump's distance and of the table at once."""
import struct

GUARD, DISTANCE = (12, 4), (34, 48)


def opcode(instruction):
    return int.from_bytes(instruction[:2], "little") & 0xFFF


def with_bits(instruction, field, value):
    at, count = field
    mask = ((1 << count) - 1) << at
    word = int.from_bytes(instruction, "little") & ~mask | value << at & mask
    return word.to_bytes(16, "little")


def load(corpus, name):
    data = (corpus / name).read_bytes()
    return data[0], [data[at:at + 16] for at in range(1, len(data) - 15, 16)]


def jump(instruction, distance):
    """To so many bytes behind the next instruction."""
    return with_bits(instruction, DISTANCE, distance >> 2)


def switches(corpus):
    arch, code = load(corpus, "switches.sm_70")
    load_entry, jump_by_table, leave = code[62], jump(code[64], -32), code[82]
    other = code[61]  # writes a register, here the table's
    yield "switch_with_its_table", arch, code[:84], (65 * 16, 67 * 16, 71 * 16)
    yield "small_switch", arch, [load_entry, jump_by_table] + [leave] * 3, (32, 64)
    yield "switch_that_leads_outside", arch, [load_entry, jump_by_table] + [leave] * 3, (32, 33)
    yield "switch_of_a_register_written_between", arch, \
        [load_entry, with_bits(other, (16, 8), 4), jump(code[64], -48), leave, leave], (48, 64)
    yield "switch_of_another_register", arch, [load_entry, with_bits(jump_by_table, (24, 8), 9), leave, leave], (32,)
    yield "switch_under_a_predicate", arch, [with_bits(load_entry, GUARD, 0), jump_by_table, leave, leave], (32,)
    # The form of sm_100: a uniform load, and a distance in two parts.
    words = -32 >> 2
    uniform = with_bits(with_bits(jump_by_table, (0, 9), 0x158), (34, 46), words >> 8)
    yield "uniform_switch.sm_100", 6, \
        [with_bits(with_bits(load_entry, (0, 9), 0x1AC), (37, 16), 0), with_bits(uniform, (16, 8), words)] + [leave] * 3, \
        (32, 64)


def calls(corpus):
    arch, code = load(corpus, "calls.sm_75")
    call, back, leave = (next(one for one in code if opcode(one) == wanted) for wanted in (0x944, 0x950, 0x94D))
    yield "calls_deeper_than_followed", arch, [jump(call, 16), leave] + [jump(call, 16), back] * 12 + [back, back], ()
    yield "more_calls_than_followed", arch, [jump(call, 16 * (300 - i)) for i in range(300)] + [leave, back], ()


def branch(guarded):
    """BRA, under P0 or always; its distance is yet to be reported."""
    return with_bits((0x947).to_bytes(2, "little") + bytes(14), GUARD, 0 if guarded else 7)


def chain_from_both_ends(links):
    """Every block leads to its neighbours, and the entry to both ends: what the far end knows goes one link a pass."""
    code = [jump(branch(True), 16 * (links - 1))]
    for i in range(links):
        code.append(jump(branch(True), -32 if i else 0))
    return code


def graphs(corpus):
    arch, code = load(corpus, "switches.sm_70")
    by_table, leave = code[64], code[82]
    other = code[61]
    yield "dominators_of_many_passes", arch, chain_from_both_ends(48) + [leave], ()
    # Nothing but indirect jumps: any of them may lead to any other.
    yield "more_indirect_edges_than_kept", arch, [by_table] * 260 + [leave], ()
    # A deep chain, each link with an indirect jump to all the places that nothing else leads to.
    yield "dominators_of_too_many_steps", arch, \
        [with_bits(by_table, GUARD, 0)] * 200 + [leave] + [leave] * 220, ()


RZ = 255
D, A, C, NUMBER = (16, 8), (24, 8), (64, 8), (32, 32)


def asserts(corpus):
    """Calls of functions outside, by the address that bank 4 has of them (fuzz_sass.c says where): of __assertfail at 40."""
    arch, code = load(corpus, "printf.sm_75")
    load_address, call, move, leave = (next(one for one in code if opcode(one) == wanted) for wanted in (0xB82, 0x343, 0x802, 0x94D))

    def number(op, register, value):
        """What puts a number into a register: MOV, or a multiplication of zeros and an addition."""
        bits = op.to_bytes(2, "little") + move[2:]
        for field, what in (GUARD, 7), (D, register), (A, RZ), (C, RZ), (NUMBER, value):
            bits = with_bits(bits, field, what)
        return bits

    def failing(offset, index=(), by=RZ):
        address = with_bits(with_bits(with_bits(with_bits(load_address, GUARD, 7), D, 2), A, by), (38, 16), offset)
        return [*index, address, with_bits(with_bits(call, GUARD, 7), A, 2)]
    ways = {"by_a_move": failing(0, [number(0x802, 4, 40)], 4), "by_zeros_times_zero": failing(32, [number(0x424, 4, 8)], 4),
            "by_halves": failing(0, [number(0x431, 4, 40)], 4), "by_halves_of_matrices": failing(0, [number(0x435, 4, 40)], 4),
            "at_a_place": failing(40), "behind_its_begin": failing(8), "of_another": failing(0), "of_none": failing(16)}
    for name, way in ways.items():
        # The branch leads past the call, or to it.
        yield f"assert_{name}", arch, [jump(branch(True), 16 * (len(way) + 1))] + way + [leave, leave], ()
        yield f"assert_{name}_where_taken", arch, [jump(branch(True), 16), leave] + way + [leave], ()


def files(found):
    """(folder of the corpus, name, content) of each; @p found holds the archives' seeds."""
    for part in (switches, calls, graphs, asserts):
        for name, arch, code, table in part(found / "sass"):
            yield "sass", name, bytes([arch]) + b"".join(code) + struct.pack(f"<{len(table)}I", *table)
