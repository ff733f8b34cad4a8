#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one source file in one process, and says how many passed.

    group.py [--screen] PROGRAM FILE_test.cpp      the tests of FILE that PROGRAM has
    group.py --whole PROGRAM FILE_test.cpp ...     fails when PROGRAM has a test that no FILE names
    group.py --sum LOG                             how many of all files passed and were skipped, from ctest's log

A test that ends the process, or does not end at all, does not hide the others: they are run by the next process. Settings and runtime folders are
new ones. With --screen a virtual one is started (Xvfb); without Xvfb it is the one of $DISPLAY. $KVSCOPE_TEST_SCALE is the scale factor of the
window. 77, which ctest calls skipped, when all were.
"""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading

SECONDS_PER_TEST = int(os.environ.get("KVSCOPE_TEST_SECONDS", 300))  # sanitizers have more
MACRO = re.compile(r"^TEST(_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
RESULT = re.compile(r"^(\d+) of (\d+) tests passed, (\d+) failed, (\d+) skipped$")
BEGIN, END = re.compile(r"^\[ RUN      \] (\S+)"), re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] ([^\s,]+)(?:,| \()")


def tests_of(program, files):
    """Names of the program's tests that the files define, in the order in which it would run them; and all that it has."""
    wanted = set()
    for file in files:
        with open(file, encoding="utf-8") as source:
            wanted |= {f"{suite}.{name}" for _, suite, name in MACRO.findall(source.read())}
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True, timeout=60).stdout
    every, suite = [], ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            every.append(suite + name.strip())
        elif re.fullmatch(r"[\w/]+\.", name):
            suite = name

    def plain(test):  # Looks/HeadByMouse.Clicks/light -> HeadByMouse.Clicks
        suite, name = test.split(".", 1)
        return f"{suite.split('/')[-1]}.{name.split('/')[0]}"

    return [t for t in every if plain(t) in wanted], every


@contextlib.contextmanager
def screen():
    """A virtual screen; its name, or None where there is no Xvfb."""
    reader, writer = os.pipe()
    try:
        server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "1600x1000x24", "-noreset", "-nolisten", "tcp"],
                                  pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        os.close(reader)
        os.close(writer)
        yield None
        return
    os.close(writer)
    try:
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        if not number:
            sys.exit("Xvfb does not start")
        yield ":" + number
    finally:
        server.terminate()
        server.wait()


def run_once(program, tests, env):
    """{test: OK, FAILED, SKIPPED} of those that ended, the test that did not or None, and how the process ended."""
    process = subprocess.Popen([program, "--gtest_filter=" + ":".join(tests)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
    results, running, timed_out = {}, None, threading.Event()

    def stop():
        timed_out.set()
        process.send_signal(signal.SIGABRT)

    watch = threading.Timer(SECONDS_PER_TEST, stop)
    watch.start()
    for line in process.stdout:
        print(line, end="", flush=True)
        if begin := BEGIN.match(line):
            running = begin[1]
            watch.cancel()
            watch = threading.Timer(SECONDS_PER_TEST, stop)
            watch.start()
        elif (end := END.match(line)) and end[2] == running:
            results[running], running = end[1], None
    status = process.wait()
    watch.cancel()
    how = f"ran longer than {SECONDS_PER_TEST} s" if timed_out.is_set() else f"ended the process ({status})"
    return results, running, how, status


def run_all(program, tests, env):
    results, left = {}, list(tests)
    while left:
        found, unfinished, how, status = run_once(program, left, env)
        if status == 77 and not found:
            print("skipped: the program says so")
            return {t: "SKIPPED" for t in tests}
        results |= found
        if unfinished:
            print(f"error: {unfinished} {how}", flush=True)
            results[unfinished] = "FAILED"
        elif status not in (0, 1) or not found:
            print(f"error: {program} {how} outside of a test", flush=True)
            results |= {t: "FAILED" for t in left if t not in found}
            results.setdefault("the end of the program", "FAILED")
        before, left = len(left), [t for t in left if t not in results]
        if left and not unfinished:
            print(f"error: not run: {', '.join(left)}")
            results |= {t: "FAILED" for t in left}
        assert len(left) < before
        if not unfinished:
            break
    return results


def sum_up(log):
    """A line about all groups of tests in a log of ctest (Testing/Temporary/LastTest.log), and where some were skipped."""
    name, totals, skipped = "", [0, 0, 0, 0], []
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if begin := re.match(r"^\d+/\d+ Test: (\S+)", line):
                name = begin[1]
            elif result := RESULT.match(line):
                counts = [int(n) for n in result.groups()]
                totals = [a + b for a, b in zip(totals, counts)]
                if counts[3]:
                    skipped.append(f"{name} {counts[3]} of {counts[1]}")
    where = f" ({', '.join(skipped)})" if skipped else ""
    print(f"Tests in the files of tests: {totals[1]:,}, {totals[0]:,} passed, {totals[2]:,} failed, {totals[3]:,} skipped{where}")


def main():
    arguments = sys.argv[1:]
    option = arguments.pop(0) if arguments and arguments[0].startswith("--") else ""
    program, *files = arguments
    if option == "--sum":
        sum_up(program)
        return
    tests, every = tests_of(program, files)
    if option == "--whole":
        strangers = sorted(set(every) - set(tests))
        print(f"{len(every)} tests in {len(files)} files")
        sys.exit(f"error: in no file: {', '.join(strangers)}" if strangers else 0 if every else "error: no tests")
    if not tests:
        sys.exit(f"error: {program} has no test of {', '.join(files)}")
    with tempfile.TemporaryDirectory(prefix="kvscope-tests-") as home, (screen() if option == "--screen" else contextlib.nullcontext()) as display:
        env = {**os.environ, "XDG_RUNTIME_DIR": home, "XDG_CONFIG_HOME": home + "/config", "XDG_DATA_HOME": home + "/data",
               "LIBGL_ALWAYS_SOFTWARE": "1"}
        if display:
            env |= {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        for name in ("WAYLAND_DISPLAY", "QT_SCALE_FACTOR", "QT_STYLE_OVERRIDE"):
            if display:
                env.pop(name, None)
        if scale := os.environ.get("KVSCOPE_TEST_SCALE"):
            env["QT_SCALE_FACTOR"] = scale
        results = run_all(program, tests, env)
    failed = [t for t, result in results.items() if result == "FAILED"]
    skipped = [t for t, result in results.items() if result == "SKIPPED"]
    for test in failed:
        print("failed:", test)
    print(f"{len(tests) - len(failed) - len(skipped)} of {len(tests)} tests passed, {len(failed)} failed, {len(skipped)} skipped")
    sys.exit(1 if failed else 77 if len(skipped) == len(tests) else 0)


if __name__ == "__main__":
    main()
