"""Small files with device code, one for each form that a reader of fatbins, cubins, host files and archives
knows or refuses. Mutations don't write a whole ELF file."""
import struct

PTX = b".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n\0\0"
FAR = 1 << 40  # an offset or size outside of any file
PROGBITS, SYMTAB, STRTAB, RELA, NOTE, NOBITS, REL, SYMTAB_SHNDX, NV_INFO = 1, 2, 3, 4, 7, 8, 9, 18, 0x70000000
X86_64, CUDA = 62, 190


def padded(data):
    return data + b"\0" * (-len(data) % 8)


class Section:
    def __init__(self, name, kind, flags=0, at=0, data=b"", link=0, info=0, size=None):
        self.name, self.kind, self.flags, self.at, self.data = name.encode(), kind, flags, at, data
        self.link, self.info, self.size = link, info, len(data) if size is None else size

    def header(self, name, offset):
        return struct.pack("<IIQQQQIIQQ", name, self.kind, self.flags, self.at, offset, self.size, self.link,
                           self.info, 1, 0)


def elf(sections=(), machine=X86_64, kind=3, segments=(), segment_count=None, flags=0, abi=0, entry=0, names_in=None,
        count=None, offset=None, header_size=64, order=1, bits=2):
    """An ELF file of sections and a table of their names; what is given by name replaces what would be right."""
    names, program = b"\0", b"".join(segments)
    segment_count = len(segments) if segment_count is None else segment_count
    at, body, headers = 64 + len(program), b"", b""
    table = Section(".shstrtab", STRTAB)
    starts = []
    for section in [*sections, table]:
        starts.append(len(names))
        names += section.name + b"\0"
    table.data, table.size = names, len(names)
    for start, section in zip(starts, [*sections, table]):
        headers += section.header(start, at + len(body))
        body += padded(section.data)
    n = len(starts) + 1
    ident = b"\x7fELF" + bytes([bits, order, 1, 0x33 if machine == CUDA else 0, abi]) + b"\0" * 7
    head = struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, entry, 64 if segment_count else 0,
                       at + len(body) if offset is None else offset, flags, 64, 56, segment_count, header_size,
                       n if count is None else count, n - 1 if names_in is None else names_in)
    return ident + head + program + body + Section("", 0).header(0, 0) + headers


def segment(kind, offset, at, size):
    return struct.pack("<IIQQQQQQ", kind, 4, offset, at, at, size, size, 8)


def entry(kind, data, arch=90, flags=0x11, packed=0, unpacked=0, name=b"", options=b"", name_at=None, name_size=0,
          options_at=None):
    """An entry of a fatbin: its header, then name and options, then PTX or a cubin."""
    data, head, texts = padded(data), 64, b""
    at = {"name": 0, "options": 0}
    if name:
        at["name"], name_size = head, len(name)
        texts += padded(name)
        head = 64 + len(texts)
    if options:
        at["options"] = head
        texts += struct.pack("<II", head + 8, len(options)) + padded(options)
        head = 64 + len(texts)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, head, len(data), packed,
                       at["options"] if options_at is None else options_at, 0, 8, arch,
                       at["name"] if name_at is None else name_at, name_size, flags, 0, unpacked) + texts + data


