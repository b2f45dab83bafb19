"""What libaldaba shows to the programs that use it: the functions of libaldaba.abi and nothing else,
and structs that only grow at their end."""
import os
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "common" / "client" / "aldaba.h"
WANTED = (HERE / "libaldaba.abi").read_text(encoding="utf-8").split()
SHARED, STATIC = os.environ["ALDABA_SHARED"], os.environ["ALDABA_STATIC"]
SANITIZER = re.compile(r"_*(?:asan|ubsan|odr_asan)|__llvm|_*(?:gcov|emutls)|__sanitizer")

# Where each field lies, on 64 bits. A line may be added at the end of a struct; none may change.
LAYOUT = {
    "aldaba_event": """lane 0 seq 8 task 16 position 24 provider 32 provider_id 40 state 48 source 56
        code 64 key 72 meta 80 trace 88 corrects 96 result_type 104 result 112 result_bytes 120
        received_at_ms 128 published_at_ms 136 deliveries 144 redelivered 152""",
    "aldaba_options": """size 0 run 8 consume 16 feed 24 provider 32 state 40 from 48 buffer 56
        buffer_bytes 64 log 72 log_arg 80 consumer 88 instance 96 mode 104 max_deliver 112
        ack_wait_ms 120 max_ack_pending 128""",
    "aldaba_status": """size 0 connected 8 refused 9 waiting 16 given 24 unsettled 32 position 40
        gap_before 169 gap_why 298 text 331"""}
CODES = {"OK": 0, "NONE": 1, "GAP": 2, "CHANGED": 3, "LATE": 4, "INVALID": -1, "REFUSED": -2,
         "SYSTEM": -3, "FULL": -4, "FORKED": -5}


def symbols(*command):
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[-1].partition("@")[0] for line in lines if len(line.split()) >= 3}
    return sorted(name for name in names if not SANITIZER.match(name))


def test_shared():
    assert symbols("nm", "-D", "--defined-only", SHARED) == sorted([*WANTED, "ALDABA_0"])


def test_static():
    assert symbols("nm", "-g", "--defined-only", STATIC) == WANTED


def test_the_header_declares_them():
    header = HEADER.read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"\b(aldaba_(?!log_fn)\w+)\(", header))) == WANTED
    assert re.findall(r"#include <(\S+)>", header) == ["stdbool.h", "stddef.h", "stdint.h"]


def test_its_name_has_the_version_of_the_abi():
    dynamic = subprocess.run(["readelf", "-d", SHARED], check=True, capture_output=True, text=True).stdout
    assert "soname: [libaldaba.so.0]" in dynamic
    assert not re.search(r"NEEDED.*(?:czmq|msgpack|crypto|sqlite)", dynamic)


@pytest.mark.parametrize("compiler", [["cc", "-std=c99"], ["c++", "-std=c++11"]])
def test_layout(compiler, tmp_path):
    lines = ["#include <aldaba.h>", "#define AT(tag, member, place) \\",
             "typedef char tag##_##member[offsetof(struct tag, member) == (place) ? 1 : -1]"]
    for tag, text in LAYOUT.items():
        words = text.split()
        lines += [f"AT({tag}, {name}, {place});" for name, place in zip(words[::2], words[1::2])]
    lines += [f"typedef char code_{name}[ALDABA_{name} == {value} ? 1 : -1];"
              for name, value in CODES.items()]
    source = tmp_path / ("layout.c" if compiler[0] == "cc" else "layout.cc")
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    subprocess.run([*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", HEADER.parent,
                    "-fsyntax-only", source], check=True)


def test_the_first_program_of_the_guide(tmp_path):
    """It compiles as it stands there."""
    guide = (HERE.parents[1] / "docs" / "CLIENT.md").read_text(encoding="utf-8")
    source = tmp_path / "service.c"
    source.write_text(re.search(r"```c\n(.*?)```", guide, re.DOTALL).group(1), encoding="utf-8")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", HEADER.parent,
                    "-fsyntax-only", source], check=True)
