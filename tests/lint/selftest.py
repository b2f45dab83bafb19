#!/usr/bin/env python3
"""Each lint finds what it is there for, and leaves alone what it should.

Bad samples are small files in a temporary folder: words that the lints look for are put together here.
Usage: selftest.py
"""

import pathlib
import subprocess
import tempfile
import unittest

import banned
import failpoints
import layers

HERE = pathlib.Path(__file__).resolve().parent
FORMAT = (HERE.parent.parent / ".clang-format").read_text(encoding="utf-8")

LONG_FUNCTION = "void f(void)\n{\n" + "    g();\n" * 59 + "}\n"
RIGHT_FUNCTION = "void f(void)\n{\n" + "    g();\n" * 58 + "}\n"


def include(path):
    return f'#include "{path}"\n'


def system(path):
    return f"#include <{path}>\n"


class Lint(unittest.TestCase):
    """Runs one lint over a tree of one file."""

    def tree(self, name, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name).resolve()
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
        (root / ".clang-format").write_text(FORMAT, encoding="utf-8")
        return root

    def finds(self, lint, name, text, line=1):
        with self.subTest(lint=lint.__name__, name=name, text=text[:60]):
            found = [(where, at) for where, at, _ in lint.check(self.tree(name, text))]
            self.assertIn((name, line), found)

    def passes(self, lint, name, text):
        with self.subTest(lint=lint.__name__, name=name, text=text[:60]):
            self.assertEqual(list(lint.check(self.tree(name, text))), [])

    def run_script(self, script, root):
        command = [str(HERE / script), str(root)]
        return subprocess.run(command, capture_output=True, text=True, check=False)


class Scripts(Lint):
    """What ctest sees: the exit code, and lines that name the place."""

    def test_exit_codes(self):
        for script, bad in (("layers.py", include("proto/wire.h")), ("banned.py", "int a = atoi(b);\n"),
                            ("format.sh", "int  a;\n")):
            with self.subTest(script=script):
                ran = self.run_script(script, self.tree("common/base/x.c", bad))
                self.assertNotEqual(ran.returncode, 0)
                self.assertIn("common/base/x.c:1:", ran.stdout + ran.stderr)
                ran = self.run_script(script, self.tree("common/base/x.c", "int a;\n"))
                self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_format_leaves_other_files_alone(self):
        self.assertEqual(self.run_script("format.sh", self.tree("proto/x.py", "a  =  1\n")).returncode, 0)

    def test_deleted_but_tracked_file_is_passed_over(self):
        root = self.tree("proto/x.c", "int a;\n")
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        subprocess.run(["git", "-C", str(root), "add", "proto/x.c"], check=True)
        (root / "proto/x.c").unlink()
        for script in ("layers.py", "banned.py", "format.sh"):
            with self.subTest(script=script):
                self.assertEqual(self.run_script(script, root).returncode, 0)


class Layers(Lint):
    def test_upwards(self):
        for name, included in (
                ("common/base/x.c", "proto/wire.h"),
                ("common/base/x.h", "common/net/sock.h"),
                ("proto/x.c", "common/config/yaml.h"),
                ("proto/x.c", "services/dlq/rows.h"),
                ("common/store/x.c", "common/net/sock.h"),
                ("common/config/x.c", "common/store/disk.h"),
                ("common/net/x.c", "services/dlq/rows.h"),
                ("services/dlq/x.c", "services/tracker/vault/books.h"),
                ("services/dlq/x.c", "tests/support/x.h"),
                ("services/dlq/x.c", "rows.h")):
            self.finds(layers, name, "\n" + include(included), line=2)

    def test_downwards(self):
        for name, included in (
                ("common/base/x.c", "common/base/buf.h"),
                ("proto/x.c", "common/base/buf.h"),
                ("common/net/x.c", "common/config/settings.h"),
                ("services/dlq/x.c", "common/net/sock.h"),
                ("services/dlq/x.c", "services/dlq/rows.h"),
                ("tests/unit/dlq/x.c", "services/dlq/rows.h")):
            self.passes(layers, name, include(included))

    def test_homes(self):
        for name, header in (
                ("services/gateway/answer.c", "civetweb.h"),
                ("services/tracker/x.c", "curl/curl.h"),
                ("services/ctl/main.c", "curl/curl.h"),
                ("proto/messages.c", "msgpack.h"),
                ("common/config/profile.c", "yaml.h"),
                ("common/store/spool.c", "sqlite3.h"),
                ("services/tracker/x.c", "jansson.h"),
                ("proto/token.c", "gcrypt.h"),
                ("proto/wire.c", "czmq.h"),
                ("common/base/x.c", "cmocka.h")):
            self.finds(layers, name, system(header))
        for name, header in (
                ("services/gateway/http/http.c", "civetweb.h"),
                ("services/ctl/api.c", "curl/curl.h"),
                ("services/gateway/api/json_task.c", "jansson.h"),
                ("common/base/digest.c", "gcrypt.h"),
                ("common/base/x.c", "stdio.h")):
            self.passes(layers, name, system(header))


