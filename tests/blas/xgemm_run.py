"""xgemm-run: programs run as without it, the ones that cannot be reached are told why, and --report tells what came
through."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import preload


def main():
    parser = preload.parser(__doc__)
    parser.add_argument("--script", required=True, help="xgemm-run")
    parser.add_argument("--probe", required=True, help="the program built from probe.c")
    parser.add_argument("--zgemm-program", default="", help="the program built from zgemm_program.c")
    parser.add_argument("--static-program", default="", help="a program that is linked statically")
    options = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XGEMM_")}
    if options.sanitizer:
        environment |= {"LD_PRELOAD": options.sanitizer, "ASAN_OPTIONS": "detect_leaks=0"}
    checks = 0

    def run(*arguments, status=0, says=(), quiet=False):
        """Runs xgemm-run; its exit status and what it must say on stderr are checked."""
        nonlocal checks
        checks += 1
        command = [sys.executable, options.script, "--library", options.library, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
        good = done.returncode == status and all(words in done.stderr for words in says)
        if not good or (quiet and done.stderr):
            preload.fail("%s\nstatus %d in place of %d\nstdout: %s\nstderr: %s\nexpected: %s" % (
                " ".join(arguments), done.returncode, status, done.stdout, done.stderr, says))
        return done

    # The program's own streams, arguments and end.
    if "route=" not in run(options.probe, quiet=True).stdout:
        preload.fail("the probe's output is not there")
    if run("sh", "-c", 'echo "$@"', "sh", "a b", "--report").stdout != "a b --report\n":
        preload.fail("arguments were changed")
    run("sh", "-c", "exit 7", status=7)
    run("--report", "sh", "-c", "exit 7", status=7)
    run("--report", "sh", "-c", "kill -TERM $$", status=128 + signal.SIGTERM)
    run("no-such-program", status=127, says=["no-such-program is not found"])
    run(status=2, says=["no program is named"])
    run("--nonsense", "true", status=2, says=["--nonsense is no option"])
    run("--library", "/nowhere.so", "true", status=2, says=["there is no /nowhere.so"])
    run("--library=/nowhere.so", "true", status=2, says=["there is no /nowhere.so"])
    run("--cublas-library", status=2, says=["--cublas-library needs a file"])
    run("--cublas-library=", "true", status=2, says=["--cublas-library needs a file"])
    # Files that the system does not start itself, as a shell treats them.
    with tempfile.TemporaryDirectory() as folder:
        def script(text):
            path = os.path.join(folder, "script")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o755)
            return path

        for options_of_run in ([], ["--report"]):
            if run(*options_of_run, script('echo "$1"'), "hi").stdout != "hi\n":
                preload.fail("a script without a first line was not run by a shell")
            run(*options_of_run, script("#!/nowhere/interpreter\n"), status=127, says=["script cannot be run: No such file"])
    if "--report" not in run("--help", quiet=True).stdout:
        preload.fail("there is no help")

    # What came through: the probe makes two products.
    for option in ("--report", "--compare"):
        run(option, options.probe, says=["summary of process", ": 2 products", "f32 NN 5x4x3"])
    run("--report", "sh", "-c", options.probe + " && " + options.probe, says=[": 2 products"])

    # What cannot be reached runs all the same.
    def unreachable(program, *words):
        run("--check", program, status=1, says=words)
        return words

    run("--check", options.probe, quiet=True)
    words = unreachable(shutil.which("true"), "import none of libxgemm's names")
    run("--report", "true", says=words)
    if options.zgemm_program:
        words = unreachable(options.zgemm_program, "imports zgemm_, which libxgemm does not have")
        run(options.zgemm_program, says=words)
    if options.static_program:
        words = unreachable(options.static_program, "linked statically")
        run(options.static_program, says=words)
    with tempfile.TemporaryDirectory() as folder:
        def changed(name, change):
            with open(options.probe, "rb") as file:
                data = bytearray(file.read())
            change(data)
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(data)
            os.chmod(path, 0o755)
            return path

        def machine(number):
            def change(data):
                data[18:20] = number.to_bytes(2, "little")
            return change

        unreachable(changed("foreign", machine(21)), "is for PowerPC 64, and libxgemm.so is not")
        unreachable(changed("unknown", machine(4711)), "machine 4711")
        unreachable(changed("cut", lambda data: data.__delitem__(slice(100, None))), "neither a program nor a script")
        script = os.path.join(folder, "script")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/usr/bin/env -S sh -e\nexit 5\n")
        os.chmod(script, 0o755)
        run(script, status=5)
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!%s\n" % shutil.which("true"))
        unreachable(script, "import none of libxgemm's names")
        if os.geteuid() == 0:
            private = changed("private", lambda data: None)
            os.chown(private, 65534, 65534)
            os.chmod(private, 0o4755)
            unreachable(private, "more rights than yours")
    print("%d runs as they should be" % checks)


if __name__ == "__main__":
    sys.exit(main())
