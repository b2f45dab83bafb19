"""What a provider keeps over its own restart: its tasks and their answers, a JSON line each.

A callback that was to come is not remembered: it is one of those that never come, and whoever asks
is told the truth. Written to the kernel at once, so that a kill forgets nothing.
"""
import json
import os
import time

KEPT_S = 24 * 3600  # of a line, at the next start


class Memory:
    """Tasks of earlier runs, by id; those of this run are added to the file. No path: of none."""

    def __init__(self, path):
        self.lines = {line["id"]: line for line in self.read(path)} if path else {}
        self.file = self.begin(path) if path else None

    @staticmethod
    def read(path):
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as file:
            for text in file:
                try:
                    line = json.loads(text)
                    if line["ready_ms"] > (time.time() - KEPT_S) * 1000:
                        yield line
                except (ValueError, KeyError, TypeError):
                    continue  # the end of a run that was killed

    def begin(self, path):
        with open(path + ".new", "w", encoding="utf-8") as file:
            for line in self.lines.values():
                file.write(json.dumps(line) + "\n")
        os.replace(path + ".new", path)
        return open(path, "a", encoding="utf-8")  # closed with the process

    def add(self, task, solve_s):
        if self.file is None:
            return
        line = {"id": task.id, "fate": task.fate, "answer": task.answer,
                "ready_ms": int((time.time() + solve_s) * 1000)}
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()

    def find(self, task_id):
        """(fate, answer, is it ready) of an earlier run's task, or None."""
        line = self.lines.get(task_id)
        return line and (line["fate"], line["answer"], time.time() * 1000 >= line["ready_ms"])
