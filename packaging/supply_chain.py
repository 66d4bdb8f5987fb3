#!/usr/bin/env python3
"""The licenses, the notices and the bill of materials of what Larder ships.

    supply_chain.py notices           writes packaging/THIRD-PARTY-NOTICES.txt
    supply_chain.py check             checks licenses and sources by deny.toml, and that the notices are complete
    supply_chain.py sbom PACKAGE FILE writes a CycloneDX bill of materials of larder-server, larder-load or larder-python

Everything comes from cargo and from the sources of the crates. Run `make notices` after a change of Cargo.lock; `make lint`
runs the check.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTICES = ROOT / "packaging" / "THIRD-PARTY-NOTICES.txt"
# What is shipped, with the features that are on.
PACKAGES = {"larder-server": [], "larder-load": ["--features", "larder-load/parquet"], "larder-python": []}
# Where it is shipped for.
TARGETS = ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu"]
FILES = ("LICEN", "COPYING", "UNLICENSE", "COPYRIGHT", "NOTICE")
RULE = "=" * 80
# Code in C that crates compile: by the crate, its name, its version by the crate's, its license, and where its notice is.
BUNDLED = {
    "lua-src": ("Lua", lambda version: "5.1.5", "MIT", "lua-5.1.5/lua.h"),
    "tikv-jemalloc-sys": ("jemalloc", lambda version: version.split("+")[1].split("-")[0], "BSD-2-Clause", "jemalloc/COPYING"),
    "zstd-sys": ("Zstandard", lambda version: version.split("zstd.")[1], "BSD-3-Clause", "zstd/LICENSE"),
    "aws-lc-sys": ("AWS-LC", lambda version: version, "ISC AND Apache-2.0 AND MIT AND BSD-3-Clause", "aws-lc/LICENSE"),
}
# Crates that name a library and contain no code in C: declarations, or a part of one of the above.
LINKS_ONLY = {"aws-lc-rs", "larder-lua-sys", "mlua-sys", "pyo3", "pyo3-ffi", "prettyplease", "rayon-core"}

MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""

BSD_3 = """Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following
   disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
   disclaimer in the documentation and/or other materials provided with the distribution.
3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote
   products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES,
INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY,
WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE."""


def cargo(*words):
    """What cargo prints. It is not told of the jobs of make."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    done = subprocess.run(["cargo", *words], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cargo {' '.join(words)} failed")
    return done.stdout


class Crates:
    """The crates that are built here, also for tests, by name and version. Those for other systems are not fetched."""

    def __init__(self):
        platforms = [word for target in TARGETS for word in ["--filter-platform", target]]
        features = [word for words in PACKAGES.values() for word in words]
        found = json.loads(cargo("metadata", "--locked", "--format-version=1", *platforms, *features))
        self.crates = {(crate["name"], crate["version"]): crate for crate in found["packages"]}
        by_id = {crate["id"]: (crate["name"], crate["version"]) for crate in found["packages"]}
        self.needs = {by_id[node["id"]]: [by_id[need] for need in node["dependencies"]] for node in found["resolve"]["nodes"]}

    def shipped(self, packages, edges="normal", targets=TARGETS):
        """The names and versions of the crates in packages, the packages themselves among them."""
        names = set()
        selected = [word for package in packages for word in ["-p", package, *PACKAGES[package]]]
        for target in targets:
            words = ["tree", "--locked", "--edges", edges, "--prefix", "none", "--format", "{p}", "--target", target]
            for line in cargo(*words, *selected).splitlines():
                if line.strip():
                    name, version = line.split()[:2]
                    names.add((name, version.removeprefix("v")))
        return names

    def all_shipped(self):
        """Those of all packages: the foreign ones, and the crates whose C code is bundled."""
        foreign = {name for name in self.shipped(PACKAGES) if self.crates[name]["source"]}
        bundled = self.bundled(PACKAGES)
        for name in sorted(foreign):
            if self.crates[name]["links"] and name[0] not in BUNDLED and name[0] not in LINKS_ONLY:
                sys.exit(f"{name[0]} links {self.crates[name]['links']}: add it to BUNDLED or to LINKS_ONLY in {__file__}")
        return foreign, bundled

    def bundled(self, packages):
        """The crates of packages whose C code is compiled into them, some of them by build scripts. The same for all targets."""
        return {name for name in self.shipped(packages, "normal,build", TARGETS[:1]) if name[0] in BUNDLED}

    def folder(self, name):
        return pathlib.Path(self.crates[name]["manifest_path"]).parent

    def license(self, name):
        return self.crates[name]["license"] or ""


