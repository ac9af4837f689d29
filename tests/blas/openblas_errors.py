#!/usr/bin/env python3
"""Illegal arguments of CBLAS in front of OpenBLAS: reported as OpenBLAS does, whose programs go on.

SPDX-License-Identifier: BSD-3-Clause
"""
import ctypes
import sys

import preload

PROGRAM = """
import ctypes
def number(value): return ctypes.c_int(value)
one, x = ctypes.c_float(1), (ctypes.c_float * 4)()
def call(layout, flag, n, lda):
    ctypes.CDLL(None).cblas_sgemm(number(layout), number(flag), number(111), number(2), number(n), number(2), one, x,
                                  number(lda), x, number(2), one, x, number(2))
    print("goes on", flush=True)
call(101, 111, 2, 1), call(102, 111, 2, 1), call(102, 7, 2, 2), call(5, 111, 2, 2), call(101, 111, -1, 2)
"""

options = preload.parser(__doc__).parse_args()
try:
    ctypes.CDLL("libopenblas.so.0")
except OSError:
    preload.skip("no OpenBLAS is installed (package libopenblas0-pthread)")


def run(*libraries):
    environment = preload.environment(options, LD_PRELOAD=" ".join(filter(None, [options.sanitizer, *libraries])))
    return preload.Run([sys.executable, "-c", PROGRAM], environment)


own, alone = run(preload.preloadable(options.library), "libopenblas.so.0"), run("libopenblas.so.0")
if own.status != 0 or own.output.count("goes on\n") != 5:
    preload.fail("the program ended", own)
if own.output != alone.output or own.complaints != alone.complaints:
    print(alone.describe())
    preload.fail("OpenBLAS alone says something else", own)
