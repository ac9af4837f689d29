#!/usr/bin/env python3
"""The floors of src/: an include only ever points down.

    check_layers.py SOURCE_FOLDER

A file may include files of its own folder, of lower floors, and the public headers. Folders of one floor do not know of
each other. Within kernels/, no family knows another but those that are made of it, and common/ knows none; what lies in
kernels/ itself lists them all.

What a build without CUDA compiles includes none of CUDA's headers.
"""
import os
import re
import sys
import unittest

# From the top.
FLOORS = [
    ["api", "cublas"],
    ["dispatch"],
    ["transfer"],
    ["runtime"],
    ["plan"],
    ["kernels"],
    ["tuning"],
    ["host", "device"],
    ["layout"],
    ["core"],
]
FLOOR_OF = {folder: len(FLOORS) - i for i, floor in enumerate(FLOORS) for folder in floor}

MADE_OF = {"fp16x3": "wgmma_tma", "wgmma_words": "wgmma_tma"}  # families: the kernel of the second one, after passes over the operands

SOURCE = re.compile(r"\.(h|hpp|cc|cu|cuh|inc|def)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def complaint(path, included):
    """What is wrong with a file of src/ that includes another; None if nothing is. Both as paths below src/."""
    folder, target = path.split("/")[0], included.split("/")[0]
    if included in ("xgemm.h", "xgemm_blas.h", "xgemm/float16.hpp"):  # public; the views of xgemm.hpp are for users alone
        return None
    if "/" not in included:
        return "is not named by its path from src/"
    if target == "sim":  # the simulator's side of the kernels' contact with the machine
        return None if path.startswith("kernels/common/") else "is for kernels/common/ alone"
    if target not in FLOOR_OF:
        return "lies in a folder that has no floor"
    if FLOOR_OF[target] > FLOOR_OF[folder]:
        return "lies above"
    if FLOOR_OF[target] == FLOOR_OF[folder] and target != folder:
        return "lies on the same floor"
    if folder == target == "kernels" and path.count("/") > 1:
        family = path.split("/")[1]
        if included.count("/") > 1 and included.split("/")[1] not in (family, MADE_OF.get(family), "common"):
            return "belongs to another family"
    return None


def includes_of(root):
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if SOURCE.search(name):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    for included in INCLUDE.findall(file.read()):
                        yield os.path.relpath(path, root), included


CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)$")
ANY_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
OF_CUDA = re.compile(r"(cuda|driver_types|nv)\w*\.h")


def includes_without_cuda(path):
    """What a file includes but where XGEMM_HAVE_CUDA is defined."""
    needs_cuda = []  # of the conditions around a line
    with open(path, encoding="utf-8") as file:
        for line in file:
            if condition := CONDITION.match(line):
                kind, what = condition.groups()
                if kind.startswith("if"):
                    needs_cuda.append(re.search(r"(?<!!)defined\(XGEMM_HAVE_CUDA\)", what) is not None)
                elif kind == "endif":
                    needs_cuda.pop()
                else:
                    needs_cuda[-1] = False
            elif (include := ANY_INCLUDE.match(line)) and not any(needs_cuda):
                yield include.group(1)


def sources_without_cuda(root):
    """The .cc files that CMake compiles where there is no CUDA, as paths below root."""
    for folder in ("", "cublas", "kernels"):
        with open(os.path.join(root, folder, "CMakeLists.txt"), encoding="utf-8") as file:
            text = re.sub("#.*", "", file.read())
        text = re.sub(r"\nif\(XGEMM_HAVE_CUDA\)\n.*?\n(else|endif)\(\)\n", "\n", text, flags=re.DOTALL)
        for name in re.findall(r"(?<![\w/}.])[\w/]+\.cc\b", text):
            yield os.path.join(folder, name)
    for entry in os.scandir(os.path.join(root, "kernels")):
        if os.path.isfile(os.path.join(entry.path, "family.cc")):
            yield os.path.join("kernels", entry.name, "family.cc")


class Layers(unittest.TestCase):
    def test_every_folder_has_a_floor(self):
        folders = {entry.name for entry in os.scandir(os.path.join(source, "src")) if entry.is_dir()}
        self.assertEqual(folders, set(FLOOR_OF))

    def test_includes_point_down(self):
        seen = 0
        wrong = []
        for path, included in includes_of(os.path.join(source, "src")):
            seen += 1
            if what := complaint(path, included):
                wrong.append(f"src/{path} includes {included}, which {what}")
        self.assertGreater(seen, 100)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_no_header_of_cuda_without_cuda(self):
        root = os.path.join(source, "src")
        come_from = {path: path for path in sources_without_cuda(root)}
        self.assertGreater(len(come_from), 50)
        left, wrong = list(come_from), []
        while left:
            path = left.pop()
            for included in includes_without_cuda(os.path.join(root, path)):
                if OF_CUDA.fullmatch(included):
                    wrong.append(f"src/{path}, for src/{come_from[path]}, includes {included}")
                elif os.path.isfile(os.path.join(root, included)) and included not in come_from:
                    come_from[included] = come_from[path]
                    left.append(included)
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_public_headers_know_nothing_of_src(self):
        for path, included in includes_of(os.path.join(source, "include")):
            self.assertTrue(os.path.isfile(os.path.join(source, "include", included)), f"{path} includes {included}")

    def test_the_rules_are_rules(self):
        for path, included in [
            ("core/environment.cc", "kernels/instances.h"),
            ("host/cpu_engine.cc", "device/device_info.h"),
            ("plan/planner.h", "runtime/launch.h"),
            ("kernels/common/sm90/tma.cuh", "kernels/wgmma_tma/params.h"),
            ("kernels/naive/naive.cuh", "kernels/wgmma_tma/params.h"),
            ("kernels/wgmma_tma/wgmma_tma.cuh", "kernels/fp16x3/split.h"),
            ("kernels/naive/naive.cuh", "sim/launch.h"),
            ("layout/facts.h", "problem.h"),
            ("layout/facts.h", "cublas/handle.h"),
            ("api/blas.h", "xgemm/gemm.hpp"),
        ]:
            self.assertIsNotNone(complaint(path, included), f"{path} includes {included}")
        for path, included in [
            ("api/check.h", "xgemm.h"),
            ("api/xgemm.cc", "core/status.h"),
            ("api/blas.h", "xgemm/float16.hpp"),
            ("kernels/instances.h", "kernels/wgmma_tma/config.h"),
            ("kernels/wgmma_tma/wgmma_tma.cuh", "kernels/common/target.cuh"),
            ("kernels/wgmma_tma/wgmma_tma.cuh", "kernels/wgmma_tma/config.h"),
            ("kernels/common/target.cuh", "sim/target.h"),
        ]:
            self.assertIsNone(complaint(path, included), f"{path} includes {included}")


source = sys.argv.pop()
unittest.main(verbosity=2)
