#!/usr/bin/env python3
"""numpy's float32 products through libxgemm, with no change to numpy:

    XGEMM_VERBOSE=1 LD_PRELOAD=libxgemm.so.0 python3 numpy_drop_in.py

Works where numpy calls a BLAS by its plain names, as Debian's and Ubuntu's numpy does, and with the wheels of the Python
package index, which carry an OpenBLAS of their own with renamed functions: libxgemm has these names, too. What stays with
the CPU is then computed by that OpenBLAS.
SPDX-License-Identifier: BSD-3-Clause
"""
import numpy

rng = numpy.random.default_rng(0)
a = rng.standard_normal((300, 200), dtype=numpy.float32)
b = rng.standard_normal((200, 100), dtype=numpy.float32)
c = a @ b
error = abs(c - a.astype(numpy.float64) @ b.astype(numpy.float64)).max()
print(f"300 x 200 times 200 x 100: largest error {error:.1e}")
assert error < 1e-4
