#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: qgen authors
"""What run_documented_commands.py makes of pages: each rule with a page that breaks it, and commands that fail."""
import pathlib
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_documented_commands as tested  # noqa: E402


def blocks_and_problems(page):
    problems = []
    blocks = tested.read_blocks(textwrap.dedent(page), problems, "page")
    for block in blocks:
        tested.check_block(block, "page", problems)
    return blocks, problems


def problems_of(page):
    return blocks_and_problems(page)[1]


# The faults of running a page's commands in an empty folder.
def faults_of(page, seconds=20):
    blocks, problems = blocks_and_problems(page)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made) / "qgen"
        folder.mkdir()
        commands = [c for b in blocks if not b.reason for c in tested.commands_of(b)]
        tested.SECONDS_OF_A_COMMAND = seconds
        tested.run_commands(commands, "page", folder, pathlib.Path(made), problems)
    return problems


class Rules(unittest.TestCase):
    def rejects(self, page, words):
        problems = problems_of(page)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(words, problems[0])

    def test_what_is_not_run(self):
        self.rejects("```bash\nls\n```\n", "page:2: write ```sh or ```console")
        self.rejects("```\n$ ls\n```\n", "look like commands")
        self.rejects("```\nscripts/test\n```\n", "look like commands")
        self.assertEqual(problems_of("```\ny = x\n```\n```yaml\noperator: x\n```\n"), [])

    def test_markers(self):
        self.rejects("<!-- commands: takes long -->\n```sh\nls\n```\n", "is no reason that this test knows")
        self.rejects("<!-- commands: slow -->\n```sh\nls\n```\n", "is no reason that this test knows")
        self.rejects("<!-- commands:slow -->\n```sh\nls\n```\n", "not a marker")
        self.rejects("<!-- commands: run by tests/none.cpp -->\n```sh\nls\n```\n", "is no file of the repository")
        self.rejects("<!-- commands: slow, 9 min -->\n\nThis takes 9 min.\n```sh\nls\n```\n", "no text between them")
        self.rejects("Wait.\n<!-- commands: slow, 9 min -->\n```sh\nls\n```\n", "a reader does not learn '9 min'")
        self.rejects("On a GPU:\n<!-- commands: needs PyTorch and a GPU -->\n```sh\nls\n```\n", "learn 'PyTorch'")
        self.rejects("Wait.\n<!-- commands: slow, minutes -->\n```sh\nls\n```\n", "a reader does not learn 'minutes'")
        for page in ("It takes minutes:\n\n<!-- commands: slow, minutes -->\n```sh\nls\n```\n",
                     "It takes 9 min:\n\n<!-- commands: slow, 9 min -->\n```sh\nls\n```\n",
                     "<!-- commands: slow, 9 min -->\n```sh\nls  # 9 minutes\n```\n",
                     "On a GPU, with PyTorch:\n<!-- commands: needs PyTorch and a GPU -->\n```sh\nls\n```\n",
                     "<!-- commands: run by tests/README.md -->\n<!-- specs/x.yaml -->\n```sh\nls\n```\n",
                     "<!-- commands of this page: your own files -->\nText.\n```sh\nls x.onnx\n```\n"):
            blocks, problems = blocks_and_problems(page)
            self.assertEqual(problems, [])
            self.assertTrue(blocks[0].reason)

    def test_a_marker_is_of_one_block(self):
        blocks, _ = blocks_and_problems("<!-- commands: your own files -->\n```sh\nls x\n```\n```sh\nls\n```\n")
        self.assertEqual([b.reason for b in blocks], ["your own files", None])

    def test_commands(self):
        self.rejects("```sh\n# nothing\n```\n", "without a command")
        self.rejects("```sh\nls 'x\n```\n", "bash cannot read this")
        self.rejects("```sh\nls /tmp/x\n```\n", "'/tmp' is outside the clone")
        self.rejects("```sh\nls -o=~/x\n```\n", "'~' is outside the clone")

    def test_programs(self):
        problems = []
        page = "<!-- commands: your own files -->\n```sh\nX=1 build/none a | tests/none\n```\n"
        block = blocks_and_problems(page)[0][0]
        tested.check_programs(block, "page", tested.SOURCE / "build/release", "", problems)
        self.assertEqual(problems, ["page:3: there is no 'build/none'", "page:3: there is no 'tests/none'"])

    def test_programs_that_the_page_makes(self):
        page = "<!-- commands: your own files -->\n```sh\nbuild/made/bin/a\nbuild/release/none\n```\n"
        block = blocks_and_problems(page)[0][0]
        problems = []
        tested.check_programs(block, "page", tested.SOURCE / "build/release", "cmake --prefix build/made", problems)
        self.assertEqual(problems, ["page:4: there is no 'build/release/none'"])
        problems = []
        tested.check_programs(block, "page", tested.SOURCE / "build/release", "cmake --prefix build/madeup", problems)
        self.assertEqual(problems[0], "page:3: there is no 'build/made/bin/a'")


class Running(unittest.TestCase):
    def test_what_works(self):
        self.assertEqual(faults_of("""\
            ```sh
            export MADE=x && mkdir build && cd build   # lasts until the page ends
            for i in 1 2; do
              echo $i
            done >"$MADE.txt"
            cat >here <<END
            a 'quote
            END
            ```
            ```sh
            [ "$(cat \\
              x.txt | wc -l)" = 2 ]
            ```
            ```console
            $ cat x.txt
            1
            2
            $ cat here; echo an error; cat none
            ...
            an error
            cat: ...: No such file...
            ```
            """), [])

    def test_what_fails(self):
        for page, words in (("```sh\ntrue\necho why; false\n```\n", "page:3: exit code 1"),
                            ("```sh\nexit 0\n```\n", "ended the shell"),
                            ("```sh\nsleep 9\n```\n", "did not end within 1 s"),
                            ("```console\n$ echo a\nb\n```\n", "prints something else than the page shows"),
                            ("```console\n$ echo a; false\na\n```\n", "exit code 1, and the page shows no error")):
            faults = faults_of(page, seconds=1)
            self.assertEqual(len(faults), 1, faults)
            self.assertIn(words, faults[0])
        self.assertIn("  | why", faults_of("```sh\necho why; false\n```\n")[0])

    def test_output_is_as_shown(self):
        for lines, shown, holds in (
                ("a b c", "a b c", True), ("a b c", "...", True), ("a b c", "a ... c", True),
                ("a b c", "a ... d", False), ("a", "a ...", False), ("a x", "a ...", True), ("a|b|c|d", "a|...|d", True), ("a|b", "a", False),
                ("a", "a|...", True), ("", "...", True), ("", "a", False)):
            as_lines = [line for line in lines.split("|") if line]
            self.assertEqual(tested.is_as_shown(as_lines, shown.split("|")), holds, (lines, shown))


if __name__ == "__main__":
    unittest.main()
