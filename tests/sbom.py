#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""sbom.py SCRIPT BUILD: checks the bill of materials of a build (scripts/write_sbom.py)."""
import json
import os
import subprocess
import sys


def fail(text):
    sys.exit(f"sbom.py: {text}")


def written(script, build):
    run = subprocess.run([script, build], capture_output=True, text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1"})
    return run.stdout if run.returncode == 0 else fail(run.stderr)


script, build = sys.argv[1:]
text = written(script, build)
if text != written(script, build):
    fail("two runs with one date differ")
document = json.loads(text)
if document["spdxVersion"] != "SPDX-2.3" or document["creationInfo"]["created"] != "1970-01-01T00:00:01Z":
    fail("expected SPDX 2.3, with the date of SOURCE_DATE_EPOCH")
packages = {package["SPDXID"]: package for package in document["packages"]}
if len(packages) != len(document["packages"]):
    fail("two packages have one SPDXID")
for relation in document["relationships"]:
    for end in (relation["spdxElementId"], relation["relatedSpdxElement"]):
        if end not in packages and end != document["SPDXID"]:
            fail(f"a relationship names {end}, which is no package")
related = {relation["relatedSpdxElement"] for relation in document["relationships"]}
if related != set(packages):
    fail(f"no relationship has {set(packages) - related}")
refused = subprocess.run([script, os.path.join(build, "none")], capture_output=True, text=True)
if refused.returncode != 1 or "write_sbom: " not in refused.stderr or "Traceback" in refused.stderr:
    fail("expected one sentence about a folder that is no build")
print(f"{len(packages)} packages")
