#!/usr/bin/env python3
"""Writes fold_table.cc: what each character becomes when letter case and compatibility forms no longer count.

The data is the Unicode character database as Python's unicodedata and str.casefold have it. Run it again for a
newer Unicode: `python3 fold_table.py > fold_table.cc`.
"""
import unicodedata

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"


def fold(text):
    while True:
        done = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        if done == text:
            return text
        text = done


def number(value):
    """Groups of five bits, the lowest first; 32 is added to all but the last."""
    out = ""
    while value >= 32:
        out += DIGITS[value % 32 + 32]
        value //= 32
    return out + DIGITS[value]


def signed(value):
    return number(value * 2 if value >= 0 else -value * 2 - 1)


def lines(text, width=100):
    return "\n".join(f'    "{text[i:i + width]}"' for i in range(0, len(text), width))


folds, upper, classes = "", "", ""
last_upper, last_upper_to = 0, 0
last, last_class, last_to = 0, 0, 0
run = None  # [first, length, class]


def flush():
    global classes, last_class
    if run:
        classes += number(run[0] - last_class) + number(run[1]) + number(run[2])
        last_class = run[0] + run[1]


for c in range(0x110000):
    if 0xD800 <= c < 0xE000 or 0xAC00 <= c <= 0xD7A3:
        continue
    to = fold(chr(c))
    if to != chr(c):
        plain = unicodedata.normalize("NFKD", chr(c))
        folds += number(c - last) + number(len(to) * 2 + (plain == to))
        last = c
        for x in to:
            folds += signed(ord(x) - last_to)
            last_to = ord(x)
        if plain not in (to, chr(c)):
            upper += number(c - last_upper) + number(len(plain))
            last_upper = c
            for x in plain:
                upper += signed(ord(x) - last_upper_to)
                last_upper_to = ord(x)
    combining = unicodedata.combining(chr(c))
    if combining:
        if run and run[0] + run[1] == c and run[2] == combining:
            run[1] += 1
        else:
            flush()
            run = [c, 1, combining]
flush()

print(f"""// Written by fold_table.py from Unicode {unicodedata.unidata_version}; not edited by hand.
#include "enforcers/archive/fold_table.h"

namespace enforcers::fold {{

// clang-format off
const std::string_view kFolds =
{lines(folds)};

const std::string_view kUpper =
{lines(upper)};

const std::string_view kCombining =
{lines(classes)};
// clang-format on

}}  // namespace enforcers::fold""")
