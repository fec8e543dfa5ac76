"""Reads Unity bundles with UnityPy.

  read-unity-bundles.py texts FILE...   one line of JSON for each file: { path id: { name, class_id, texts } }
  read-unity-bundles.py pack FILE OUT   writes the bundle again with LZMA
  read-unity-bundles.py time FILE       seconds of processor time and number of texts in string tables
"""

import json
import sys
import time

import UnityPy


def texts_of(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts_of(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_of(each)


def print_texts(path):
    objects = {}
    for each in UnityPy.load(path).objects:
        objects[str(each.path_id)] = {
            "name": each.peek_name(),
            "class_id": each.class_id,
            "texts": list(texts_of(each.read_typetree())),
        }
    print(json.dumps(objects))


def print_time(path):
    started = time.process_time()
    with open(path, "rb") as file:
        environment = UnityPy.load(file.read())
    count = sum(len(each.read_typetree()["m_TableData"]) for each in environment.objects)
    print(json.dumps({"seconds": time.process_time() - started, "texts": count}))


if sys.argv[1] == "texts":
    for argument in sys.argv[2:]:
        print_texts(argument)
elif sys.argv[1] == "pack":
    with open(sys.argv[3], "wb") as output:
        output.write(UnityPy.load(sys.argv[2]).file.save(packer="lzma"))
else:
    print_time(sys.argv[2])
