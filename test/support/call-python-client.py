"""Calls every operation with a client that openapi-python-client has generated, and prints the outcomes as JSON.

    call-python-client.py FOLDER PACKAGE URL TOKEN CALLS
"""

import enum
import importlib
import inspect
import json
import re
import sys
import typing

folder, package, base_url, token, calls_file = sys.argv[1:]
sys.path.insert(0, folder)


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def typed(value, hint):
    """The value as its parameter takes it: words are members of an enumeration."""
    for option in typing.get_args(hint) or (hint,):
        if inspect.isclass(option) and issubclass(option, enum.Enum):
            return option(value)
    return value


client = importlib.import_module(package).AuthenticatedClient(base_url=base_url, token=token)
body_class = importlib.import_module(f"{package}.models").ControlBody
with open(calls_file, encoding="utf-8") as file:
    calls = json.load(file)

outcomes = []
for call in calls:
    module = importlib.import_module(f"{package}.api.{call['tag'].lower()}.{snake(call['operation'])}")
    hints = typing.get_type_hints(module.sync_detailed)
    given = {**call["path"], **call["query"]}
    arguments = {name: typed(value, hints[name]) for name, value in given.items()}
    if call["body"] is not None:
        arguments["body"] = body_class.from_dict(call["body"])
    answer = module.sync_detailed(client=client, **arguments)
    outcomes.append(
        {
            "operation": call["operation"],
            "status": int(answer.status_code),
            "hasContent": answer.parsed is not None,
        }
    )
json.dump(outcomes, sys.stdout)