def read(path):
    """A text without blanks at the ends of lines."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return "\n".join(line.rstrip() for line in text.expandtabs().splitlines()).strip("\n")


def lua_notice(path):
    """The notice at the end of Lua's header, without the marks of the comment."""
    comment = read(path).rsplit("/*****", 1)[1].split("*****/", 1)[0]
    return "\n".join(line.lstrip("* ").rstrip() for line in comment.splitlines()).strip()


def texts(crates, name):
    """The texts that go with a crate. Of licenses to choose from, MIT is chosen, or else Apache-2.0."""
    folder, expression = crates.folder(name), crates.license(name)
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(FILES))
    notices = [path for path in files if path.name.upper().startswith("NOTICE")]
    licenses = [path for path in files if path not in notices]
    if " AND " not in expression:
        for choice in ("MIT", "APACHE"):
            chosen = [path for path in licenses if choice in path.name.upper()]
            if chosen and re.search(r" OR |/", expression):
                licenses = chosen
                break
    if not licenses:
        authors = ", ".join(re.sub(r" *<.*?>", "", author) for author in crates.crates[name]["authors"]) or f"the authors of {name[0]}"
        text = MIT if "MIT" in re.findall(r"[\w.-]+", expression) else {"BSD-3-Clause": BSD_3}[expression]
        return [f"Copyright (c) {authors}\n\n{text}"]
    return [read(path) for path in licenses + notices]


def grouped(crates, foreign):
    """Each text once, with the crates that it belongs to."""
    groups = {}
    for name in sorted(foreign):
        for text in texts(crates, name):
            key = " ".join(text.split())
            groups.setdefault(key, (text, []))[1].append(name)
    return groups.values()


def write_notices(crates):
    foreign, bundled = crates.all_shipped()
    lines = ["Larder is distributed under the Apache License, version 2.0. Its programs contain the third-party software",
             "listed here. `packaging/supply_chain.py notices` makes this file from the sources of the crates.", "", RULE,
             "Libraries in C", RULE, ""]
    for name in sorted(bundled):
        title, version, license_, path = BUNDLED[name[0]]
        text = lua_notice(crates.folder(name) / path) if title == "Lua" else read(crates.folder(name) / path)
        lines += [f"{title} {version(name[1])} ({license_}), from {name[0]} {name[1]}", "", text, "", RULE, ""]
    lines += ["Crates", RULE, ""]
    lines += [f"{name} {version} ({crates.license((name, version))})" for name, version in sorted(foreign)]
    for text, names in grouped(crates, foreign):
        lines += ["", RULE, "For " + ", ".join(f"{name} {version}" for name, version in names), "", text]
    NOTICES.write_text("\n".join(lines) + "\n", encoding="utf-8")


def is_allowed(expression, allowed):
    """Whether a license of an SPDX expression may be chosen of those that are allowed."""
    words = re.findall(r"\(|\)|[^\s()/]+|/", re.sub(r"\s+WITH\s+", "+WITH+", expression))
    terms = {"OR": "or", "/": "or", "AND": "and", "(": "(", ")": ")"}
    text = " ".join(terms.get(word, str(word.replace("+WITH+", " WITH ") in allowed)) for word in words)
    return bool(text) and eval(text, {"__builtins__": {}})  # pylint: disable=eval-used


