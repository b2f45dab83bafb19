#!/usr/bin/env python3
"""Which lines of the pure cores the tests run: tests/coverage.py [--build build/coverage] [--no-run] [--lines FILE]

Builds the preset `coverage`, runs its unit and contract tests and the corpora of the fuzzers, and prints
each file of the pure cores with the share of its lines that ran, as gcovr counts them. Ends with 1 when
all of them together are below 95 %. --lines FILE prints the lines of one file that did not run.

Tests of whole processes are left out: they reach the shells, and a killed process writes no counts.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
AIM = 95.0
CORES = {
    "common/base": "backoff buf codec digest guard heap ident json_out metrics metrics_write rc text",
    "common/config": "address arena auth auth_check auth_parts auth_schemes batch budget cidr codes event_json expand"
                     " extract extract_text facade_word family_inphp family_inphp_codes fit form jwks merge node params"
                     " profile profile_fit profile_form profile_load profile_plain profile_print profiles request"
                     " request_call request_load request_submit rule rule_load ruled ruled_load setting setting_value"
                     " settings settings_rows sinks value webhook yaml",
    "common/client": "ask chain held item",
    "common/net": "window parcels",
    "proto": "cursor joined messages messages_api messages_consume messages_desk token wire wire_read words",
    "services/gateway": "api_query audit facade_ask facade_fields facade_parts facade_say http_frame http_head intake"
                        " json_in json_view json_view_desk metrics_merge peer proof quota sent",
    "services/tracker": "again arrival books budget consumer consumer_flight consumer_settle gather jwks_plan pace park"
                        " pending pending_again pending_batch pending_lease pending_rules pending_submit position quota"
                        " resubmission senders sink_breaker stale submission tail",
    "services/poller": "blot gate push reply sink submit terms verdict work",
    "services/dlq": "edit letters replay",
    "services/ctl": "age findings manifest pick sse table top_page",
}


def cores():
    return [f"{folder}/{name}.c" for folder, names in CORES.items() for name in names.split()]


def measure(build, args):
    if not args.no_run:
        subprocess.run(["cmake", "--preset", "coverage", "-B", str(build)], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", str(build), "--quiet", f"-j{args.jobs}"], check=True)
        for old in build.rglob("*.gcda"):
            old.unlink()
        subprocess.run(["ctest", "--test-dir", str(build), "-L", "^(unit|contract|corpus)$", f"-j{args.jobs}",
                        "--output-on-failure", "--quiet"], check=False)
    out = build / "coverage.json"
    wanted = "|".join(re.escape(name) for name in cores())
    subprocess.run(["gcovr", "--root", str(ROOT), "--object-directory", str(build), "--json", str(out),
                    "--filter", f"({wanted})$", "--gcov-ignore-parse-errors", str(build)],
                   cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    return json.loads(out.read_text())


def lines_of(report):
    """{file: {line: how often it ran}}, over all programs that the file is in."""
    files = {}
    for entry in report["files"]:
        lines = files.setdefault(entry["file"], {})
        for line in entry["lines"]:
            if not line.get("gcovr/noncode"):
                number = line["line_number"]
                lines[number] = lines.get(number, 0) + line["count"]
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-run", action="store_true", help="count what ran before")
    parser.add_argument("--lines", help="a file, such as proto/wire.c")
    args = parser.parse_args()
    files = lines_of(measure(args.build, args))
    if args.lines:
        source = (ROOT / args.lines).read_text().split("\n")
        for number, count in sorted(files[args.lines].items()):
            if count == 0:
                print(f"{number:5} {source[number - 1]}")
        return 0
    ran, there = 0, 0
    for name in cores():
        lines = files.get(name)
        if lines is None:
            print(f"{name:44} no line that could run: tables")
            continue
        some = sum(1 for count in lines.values() if count)
        ran, there = ran + some, there + len(lines)
        if lines:
            print(f"{name:44} {some:5} of {len(lines):5} {100 * some / len(lines):6.1f} %")
    share = 100 * ran / max(1, there)
    print(f"{'the pure cores together':44} {ran:5} of {there:5} {share:6.1f} %, aim {AIM} %")
    return 0 if share >= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
