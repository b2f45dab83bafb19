"""The plot of a soak (soak.py): memory, files, latency and rate over time, drawn by gnuplot."""
import json
import shutil
import subprocess
import sys

HEAD = """set terminal svg size 960,{height} dynamic font 'sans-serif,12' background '#ffffff'
set output '{svg}'
set multiplot layout {panels},1
set datafile separator ','
set grid lc rgb '#dddddd'
set key outside right
set xlabel 'minutes'
set yrange [0:*]
"""
PANEL_PX = 240


def panels(windows):
    """[(title, {name: values})]"""
    def each(what, factor):
        return {name: [window[what].get(name, 0) * factor for window in windows]
                for name in windows[0][what]}

    def one(what):
        return [window[what] for window in windows]

    return [("callbacks a second", {"answered": one("rate")}),
            ("latency, ms", {"median": one("p50_ms"), "99th percentile": one("p99_ms")}),
            ("memory, MiB", each("rss_kib", 1 / 1024)),
            ("files, MiB", each("bytes", 1 / 2**20)),
            ("descriptors", each("fds", 1)),
            ("processors used", each("cpu", 1))]


def script(windows, svg):
    drawn = panels(windows)
    lines = [HEAD.format(height=PANEL_PX * len(drawn), svg=svg, panels=len(drawn))]
    minutes = [window["s"] / 60 for window in windows]
    for number, (title, lots) in enumerate(drawn):
        lines.append(f"$panel{number} << EOD")
        lines += [",".join(f"{value:.6g}" for value in row) for row in zip(minutes, *lots.values())]
        lines.append(f"EOD\nset title '{title}'")
        lines.append("plot " + ", ".join(
            f"$panel{number} using 1:{column} with lines lw 1.5 title '{name}' noenhanced"
            for column, name in enumerate(lots, 2)))
    return "\n".join(lines + ["unset multiplot", ""])


def plot(paths, svg):
    if not shutil.which("gnuplot"):
        sys.exit("gnuplot is not here: install the package gnuplot-nox")
    windows = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            windows += [json.loads(line) for line in file]
    subprocess.run(["gnuplot"], input=script(windows, svg), text=True, check=True)
    return 0
