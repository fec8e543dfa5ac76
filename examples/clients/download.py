"""Downloads the release that a Slipway server serves, and checks each file.

    pip install blake3
    python3 download.py http://127.0.0.1:8080 FOLDER

Files that are there already are kept if their digests are right. Run it again after an interruption: it resumes.
"""

import http.client
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from blake3 import blake3

ATTEMPTS = 5
PIECE = 1024 * 1024


def get(url, headers=None):
    """Sends a GET. After a 429 or 503 it waits as long as the server asks for, and tries again."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=60)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503) or attempt == ATTEMPTS:
                raise RuntimeError(f"{url}: {error.code} {error.read().decode()}") from error
            time.sleep(float(error.headers.get("retry-after", 2**attempt)))
    raise AssertionError("unreachable")


def get_json(url):
    with get(url) as response:
        return json.load(response)


def entries_of(server, release_id):
    """Lists the entries of a release, 1,000 in each page."""
    offset = 0
    while offset is not None:
        query = urllib.parse.urlencode({"release_id": release_id, "offset": offset, "limit": 1000})
        page = get_json(f"{server}/v1/distribution?{query}")
        yield from page["items"]
        offset = page["next_offset"]


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def is_right(path, entry):
    if not path.is_file() or path.stat().st_size != entry["size"]:
        return False
    hasher = blake3()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            hasher.update(piece)
    return hasher.hexdigest() == entry["blake3"]


def download(url, part, entry):
    """Downloads a file, or the rest of one. The entity tag of a file is its BLAKE3."""
    have = size_of(part)
    if 0 < have == entry["size"]:
        return
    headers = {}
    if 0 < have < entry["size"]:
        headers = {"Range": f"bytes={have}-", "If-Range": f'"{entry["blake3"]}"'}
    with get(url, headers) as response:
        # 206 is the rest; 200 is the whole file.
        with part.open("ab" if response.status == 206 else "wb") as file:
            while piece := response.read(PIECE):
                file.write(piece)


def fetch_entry(root, folder, entry):
    """Brings a file into the folder; returns whether it was downloaded."""
    path = folder.joinpath(entry["destination"]).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise RuntimeError(f"the server names a path outside the folder: {entry['destination']}")
    if is_right(path, entry):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    url = f"{root}/{urllib.parse.quote(entry['destination'])}"
    for attempt in range(1, ATTEMPTS + 1):
        try:
            download(url, part, entry)
        except (OSError, http.client.HTTPException):
            # The connection broke; the next attempt resumes.
            if attempt == ATTEMPTS:
                raise
            time.sleep(2 ** (attempt - 1))
            continue
        if is_right(part, entry):
            part.rename(path)
            return True
        if size_of(part) >= entry["size"]:
            part.unlink()
    raise RuntimeError(f"{entry['destination']}: the digest is wrong")


def main(server, folder):
    bootstrap = get_json(f"{server}/v1/bootstrap")
    release = bootstrap["release"]
    print(f"release {release['release_id']}: {release['entry_count']} files")
    fetched = [
        fetch_entry(bootstrap["cdn"]["root"], Path(folder), entry)
        for entry in entries_of(server, release["release_id"])
    ]
    print(f"downloaded {fetched.count(True)}, kept {fetched.count(False)}")
    # What a launcher asks.
    config = get_json(f"{server}/api/launcher/game/config")["data"]
    print(f"launcher: version {config['game_latest_version']}, {config['decompression_size']}")


main(*sys.argv[1:])
