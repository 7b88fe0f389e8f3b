#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""Writes a bill of materials: the projects whose code is in qgen's programs and libraries, in SPDX 2.3 as JSON.

  scripts/write_sbom.py build/release > qgen.spdx.json

The archives are those that the linker of this build gets. Their versions are those of Debian's packages, on the system
and in the folder of scripts/setup. An archive that no row of COMPONENTS names is an error. $SOURCE_DATE_EPOCH, if it is
set, is the date.
"""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

# Project, SPDX licence, Debian package, and archives as the linker gets them; none: headers alone.
COMPONENTS = [
    ("CLI11", "BSD-3-Clause", "libcli11-dev", []),
    ("Eigen", "MPL-2.0", "libeigen3-dev", []),
    ("fmt", "MIT", "libfmt-dev", []),
    ("glslang", "BSD-3-Clause AND BSD-2-Clause AND MIT AND Apache-2.0", "glslang-dev",
     ["glslang", "glslang-default-resource-limits", "SPIRV"]),
    ("libpng", "libpng-2.0", "libpng-dev", ["png", "png16"]),
    ("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "libstdc++-12-dev", []),
    ("nlohmann JSON", "MIT", "nlohmann-json3-dev", []),
    ("ONNX", "Apache-2.0", "libonnx-dev", []),
    ("Protocol Buffers", "BSD-3-Clause", "libprotobuf-dev", ["protobuf-lite"]),
    ("SPIRV-Cross", "Apache-2.0", "libspirv-cross-c-shared-dev",
     ["spirv-cross-core", "spirv-cross-glsl", "spirv-cross-hlsl", "spirv-cross-msl"]),
    ("SPIRV-Headers", "MIT", "spirv-headers", []),
    ("SPIRV-Tools", "Apache-2.0", "spirv-tools", ["SPIRV-Tools", "SPIRV-Tools-opt"]),
    ("SQLite", "blessing", "libsqlite3-dev", ["sqlite3"]),
    ("volk", "MIT", "libvulkan-volk-dev", []),
    ("Vulkan-Headers", "Apache-2.0 OR MIT", "libvulkan-dev", []),
    ("Vulkan Memory Allocator", "MIT", "libvulkan-memory-allocator-dev", []),
    ("xxHash", "BSD-2-Clause", "libxxhash-dev", []),
    ("yaml-cpp", "MIT", "libyaml-cpp-dev", ["yaml-cpp"]),
    ("zlib", "Zlib", "zlib1g-dev", ["z"]),
    ("Zstandard", "BSD-3-Clause OR GPL-2.0-only", "libzstd-dev", ["zstd"]),
]
LINKED = ["codegen/qgen", "runtime/qgen-run", "runtime/qgen-tune", "runtime/qgen-model", "runtime/qgen-info"]
LINKED_WITH_LIBPNG = ["examples/picture/recognised"]  # of the demo in the package qgen; without libpng it is left out


def fail(text):
    sys.exit(f"write_sbom: {text}")


def linked_archives(build):
    """Names of the archives of other projects that ninja links into the programs."""
    names = set()
    for program in LINKED + LINKED_WITH_LIBPNG:
        asked = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", program], capture_output=True, text=True)
        if asked.returncode != 0 and program in LINKED:
            fail(f"{build} has no {program}: {asked.stdout.strip() or asked.stderr.strip()}")
        names.update(re.findall(r"/lib([^/ ]+)\.a\b", " ".join(re.findall(r" (/[^ ]+\.a)\b", asked.stdout))))
    return names


def unpacked_versions():
    """Debian packages that scripts/setup has unpacked, with their versions."""
    home = os.environ.get("QGEN_DEPS") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "qgen-deps")
    manifest = pathlib.Path(home, "current", "manifest")
    text = manifest.read_text() if manifest.exists() else ""
    return dict(re.findall(r"^([^_\s]+)_([^_\s]+)_\w+\.deb", text, re.M))


def version_of(package, unpacked):
    if package in unpacked:
        return unpacked[package]
    asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return asked.stdout if asked.returncode == 0 and asked.stdout else "NOASSERTION"


def entry(name, version, licence, package=None):
    made = {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name), "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION"}
    if package:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                 "referenceLocator": f"pkg:deb/debian/{package}@{version}"}]
    return made


def document(build):
    known = {archive for _, _, _, archives in COMPONENTS for archive in archives}
    unknown = sorted(linked_archives(build) - known)
    if unknown:
        fail(f"no row of COMPONENTS has the archive of {', '.join(unknown)}")
    source = pathlib.Path(__file__).resolve().parent.parent / "CMakeLists.txt"
    version = re.search(r"^project\(qgen VERSION ([0-9.]+)", source.read_text(), re.M).group(1)
    unpacked = unpacked_versions()
    qgen = entry("qgen", version, "Apache-2.0")
    parts = [entry(name, version_of(package, unpacked), licence, package) for name, licence, package, _ in COMPONENTS]
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.datetime.now().timestamp()),
                                           datetime.timezone.utc)
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([qgen, parts, date.isoformat()]))
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": qgen["SPDXID"]}]
    relations += [{"spdxElementId": qgen["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": part["SPDXID"]}
                  for part in parts]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"qgen-{version}", "documentNamespace": f"urn:uuid:{identity}",
            "creationInfo": {"created": date.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: scripts/write_sbom.py"]},
            "packages": [qgen] + parts, "relationships": relations}


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if len(sys.argv) == 2 else 2)
    print(json.dumps(document(sys.argv[1]), indent=2))