def fatbin(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


FATBIN = fatbin(entry(1, PTX, name=b"a.cu", options=b"-O3"))
BROKEN = FATBIN[:16] + b"\1\0\1\1\0\0\0\0" + FATBIN[24:]


def host(data, flags=3, size=None, sections=1, **more):
    """A library that keeps code among other data."""
    return elf([Section(".ldata", PROGBITS, flags, 0x1000, data, size=size)] * sections, **more)


def begins_of_no_container():
    """What begins as a container does and is none: each is looked at and passed over."""
    def begin(version=1, head=16, size=16, rest=b""):
        return struct.pack("<IHHQ", 0xBA55ED50, version, head, size) + rest

    first = struct.pack("<HHIQ", 1, 0x101, 64, 8)
    return (b"P\xed" + begin()[:9] + begin(version=2) + begin(head=8) + begin(size=FAR) + begin(size=0) +
            begin(size=8, rest=first[:8]) + begin(rest=first[:4] + b"\2\0\0\0" + bytes(8)) + begin(rest=first) +
            begin(size=68, rest=first + bytes(52)))


def data_files():
    small = cubin()
    table = Section("", 0).header(0, 0) + Section("", PROGBITS, 6, data=bytes(32)).header(0, 64 + 2 * 64)
    tables_first = elf([Section("", PROGBITS, data=bytes(32))], machine=CUDA, segments=[table], segment_count=0, offset=64,
                       count=2, names_in=0)
    others = elf() + elf(machine=CUDA, offset=0, count=0) + small[:60] + b"\x7fELF" + FATBIN[:12]
    far = elf([Section(".text.k", PROGBITS, 6, size=FAR), Section(".nv.shared.k", NOBITS, 3, size=FAR)], machine=CUDA)
    yield "code_among_data", host(b"text" + FATBIN + b"odd" + small + b"ends")
    yield "no_code_among_data", host(begins_of_no_container() + others)
    yield "cubins_among_data", host(far + b"x" + tables_first + elf(machine=CUDA, segment_count=2) +
                                    elf(machine=CUDA, segment_count=60000) + small)
    yield "broken_among_data", host(b"." + fatbin(entry(1, PTX)[:-8] + bytes(8), b"\1\0\1\1" + bytes(20)))
    yield "data_outside", host(FATBIN, size=FAR)
    yield "data_of_code", host(FATBIN, flags=6)
    yield "data_not_loaded", host(FATBIN, flags=0)
    yield "data_of_no_bytes", host(b"")
    yield "data_twice", host(FATBIN, size=500, sections=3)
    yield "data_without_a_name", host(FATBIN, names_in=0)
    yield "data_of_an_executable", host(FATBIN, kind=2)
    yield "data_of_a_program", host(FATBIN, segments=[segment(1, 0, 0, 8), segment(3, 0, 0, 0)])
    yield "segments_outside", host(FATBIN, segments=[segment(4, 0, 0, 0)], segment_count=500)


def host_files():
    yield "fatbin_section_outside", elf([Section(".nv_fatbin", PROGBITS, 2, 0x1000, FATBIN, size=FAR)])
    yield "fatbin_section_broken", elf([Section(".nv_fatbin", PROGBITS, 2, 0x1000, BROKEN)])
    yield "fatbin_sections", elf([Section(".nv_fatbin", PROGBITS, 2, 0x1000, FATBIN),
                                  Section("__nv_relfatbin", PROGBITS, 2, 0x2000, FATBIN)])
    text = Section(".text", PROGBITS, 6, 0x1000, b"\xc3")
    yield "host_without_code", elf([text])
    yield "name_without_end", elf([text])[:-3]
    yield "sections_of_another_size", elf(header_size=40)
    yield "big_endian", elf(order=2)
    yield "32_bits", elf(bits=1)
    yield "header_cut_off", elf()[:40]
    yield "no_sections", elf(offset=0, count=0)
    yield "no_names", elf(names_in=0)


NINE = fatbin(*[entry(1, b".version 8.0\n", arch=50 + 10 * i) for i in range(9)])


def fatbins():
    yield "ptx_of_a_family", b".version 8.6\n.target sm_100f\n"
    yield "ptx_of_an_architecture", b".version 8.6\n.target sm_90a\n"
    yield "ptx_without_target", b".version 8.6\n"
    yield "entry_with_texts", fatbin(
        entry(1, PTX, name=b"a.cu", options=b"-O3 \0"), entry(2, b"", name_at=8, name_size=4),
        entry(2, b"", options_at=8), entry(2, b"", options_at=1 << 20), entry(9, b"x", flags=1 << 20 | 2),
        entry(9, b"x", flags=1 << 21, arch=1 << 17))
    yield "nine_images", NINE
    yield "container_cut_off", FATBIN[:12]


def symbol(name, info, other, section, value=0, size=0):
    return struct.pack("<IBBHQQ", name, info, other, section, value, size)


def attribute(form, name, value=0, payload=b""):
    """An item of .nv.info: form 4 has a payload, the others a value."""
    return struct.pack("<BBH", form, name, len(payload) if form == 4 else value) + payload


KERNEL, FUNCTION = symbol(1, 0x12, 0x10, 3, 0, 16), symbol(3, 0x12, 0, 3, 16, 16)


def cubin(symbols=(KERNEL,), more=(), abi=8, flags=90 << 8, kind=2, text_info=0, text_flags=6, text_size=None,
          attributes=b""):
    return elf([Section(".strtab", STRTAB, data=b"\0k\0f\0"),
                Section(".symtab", SYMTAB, data=bytes(24) + b"".join(symbols), link=1),
                Section(".text.k", PROGBITS, text_flags, data=bytes(32), link=2, info=text_info, size=text_size),
                Section(".nv.info.k", NV_INFO, data=attributes, link=2, info=3), *more],
               machine=CUDA, kind=kind, flags=flags, abi=abi)


def of_kernel(name, kind, flags=0, data=b"", size=None, link=0):
    return Section(name, kind, flags, data=data, link=link, info=3, size=size)


def cubins():
    both, call = [KERNEL, FUNCTION], struct.pack("<QQq", 16, 2 << 32 | 5, -8)
    wide = symbol(1, 0x12, 0x10, 0xFFFF)
    yield "kernel_with_a_function", cubin(both)
    yield "functions_out_of_order", cubin([FUNCTION, KERNEL, symbol(3, 0x12, 0, 3, 8, 8)])
    yield "kernel_symbol_of_a_wide_section", cubin(
        [wide], [Section(".symtab_shndx", SYMTAB_SHNDX, data=struct.pack("<II", 0, 3), link=2)])
    yield "wide_section_without_its_table", cubin([wide])
    yield "relocations_of_a_kernel", cubin(both, [
        of_kernel(".rela.text.k", RELA, data=call + b"cut", link=2),
        of_kernel(".rel.text.k", REL, data=struct.pack("<QQ", 0, 99 << 32 | 5), link=2)])
    yield "rel_of_a_kernel", cubin(both, [
        of_kernel(".rel.text.k", REL, data=struct.pack("<QQ", 16, 2 << 32 | 5) + b"cut", link=2)])
    yield "relocations_of_a_kernel_outside", cubin(both, [of_kernel(".rela.text.k", RELA, link=2, size=FAR)])
    outside, bank4 = symbol(3, 0x12, 0, 0), struct.pack("<QQq", 8, 3 << 32 | 2, 0)
    yield "addresses_of_functions_outside", cubin([*both, outside], [
        of_kernel(".rela.nv.constant4", RELA, link=2, data=struct.pack("<QQq", 16, 3 << 32 | 5, 0) +
                  struct.pack("<QQq", 24, 2 << 32 | 2, 0) + struct.pack("<QQq", 32, 9 << 32 | 2, 0) + bank4)])
    yield "addresses_without_addends", cubin([*both, outside], [
        of_kernel(".rel.nv.constant4", REL, data=struct.pack("<QQ", 8, 3 << 32 | 2), link=2)])
    yield "more_addresses_than_are_kept", cubin([*both, outside], [
        of_kernel(".rela.nv.constant4", RELA, data=bank4 * 258, link=2)])
    yield "addresses_outside", cubin([*both, outside], [of_kernel(".rela.nv.constant4", RELA, link=2, size=FAR)])
    yield "code_outside", cubin(text_size=FAR)
    yield "constants_outside", cubin(more=[of_kernel(".nv.constant0.k", PROGBITS, 2, size=FAR)])
    yield "attributes_outside", cubin(more=[of_kernel(".nv.info.k", NV_INFO, size=FAR)])
    yield "shared_of_four_gigabytes", cubin(more=[of_kernel(".nv.shared.k", NOBITS, 3, size=1 << 33)])
    yield "shared_by_nobits", cubin(more=[of_kernel(".nv.shared.k", NOBITS, 3, size=2048)])
    yield "shared_of_an_object", cubin(kind=1)
    yield "small_shared", cubin(more=[of_kernel(".nv.shared.k", NOBITS, 3, size=512)])
    three = struct.pack("<III", 1, 2, 3)
    kernel_attributes = [
        attribute(4, 0x05, 0, three), attribute(4, 0x10, 0, three), attribute(4, 0x3D, 0, three),
        attribute(3, 0x1B, 255), attribute(2, 0x4C, 3), attribute(3, 0x19, 24),
        attribute(4, 0x0A, 0, struct.pack("<II", 2, 0x180210)), attribute(4, 0x1E, 0, b"\0\1\0\0"),
        attribute(4, 0x1C, 0, struct.pack("<II", 16, 32)), attribute(4, 0x1C),
        attribute(4, 0x17, 0, struct.pack("<IHHI", 0, 1, 8, 8 << 18)),
        attribute(4, 0x17, 0, struct.pack("<IHHI", 0, 0, 0, 8 << 18)),
        attribute(4, 0x45, 0, struct.pack("<IHHI", 0, 9, 0, 8)), attribute(1, 0x50)]
    by_symbol = [(0x2F, 1, 40), (0x11, 1, 8), (0x12, 1, 16), (0x2F, 2, 99), (0x2F, 77, 99)]
    yield "all_attributes", cubin(both, attributes=b"".join(kernel_attributes), more=[
        Section(".nv.info", NV_INFO, link=2, data=b"".join(
            attribute(4, name, 0, struct.pack("<II", index, value)) for name, index, value in by_symbol) +
                attribute(4, 0x2F, 0, b"\1"))])
    yield "registers_in_the_section", cubin(abi=7, flags=0x880, text_info=40 << 24, text_flags=6 | 5 << 20)
    yield "attribute_of_an_unknown_form", cubin(attributes=b"\x07\x01\0\0")
    yield "attribute_cut_off", cubin(attributes=b"\x04\x01\x40\0")
    yield "parameter_size_zero", cubin(attributes=attribute(3, 0x19))
    compat = Section(".nv.compat", 0x70000086, data=attribute(2, 9, 1))
    yield "compat_accelerated", cubin(more=[compat])
    yield "compat_other", cubin(more=[
        Section(".nv.compat", 0x70000086, data=attribute(2, 8, 1) + attribute(2, 9, 0)),
        Section(".note.nv.tkinfo", NOTE, data=b"x -arch sm_100f \0-arch sm_1")])
    yield "note_without_suffix", cubin(more=[Section(".note.nv.tkinfo", NOTE, data=b"-arch sm_100 -arch sm_9")])
    yield "note_that_ends_early", cubin(more=[Section(".note.nv.tkinfo", NOTE, data=b"-arch sm_100")])
    yield "symbol_names_outside", cubin([symbol(99, 0x12, 0x10, 3), symbol(99, 0x12, 0, 3)])
    digest = b"0123456789abcdef0123456789abcdef01234567"  # CuPy writes one before what it caches
    yield "cupy_digest", digest + cubin()
    yield "cupy_digest_of_a_host_file", digest + elf()


def first_sections():
    """Counts of sections that stand in the first section, where the header has no room for them."""
    whole = cubin()
    at, = struct.unpack_from("<Q", whole, 40)
    count, = struct.unpack_from("<H", whole, 60)

    def first(sections, names):
        return struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, sections, names, 0, 0, 0)

    yield "many_sections_in_the_first", whole[:60] + b"\0\0" + whole[62:]
    yield "extended_counts", whole[:60] + b"\0\0\xff\xff" + whole[64:at] + first(count, count - 1) + whole[at + 64:]
    yield "extended_counts_outside", whole[:40] + struct.pack("<Q", FAR) + whole[48:60] + b"\0\0" + whole[62:]
    yield "more_sections_than_memory_lists", whole[:60] + b"\0\0" + whole[62:at] + first(1 << 60, 0) + whole[at + 64:]
    names = at + 64 * (count - 1)
    yield "section_names_outside", whole[:names + 24] + struct.pack("<QQ", FAR, 8) + whole[names + 40:]


