// Downloads the release that a Slipway server serves, and checks each file.
//   npm install @napi-rs/blake-hash
//   node download.ts http://127.0.0.1:8080 FOLDER
// Files that are there already are kept if their digests are right. Run it again after an interruption: it resumes.
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import process from 'node:process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Blake3Hasher } from '@napi-rs/blake-hash';

interface Entry {
  readonly destination: string;
  readonly size: number;
  readonly blake3: string;
}

interface Page {
  readonly items: readonly Entry[];
  readonly next_offset: number | null;
}

interface Bootstrap {
  readonly cdn: { readonly root: string };
  readonly release: { readonly release_id: string; readonly entry_count: number };
}

const ATTEMPTS = 5;

/** The server refused a request. To send it again would change nothing. */
class RefusedError extends Error {}

/** Sends a GET. After a 429 or 503 it waits as long as the server asks for, and tries again. */
async function get(url: string, headers: Record<string, string> = {}): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, { headers });
    if (response.ok) return response;
    const why = await response.text();
    if (![429, 503].includes(response.status) || attempt === ATTEMPTS)
      throw new RefusedError(`${url}: ${response.status} ${why}`);
    await pause(Number(response.headers.get('retry-after') ?? 2 ** attempt) * 1000);
  }
}

/** Lists the entries of a release, 1,000 in each page. */
async function* entriesOf(server: string, releaseId: string): AsyncGenerator<Entry> {
  let offset: number | null = 0;
  while (offset !== null) {
    const query = new URLSearchParams({ release_id: releaseId, offset: String(offset), limit: '1000' });
    const page = (await (await get(`${server}/v1/distribution?${query.toString()}`)).json()) as Page;
    yield* page.items;
    offset = page.next_offset;
  }
}

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    (found) => found.size,
    () => 0,
  );
}

async function isRight(path: string, entry: Entry): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found?.size !== entry.size) return false;
  const hasher = new Blake3Hasher();
  for await (const piece of createReadStream(path)) hasher.update(piece as Buffer);
  return hasher.digestBuffer().toString('hex') === entry.blake3;
}

/** Downloads a file, or the rest of one. The entity tag of a file is its BLAKE3. */
async function download(url: string, part: string, entry: Entry): Promise<void> {
  const have = await sizeOf(part);
  if (have === entry.size && have > 0) return;
  const headers: Record<string, string> =
    have > 0 && have < entry.size ? { range: `bytes=${have}-`, 'if-range': `"${entry.blake3}"` } : {};
  const response = await get(url, headers);
  if (response.body === null) return;
  // 206 is the rest; 200 is the whole file.
  const flags = response.status === 206 ? 'a' : 'w';
  await pipeline(Readable.fromWeb(response.body), createWriteStream(part, { flags }));
}

/** Brings a file into the folder. @returns whether it was downloaded */
async function fetchEntry(root: string, folder: string, entry: Entry): Promise<boolean> {
  const path = resolve(join(folder, entry.destination));
  if (!path.startsWith(join(resolve(folder), sep)))
    throw new Error(`the server names a path outside the folder: ${entry.destination}`);
  if (await isRight(path, entry)) return false;
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.part`;
  const url = `${root}/${entry.destination.split('/').map(encodeURIComponent).join('/')}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await download(url, part, entry);
      if (await isRight(part, entry)) break;
      if ((await sizeOf(part)) >= entry.size) await rm(part);
      throw new Error(`${entry.destination}: the digest is wrong`);
    } catch (error) {
      if (error instanceof RefusedError || attempt === ATTEMPTS) throw error;
      // The connection broke; the next attempt resumes.
      await pause(2 ** (attempt - 1) * 1000);
    }
  }
  await rename(part, path);
  return true;
}

const [server = '', folder = ''] = process.argv.slice(2);
const { cdn, release } = (await (await get(`${server}/v1/bootstrap`)).json()) as Bootstrap;
console.log(`release ${release.release_id}: ${release.entry_count} files`);
const counts = { downloaded: 0, kept: 0 };
for await (const entry of entriesOf(server, release.release_id)) {
  if (await fetchEntry(cdn.root, folder, entry)) counts.downloaded += 1;
  else counts.kept += 1;
}
console.log(`downloaded ${counts.downloaded}, kept ${counts.kept}`);

// What a launcher asks.
const config = (await (await get(`${server}/api/launcher/game/config`)).json()) as {
  data: { game_latest_version: string; decompression_size: string };
};
console.log(`launcher: version ${config.data.game_latest_version}, ${config.data.decompression_size}`);
