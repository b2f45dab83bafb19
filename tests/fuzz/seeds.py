"""Write each message of the golden vectors as a file: `seeds.py VECTORS OUT`."""
import json
import pathlib
import sys


def main(vectors, out):
    out.mkdir(parents=True, exist_ok=True)
    for path in vectors.glob("*.v*.json"):
        vector = json.loads(path.read_text(encoding="utf-8"))
        (out / path.stem).write_bytes(bytes.fromhex(vector["hex"]))
        (out / f"{path.stem}.required").write_bytes(bytes.fromhex(vector["required"]["hex"]))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
