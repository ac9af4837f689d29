"""What the programs of this folder share: bad input and unwritable files are a line on stderr, and kinds of arguments.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import atexit
import functools
import json
import pathlib
import re
import sys
import tempfile

# Of a Python program that is given to an interpreter: it ends where the library of its first argument, if that is not empty,
# is not loaded. The loader only warns of a library that it cannot preload.
LIBRARY_IS_LOADED = """
import sys
with open("/proc/self/maps") as maps:
    if sys.argv[1] and not any(line.endswith(f" {sys.argv[1]}\\n") for line in maps):
        sys.exit(f"{sys.argv[1]} is not loaded into the interpreter")
"""


@functools.cache
def preloadable(library):
    """A library's path as LD_PRELOAD can have it, which splits at spaces and colons: where there are any, through a link to its
    folder that lies in a temporary one until the program ends."""
    path = pathlib.Path(library).absolute()
    if not re.search(r"[\s:]", str(path)):
        return str(path)
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    link = pathlib.Path(folder.name) / "library"
    link.symlink_to(path.parent)
    return str(link / path.name)


class InputError(Exception):
    """A file that cannot be used; the message is for the user."""


def in_words(main):
    """A main() whose InputError and OSError are a line on stderr, and exit status 2."""
    @functools.wraps(main)
    def wrapped(arguments=None):
        try:
            return main(arguments)
        except (InputError, OSError) as error:
            print(f"{pathlib.Path(main.__code__.co_filename).name}: {error}", file=sys.stderr)
            return 2
    return wrapped


def read_json(path, schema):
    try:
        with open(path, encoding="utf-8") as file:
            root = json.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    if not isinstance(root, dict) or root.get("schema") != schema:
        raise InputError(f"{path}: is not a file of {schema}")
    if root.get("version") != 1:
        raise InputError(f"{path}: has version {root.get('version')}, and this program reads version 1")
    return root


def percents(text):
    """'3' -> .03"""
    value = float(text) / 100
    if not 0 <= value < 1:
        raise ValueError
    return value


def counted(text):
    """A whole number from 1 on."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return int(text)
