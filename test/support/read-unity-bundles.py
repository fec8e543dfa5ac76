"""Reads Unity bundles with UnityPy.

  read-unity-bundles.py texts FILE...   one line of JSON for each file: { path id: { name, class_id, texts } }
  read-unity-bundles.py values FILE...  one line of JSON for each file: { files: { name: sha256 }, objects: { path id: fields } }
  read-unity-bundles.py patch FILE EDITS OUT  seconds of processor time to write the bundle with the edits of string tables
  read-unity-bundles.py pack FILE OUT   writes the bundle again with LZMA
  read-unity-bundles.py time FILE       seconds of processor time and number of texts in string tables
"""

import hashlib
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


def json_of(value):
    # Bytes have no form in JSON.
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {str(key): json_of(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_of(each) for each in value]
    # Numbers of 64 bits would be rounded by the reader.
    return str(value) if type(value) is int else value


def print_values(path):
    environment = UnityPy.load(path)
    objects = {str(each.path_id): json_of(each.read_typetree()) for each in environment.objects}
    files = {
        name: hashlib.sha256(bytes(file.view)).hexdigest()
        for name, file in environment.file.files.items()
        if not hasattr(file, "objects")
    }
    print(json.dumps({"files": files, "objects": objects}))


def read_edits(path):
    edits = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            edit = json.loads(line)
            edits[edit["pathId"], edit["fieldPath"]] = edit["target"]
    return edits


def patch(path, edits_path, output):
    started = time.process_time()
    edits = read_edits(edits_path)
    with open(path, "rb") as file:
        environment = UnityPy.load(file.read())
    for each in environment.objects:
        tree = each.read_typetree()
        path_id = str(each.path_id)
        for at, row in enumerate(tree["m_TableData"]):
            row["m_Localized"] = edits[path_id, f"m_TableData[{at}].m_Localized"]
        each.save_typetree(tree)
    with open(output, "wb") as file:
        file.write(environment.file.save(packer="lz4"))
    print(json.dumps({"seconds": time.process_time() - started}))


def print_time(path):
    started = time.process_time()
    with open(path, "rb") as file:
        environment = UnityPy.load(file.read())
    count = sum(len(each.read_typetree()["m_TableData"]) for each in environment.objects)
    print(json.dumps({"seconds": time.process_time() - started, "texts": count}))


if sys.argv[1] == "texts":
    for argument in sys.argv[2:]:
        print_texts(argument)
elif sys.argv[1] == "values":
    for argument in sys.argv[2:]:
        print_values(argument)
elif sys.argv[1] == "patch":
    patch(sys.argv[2], sys.argv[3], sys.argv[4])
elif sys.argv[1] == "pack":
    with open(sys.argv[3], "wb") as output:
        output.write(UnityPy.load(sys.argv[2]).file.save(packer="lzma"))
else:
    print_time(sys.argv[2])