def check(crates):
    faults = []
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed = set(rules["licenses"]["allow"])
    foreign, bundled = crates.all_shipped()
    for name, crate in sorted(crates.crates.items()):
        if crate["source"] and not is_allowed(crates.license(name), allowed):
            faults.append(f"{name[0]} {name[1]}: deny.toml does not allow its license, {crates.license(name) or 'none'}")
    sources = {crate["source"] for crate in crates.crates.values() if crate["source"]}
    if len(sources) != 1 or not all(source.startswith("registry+") for source in sources):
        faults.append(f"crates come from {sorted(sources)}: they must come from one registry")
    text = NOTICES.read_text(encoding="utf-8")
    listed = set(re.findall(r"^(\S+) (\S+) \(.*\)$", text.split("\nCrates\n")[1].split("\n\n" + RULE)[0], re.M))
    for name, version in sorted(foreign - listed):
        faults.append(f"{NOTICES.name} lacks {name} {version}: run `make notices`")
    for name, version in sorted(listed - foreign):
        faults.append(f"{NOTICES.name} has {name} {version}, which is not shipped: run `make notices`")
    for name, version in sorted(bundled):
        if f", from {name} {version}\n" not in text:
            faults.append(f"{NOTICES.name} lacks {BUNDLED[name][0]} of {name} {version}: run `make notices`")
    if len(bundled) != len(BUNDLED):
        faults.append(f"only {sorted(bundled)} of {sorted(BUNDLED)} are bundled: correct BUNDLED in {__file__}")
    return faults


def component(crates, name, checksums):
    """A crate as a component of a bill of materials."""
    purl = f"pkg:cargo/{name[0]}@{name[1].replace('+', '%2B')}"
    found = {"type": "library", "bom-ref": purl, "name": name[0], "version": name[1], "purl": purl, "scope": "required"}
    if crates.license(name):
        found["licenses"] = [{"expression": crates.license(name).replace("/", " OR ")}]
    if name in checksums:
        found["hashes"] = [{"alg": "SHA-256", "content": checksums[name]}]
    if crates.crates[name]["repository"]:
        found["externalReferences"] = [{"type": "vcs", "url": crates.crates[name]["repository"]}]
    return found


def bundled_component(name):
    title, version, license_, _ = BUNDLED[name[0]]
    purl = f"pkg:generic/{title.lower()}@{version(name[1])}"
    licenses = [{"expression": license_}]
    return {"type": "library", "bom-ref": purl, "name": title, "version": version(name[1]), "purl": purl, "licenses": licenses}


def sbom(crates, package):
    """A CycloneDX bill of materials. It depends on the sources alone: the same commit makes the same file."""
    names, bundled = crates.shipped([package]), crates.bundled([package])
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(crate["name"], crate["version"]): crate["checksum"] for crate in lock["package"] if "checksum" in crate}
    components = {name: component(crates, name, checksums) for name in sorted(names)}
    main = next(found for name, found in components.items() if name[0] == package)
    needs = [{"ref": components[name]["bom-ref"],
              "dependsOn": sorted(components[need]["bom-ref"] for need in crates.needs[name] if need in components)}
             for name in components]
    stamp = int(os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT))
    libraries = [found for found in components.values() if found is not main] + [bundled_component(name) for name in sorted(bundled)]
    text = json.dumps(libraries, sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, text)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(stamp, datetime.timezone.utc).isoformat(),
            "component": {**main, "type": "application"},
        },
        "components": libraries,
        "dependencies": needs,
    }


def main():
    match sys.argv[1:]:
        case ["notices"]:
            write_notices(Crates())
        case ["check"]:
            faults = check(Crates())
            if faults:
                sys.exit("\n".join(faults))
        case ["sbom", package, path] if package in PACKAGES:
            pathlib.Path(path).write_text(json.dumps(sbom(Crates(), package), indent=1) + "\n", encoding="utf-8")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
