"""A second run of cmake in a folder changes no command: what was built stays built, as each ./up
relies on."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parent.parent.parent


def commands(folder):
    """What cmake would have run, after another run of it."""
    subprocess.run(["cmake", "--preset", "release", "-B", folder, "-DALDABA_TESTS=OFF"], cwd=ROOT,
                   check=True, capture_output=True)
    return (folder / "compile_commands.json").read_text(encoding="utf-8")


def test_a_second_run_changes_nothing(tmp_path):
    first = commands(tmp_path)
    assert "gateway" in first
    assert commands(tmp_path) == first
