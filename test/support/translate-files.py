"""Reads and fills translation files with translate-toolkit.

    translate-files.py read FILE         prints the units as JSON
    translate-files.py fill FILE OUT     writes the file with the target "T:" + source in every unit
    translate-files.py time FILE         prints the processor seconds that reading takes, and the number of units
"""

import json
import sys
import time
from pathlib import Path

from translate.storage import po, tbx, tmx, xliff, xliff2


def load(path):
    data = Path(path).read_bytes()
    if data.startswith(b"msgid"):
        return po.pofile.parsestring(data)
    if b"<tmx " in data[:500]:
        return tmx.tmxfile.parsestring(data)
    if b"<martif " in data[:500]:
        return tbx.tbxfile.parsestring(data)
    return xliff2.Xliff2File.parsestring(data) if b"document:2.0" in data[:500] else xliff.xlifffile.parsestring(data)


def main(command, path, out=None):
    start = time.process_time()
    store = load(path)
    if command == "time":
        # The toolkit takes texts out of its tree when they are asked for.
        for unit in store.units:
            str(unit.source), str(unit.target)
        json.dump([time.process_time() - start, len(store.units)], sys.stdout)
        return
    # The header of a catalog is a unit without a text.
    units = [unit for unit in store.units if unit.istranslatable()]
    if command == "read":
        json.dump(
            [[unit.getid(), str(unit.source), None if unit.target is None else str(unit.target)] for unit in units],
            sys.stdout,
        )
        return
    for unit in units:
        unit.target = f"T:{unit.source}"
    with open(out, "wb") as file:
        store.serialize(file)


main(*sys.argv[1:])
