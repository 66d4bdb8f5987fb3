#!/usr/bin/env python3
"""Builds all tests and runs their executables, several beside each other.

    run.py [--profile NAME] [--no-run] [ARGUMENT ...]

The arguments are for the executables, --include-ignored for example.

cargo runs one executable after the other. Tests of servers wait more than they compute, so that most of a machine would be idle for as long as
the last test of each of them takes.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time

# Executables that run at once; each runs RUST_TEST_THREADS tests at once.
LANES = 3
TARGETS = ["--workspace", "--lib", "--bins", "--test", "*"]
# What takes longest begins first, so that nothing long is left at the end.
LONGEST = ["cluster", "histories", "larder_engine", "smoke", "persistence", "replication", "load", "availability", "tls", "replica", "simulation"]


def executables(profile, environment):
    """The executables with the names of their targets and the folders of their packages."""
    command = ["cargo", "test", "--profile", profile, "--no-run", "--quiet", "--message-format=json-render-diagnostics", *TARGETS]
    built = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True, check=False)
    if built.returncode != 0:
        sys.exit(built.returncode)
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
            folder = os.path.dirname(message["manifest_path"])
            yield message["target"]["name"], folder, message["executable"]


def run(test, arguments, environment):
    """Runs one as cargo does: in its package's folder."""
    _, folder, program = test
    start = time.monotonic()
    environment = dict(environment, CARGO_MANIFEST_DIR=folder)
    done = subprocess.run(
        [program, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", check=False
    )
    return done, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", default="dev", help="cargo's profile (dev)")
    parser.add_argument("--no-run", action="store_true", help="only build them")
    options, arguments = parser.parse_known_args()
    # Cargo counts its own jobs: it is told nothing of those of make.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    tests = list(executables(options.profile, environment))
    if options.no_run:
        return
    tests.sort(key=lambda test: LONGEST.index(test[0]) if test[0] in LONGEST else len(LONGEST))
    failed = []
    with concurrent.futures.ThreadPoolExecutor(LANES) as lanes:
        running = {lanes.submit(run, test, arguments, environment): test for test in tests}
        for future in concurrent.futures.as_completed(running):
            name, folder, _ = running[future]
            done, seconds = future.result()
            name = f"{os.path.basename(folder)} {name}"
            print(f"== {name}: {seconds:.0f} s\n{done.stdout}", flush=True)
            if done.returncode != 0:
                failed.append(name)
    print(f"{len(tests)} executables of tests, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    sys.exit(1 if failed or not tests else 0)


if __name__ == "__main__":
    main()