def member(name, data, size=None):
    size = str(len(data)) if size is None else size
    return (name.ljust(16) + "0".ljust(12) + "0".ljust(6) * 2 + "644".ljust(8) + size.ljust(10) + "`\n").encode() + \
        data + b"\n" * (len(data) & 1)


MAGIC = b"!<arch>\n"
OBJECT = elf([Section(".nv_fatbin", PROGBITS, 2, 0, FATBIN)], kind=1)


def archives():
    names = member("//", b"x")
    yield "archive_of_an_object", MAGIC + member("/", bytes(4)) + member("//", b"a_very_long_name.o/\n") + \
        member("/0", OBJECT) + member("b.o/", OBJECT) + member("note.txt/", b"a")
    yield "archive_with_a_name_outside", MAGIC + names + member("/99", OBJECT) + member("/12345678901234", OBJECT)
    yield "archive_with_a_name_of_sixteen_digits", MAGIC + names + member("/000000000000001", OBJECT) + \
        member("/1x", OBJECT)
    yield "archive_with_a_size_of_ten_digits", MAGIC + member("a/", b"", "0000000000")
    yield "archive_with_a_long_name_without_end", MAGIC + member("//", b"xyz") + member("/0", OBJECT)
    yield "archive_with_a_broken_object", MAGIC + member(
        "a/", elf([Section(".nv_fatbin", PROGBITS, 2, 0x1000, FATBIN, size=FAR)]))


