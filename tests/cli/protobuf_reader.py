"""Protobuf's wire format, read without a schema."""
import collections


def varint(data, at):
    """The number that begins at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def signed(value):
    """What sint32 and sint64 stand for."""
    return value >> 1 ^ -(value & 1)


def delimited(data):
    """The messages of a stream, each behind its length."""
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        assert at + size <= len(data), "the last message is cut"
        yield data[at:at + size]
        at += size


def fields(data):
    """(number, value) of a message: an int, or bytes, of which 8 are a fixed64 or a double."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
            continue
        assert tag & 7 in (1, 2), "wire type %d" % (tag & 7)
        size, at = (8, at) if tag & 7 == 1 else varint(data, at)
        assert at + size <= len(data), "a message is longer than what it is in"
        yield tag >> 3, data[at:at + size]
        at += size


def message(data):
    """{number: values}."""
    out = collections.defaultdict(list)
    for number, value in fields(data):
        out[number].append(value)
    return out