class Failpoints(Lint):
    """A tree that is right, and what is wrong with it then."""

    RIGHT = {
        "common/base/failpoint.c": 'static const char *const failpoint_names[] = {\n    "disk.sync", "disk.name", "disk.say",\n};\n',
        "common/base/bug.h": "#ifndef ALD_BUG_no_sync\n#define ALD_BUG_no_sync 0\n#endif\n",
        "common/store/disk.c": 'int a = ALD_FAILPOINT("disk.sync", fsync(fd), -1);\n'
                               'int b = ALD_FAILPOINT("disk.name",\n    rename(x, y), -1);\n'
                               "int c = ALD_BUG(no_sync);\n"
                               'f();\nALD_FAILPOINT_STEP("disk.say");\nald_sock_send_then(s, &m);\n',
        "common/store/CMakeLists.txt": "ald_bug(no_sync disk.c)\n",
        "docs/HACKING.md": "| `disk.sync` | x |\n| `disk.name` | y |\n| `disk.say` | z |\n",
    }

    def found(self, **changed):
        """What is found in the tree with these files changed; in names, __ is / and _dot_ is a dot."""
        root = self.tree("x.txt", "")
        files = {**self.RIGHT, **{name.replace("__", "/").replace("_dot_", "."): text
                                  for name, text in changed.items()}}
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return [what for _, _, what in failpoints.check(root)]

    def test_right(self):
        self.assertEqual(self.found(), [])

    def test_wrong(self):
        disk = self.RIGHT["common/store/disk.c"]
        for changed, word in (
                ({"common__store__disk_dot_c": disk + "int d = fsync(fd);\n"}, "at no failpoint"),
                ({"common__store__disk_dot_c": disk + "f();\nald_sock_send_then(s, &m);\n"}, "at no failpoint"),
                ({"common__store__disk_dot_c": disk + 'int d = store_command(s, "COMMIT");\n'}, "a commit"),
                ({"services__dlq__x_dot_c": 'int d = ALD_SOCK_SEND("disk.sync", s, &m);\n'}, "another place"),
                ({"services__dlq__x_dot_c": 'int d = ALD_FAILPOINT("disk.other", f(), -1);\n'}, "is not in"),
                ({"common__store__disk_dot_c": disk.replace("disk.name", "disk.sync")}, "nowhere in the code"),
                ({"docs__HACKING_dot_md": "| `disk.sync` | x |\n"}, "has no row"),
                ({"docs__HACKING_dot_md": self.RIGHT["docs/HACKING.md"] + "| `a.b` | z |\n"}, "no failpoint a.b"),
                ({"common__store__CMakeLists_dot_txt": "ald_bug(no_sync mark.c)\n"}, "used in"),
                ({"check": "cmake -DALDABA_" + "BUG=no_sync\n"}, "broken on purpose")):
            with self.subTest(changed=changed):
                self.assertTrue(any(word in what for what in self.found(**changed)), self.found(**changed))


class Banned(Lint):
    def test_calls(self):
        for call in ("strcpy(a, b)", "strcat(a, b)", "sprintf(a, b)", "vsprintf(a, b, c)", "gets(a)", "atoi(a)",
                     "atol(a)", "strtok(a, b)", "system(a)", "popen(a, b)", "alloca(9)",
                     "mg_handle_form_request(a, b)", "zsock_new(1)", "zsock_new_push(a)", "zhash_new()",
                     "zlist_size(a)", "zframe_new(a, 9)", "zmsg_addmem(a, b, 9)"):
            self.finds(banned, "services/dlq/x.c", f"\nint a = {call};\n", line=2)

    def test_calls_that_only_look_so(self):
        for text in ("int a = snprintf(a, b);\n", "int a = zhashx_new();\n", "int a = zlistx_size(a);\n",
                     "/* strcpy(a, b) */\n", 'const char *a = "system(x)";\n', "int a = file_system(b);\n",
                     "int a = strtoll(a, b, 10);\n"):
            self.passes(banned, "services/dlq/x.c", text)
        self.passes(banned, "common/net/sock.c", "int a = zsock_new(1);\n")
        self.passes(banned, "common/net/frame.c", "int a = zframe_new(a, 9);\n")
        self.passes(banned, "tests/component/x.c", "int a = zsock_new(1);\n")

    def test_sleeps(self):
        self.finds(banned, "tests/unit/x.c", "int a = usleep(5);\n")
        self.finds(banned, "tests/unit/x.c", "int a = sleep(5);\n")
        self.finds(banned, "tests/system/test_x.py", "import time\ntime.sleep(1)\n", line=2)
        self.finds(banned, "tests/support/daemon.py", "from time import sleep\n")
        self.passes(banned, "tests/support/until.py", "import time\ntime.sleep(1)\n")
        self.passes(banned, "tests/sandbox/fates.py", "import time\ntime.sleep(1)\n")

    def test_words(self):
        for word in ("p" + "kill", "kill" + "all", "p" + "grep", "TO" + "DO", "FIX" + "ME", "XX" + "X",
                     "/wo" + "rk/x", "/ho" + "me/x", "/ro" + "ot/x", "py" + "pi.org", "registry.np" + "mjs.org"):
            for name in ("services/dlq/x.c", "tests/system/x.py", "docs/x.md", "up", "cmake/x.cmake"):
                self.finds(banned, name, f"\n/* see {word} */\n", line=2)
        self.passes(banned, "docs/x.md", "A network/working/homework/rooted path, ${dir}/wo" + "rk/x.\n")

    def test_lengths(self):
        self.finds(banned, "proto/x.c", "\n" * 501, line=501)
        self.passes(banned, "proto/x.c", "\n" * 500)
        self.finds(banned, "proto/x.h", "\n" * 201, line=201)
        self.passes(banned, "proto/x.h", "\n" * 200)
        self.finds(banned, "proto/x.c", LONG_FUNCTION, line=2)
        self.passes(banned, "proto/x.c", RIGHT_FUNCTION)


if __name__ == "__main__":
    unittest.main()
