"""The wheel, as pip builds and installs it: what is in it, and all tests of this folder once more on what was installed.

    wheel.py --source DIR --libraries DIR --folder FOLDER

Nothing is compiled: the wheel takes the libraries of the build. Skipped where the packages that pip needs cannot be had, for
instance without a network.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "blas"))
from wheels import environment_with  # pylint: disable=wrong-import-position


def run(*command):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XGEMM_", "PYTHON"))}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment,
                          cwd=os.path.dirname(os.path.abspath(__file__)))
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--libraries", required=True, help="where the build has libxgemm.so and libxgemm_cublas.so")
    parser.add_argument("--folder", required=True, help="for the virtual environment and the wheel")
    options = parser.parse_args()
    python = environment_with(os.path.join(options.folder, "environment"), ["scikit-build-core>=0.11", "numpy", "ml_dtypes"])
    wheels = os.path.join(options.folder, "wheels")
    for old in glob.glob(os.path.join(wheels, "*.whl")):
        os.remove(old)
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", wheels,
        "--config-settings", f"cmake.define.XGEMM_LIBRARY_DIR={options.libraries}", options.source)
    (wheel,) = glob.glob(os.path.join(wheels, "*.whl"))
    if not re.fullmatch(r"xgemm-[\d.]+-py3-none-linux_\w+\.whl", os.path.basename(wheel)):
        sys.exit(f"{wheel} is not for every Python")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if "dist-info" not in name}
    sources = {f"xgemm/{name}" for name in os.listdir(os.path.join(options.source, "python", "xgemm")) if name[0] != "_" or
               name.endswith(".py")}
    wanted = sources | {"xgemm/_run.py", "xgemm/lib/libxgemm.so.0", "xgemm/lib/libxgemm_cublas.so.0"}
    if names != wanted:
        sys.exit(f"the wheel lacks {wanted - names} or has {names - wanted} too much")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", wheel)
    print(run(python, "-m", "unittest", "discover", "--verbose", "--pattern", "*_test.py"))


if __name__ == "__main__":
    main()
