#!/usr/bin/env python3
"""Writes the WordPiece vocabulary as the binary that yore includes.

    scripts/distill/vocabulary.py TEACHER crates/core/assets/wordpiece.bin

Little-endian: "yoreWP01"; u32 count; u32 slots; u16[slots] hash table of ids (0xFFFF empty);
u32[count + 1] byte offsets; the pieces' bytes in the order of their ids, continuations with "##".
A piece stands in the first free slot from (hash ^ (hash >> 32)) & (slots - 1) on, with FNV-1a 64
as hash and ids inserted in ascending order. FNV grows byte by byte, so a longest-match search
hashes every prefix of a word in one pass.
"""
import pathlib
import struct
import sys

import numpy as np

import teacher

MAGIC, SLOTS, EMPTY = b"yoreWP01", 65536, 0xFFFF


def slot(piece):
    value = 0xCBF29CE484222325
    for byte in piece:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return (value ^ value >> 32) & SLOTS - 1


def pack(pieces):
    table = np.full(SLOTS, EMPTY, "<u2")
    offsets = np.zeros(len(pieces) + 1, "<u4")
    for number, piece in enumerate(pieces):
        at = slot(piece)
        while table[at] != EMPTY:
            at = (at + 1) % SLOTS
        table[at] = number
        offsets[number + 1] = offsets[number] + len(piece)
    head = MAGIC + struct.pack("<II", len(pieces), SLOTS)
    return head + table.tobytes() + offsets.tobytes() + b"".join(pieces)


def main(source, target):
    pieces = [piece.encode() for piece in teacher.vocabulary(source)]
    pathlib.Path(target).write_bytes(pack(pieces))
    print(f"{target}: {len(pieces)} pieces")


if __name__ == "__main__":
    main(*sys.argv[1:])
