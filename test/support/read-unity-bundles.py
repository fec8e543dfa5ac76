"""Reads Unity bundles with UnityPy.

  read-unity-bundles.py texts FILE...   one line of JSON for each file: { path id: { name, class_id, texts } }
  read-unity-bundles.py values FILE...  one line of JSON for each file: { files: { name: sha256 }, objects: { path id: fields } }
  read-unity-bundles.py paths FILE...   one line of JSON for each file: { path id: { path: text } }
  read-unity-bundles.py patch FILE EDITS OUT  seconds of processor time to write the bundle with the edits of string tables
  read-unity-bundles.py pack FILE OUT   writes the bundle again with LZMA
  read-unity-bundles.py time FILE       seconds of processor time and number of texts in string tables
"""

import hashlib
import json
import sys
import time

import UnityPy
from UnityPy.helpers.TypeTreeHelper import TypeTreeConfig, get_ref_type_node, read_value

TERMINUS = {"class": "Terminus", "ns": "UnityEngine.DMAT", "asm": "FAKE_ASM"}


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


def is_first_registry(node):
    return node.m_Type == "ManagedReferencesRegistry" and node.m_Children[1].m_Type == "ReferencedObject"


def read_first_registry(node, reader, config):
    """UnityPy reads one reference of a registry of version 1; there are others up to the terminus."""
    registry = {node.m_Children[0].m_Name: reader.read_int()}
    type_node, _data_node = node.m_Children[1].m_Children
    references = []
    while True:
        name = read_value(type_node, reader, config)
        if name == TERMINUS:
            break
        fields = get_ref_type_node({"type": name}, config.assetsfile)
        references.append({"type": name, "data": read_value(fields, reader, config)})
    registry["RefIds"] = references
    return registry


def tree_of(each):
    node = each._get_typetree_node()
    registry = node.m_Children[-1] if node.m_Children else None
    if registry is None or registry.m_Type != "ManagedReferencesRegistry":
        return each.read_typetree()
    # Its extension in C frees None once too often for each reference to nothing, so its reader in Python is used.
    each.reset()
    # The types of references describe a registry too, which only the object has.
    config = TypeTreeConfig(True, each.assets_file, True)
    value = {child.m_Name: read_value(child, each.reader, config) for child in node.m_Children[:-1]}
    read = read_first_registry if is_first_registry(registry) else read_value
    value[registry.m_Name] = read(registry, each.reader, config)
    if each.reader.Position != each.byte_start + each.byte_size:
        raise ValueError("the registry does not end with its object")
    return value


def paths_of(value, path):
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, each in value.items():
            # The name of a class is no text.
            if not (name == "type" and isinstance(each, dict) and "asm" in each):
                yield from paths_of(each, f"{path}.{name}" if path else name)
    elif isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            name = each.get("rid", index) if isinstance(each, dict) and "type" in each else index
            yield from paths_of(each, f"{path}[{name}]")


def print_paths(path):
    objects = {str(each.path_id): dict(paths_of(tree_of(each), "")) for each in UnityPy.load(path).objects}
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
    objects = {str(each.path_id): json_of(tree_of(each)) for each in environment.objects}
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
elif sys.argv[1] == "paths":
    for argument in sys.argv[2:]:
        print_paths(argument)
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