def with_little_memory():
    """What is read with 0 to 960 bytes of memory: the file's length says how many (fuzz_image.c). Those that
    reach what the others don't."""
    call = of_kernel(".rela.text.k", RELA, data=struct.pack("<QQq", 16, 2 << 32 | 5, -8), link=2)
    whole = cubin([KERNEL, FUNCTION], [call], attributes=attribute(4, 0x1C, 0, struct.pack("<II", 16, 32)) +
                  attribute(4, 0x17, 0, struct.pack("<IHHI", 0, 0, 0, 8 << 18)))
    lz4 = dict(data=b"\x50hello", packed=6)
    of = {"archive": (MAGIC + member("a.o/", OBJECT), {"listed": (0, 64), "read": (64,)}),
          "code_among_data": (host(b"." + FATBIN), {"listed": (0,)}),
          "cubin_among_data": (host(b"." + cubin()), {"listed": (0,)}),
          "cubin": (whole, {"listed": (0,), "read": (0, 64, 192, 256, 896)}),
          "cubin_of_many_sections": (cubin([KERNEL, FUNCTION], [Section("", PROGBITS)] * 8), {"read": (384,)}),
          "entry_with_texts": (fatbin(entry(1, PTX, name=b"a.cu", options=b"-O3 \0")),
                               {"listed": (0, 704), "read": (704,)}),
          "fatbin_of_nine": (NINE, {"listed": (896,)}),
          "lz4": (fatbin(entry(1, flags=1 << 13, unpacked=5, **lz4), entry(1, flags=1 << 15, unpacked=600, **lz4)),
                  {"listed": (640,), "read": (0, 128, 640)}),
          "ptx": (b".version 8.6\n.target sm_90a\n", {"read": (192, 576)})}
    for name, (data, ways) in of.items():
        for way, rest in (("listed", 15), ("read", 14)):
            for limit in ways.get(way, ()):
                yield f"{name}_{way}_in_{limit}_bytes", data + bytes((limit // 64 * 16 + rest - len(data)) % 256)


# For `inspect` the length says what is asked (fuzz_inspect.c).
LENGTHS = {"all_attributes": (0,), "entry_with_texts": (70, 128, 198), "kernel_with_a_function": (118, 134, 135),
           "nine_images": (0, 70, 230), "empty.sm_120.cubin": (7, 70, 128, 135, 143, 198),
           "small.fatbin": (0, 70, 198), "small.sm_75.cubin": (6, 7, 15, 110, 134, 135, 143, 150, 158),
           "small.sm_90.cubin": (15, 135, 143)}


def files(found):
    """(folder of the corpus, name, content) of each; @p found holds the archives' seeds."""
    made = {}
    for part in (host_files, data_files, fatbins, cubins, first_sections, archives, with_little_memory):
        made.update(part())
    for name, data in made.items():
        yield "image", name, data
    for name, lengths in LENGTHS.items():
        data = made.get(name) or (found / "inspect" / name).read_bytes()
        for length in lengths:
            yield "inspect", f"{name}_of_length_{length}", data + bytes((length - len(data)) % 256)
