import { type FileHandle } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Blake3Hex } from '../../../domain/release/digest.ts';
import { createBlake3 } from '../../../platform/hashing/blake3.ts';
import { dataFolderTaskError } from '../../../engine/tasks/storage-task-error.ts';
import type { IndexedContainer } from '../../parse/index/read/units-after.ts';
import type { FrozenContainer, FrozenEdit } from './frozen-release.ts';
import { mkdir, open } from '../../../platform/files/file-changes.ts';

export interface EditSpool {
  /** Adds an edit of a container. All edits of one come together, in the order of the parse index. */
  add(container: IndexedContainer, edit: FrozenEdit): Promise<void>;
  /** Ends the last container. @returns all containers with edits, in their order */
  end(): Promise<readonly FrozenContainer[]>;
  close(): Promise<void>;
}

/** Raise it with every change of the patcher that can change the bytes of a patched file: equal patch keys mean equal bytes. */
export const PATCHER_VERSION = '1';

/** UTF-16 code units that are collected before they are written. */
const BUFFERED = 64 * 1024;

interface OpenContainer {
  readonly container: IndexedContainer;
  readonly path: string;
  readonly file: FileHandle;
  readonly hash: ReturnType<typeof createBlake3>;
  lines: string[];
  characters: number;
  edits: number;
}

/** Creates the spool. @param directory a folder in data.dir; it is made when it is missing, and the caller removes it */
export function createEditSpool(directory: string): EditSpool {
  const ended: FrozenContainer[] = [];
  let current: OpenContainer | null = null;
  const write = async (open: OpenContainer): Promise<void> => {
    const text = open.lines.join('');
    Object.assign(open, { lines: [], characters: 0 });
    if (text !== '') await open.file.write(text);
  };
  const finish = async (): Promise<void> => {
    if (current === null) return;
    const done = current;
    await write(done);
    current = null;
    await done.file.close();
    ended.push(frozenContainer(done));
  };
  const add: EditSpool['add'] = async (container, edit) => {
    if (current?.container.destination !== container.destination) {
      await finish();
      current = await openContainer(directory, container, ended.length);
    }
    const line = `${lineOf(edit)}\n`;
    current.hash.update(Buffer.from(line));
    current.lines.push(line);
    current.characters += line.length;
    current.edits += 1;
    if (current.characters > BUFFERED) await write(current);
  };
  return {
    add: async (container, edit) => {
      await inDataFolder(add(container, edit));
    },
    end: async () => {
      await inDataFolder(finish());
      return ended;
    },
    close: async () => {
      await current?.file.close().catch(() => undefined);
      current = null;
    },
  };
}

/** @throws TaskError of the data folder: the volume of the releases is not the cause */
async function inDataFolder(step: Promise<void>): Promise<void> {
  try {
    await step;
  } catch (error) {
    throw dataFolderTaskError(error);
  }
}

/** JSON on one line: readers of lines take the separators of Unicode for line ends. */
function lineOf(edit: FrozenEdit): string {
  return JSON.stringify(edit)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);
}

async function openContainer(
  directory: string,
  container: IndexedContainer,
  number: number,
): Promise<OpenContainer> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${number}.jsonl`);
  const hash = createBlake3();
  const facts = [PATCHER_VERSION, container.parserVersion, hex(container.blake3), hex(container.rulesDigest)];
  hash.update(Buffer.from(`${JSON.stringify(facts)}\n`));
  return {
    container,
    path,
    file: await open(path, 'wx', 0o600),
    hash,
    lines: [],
    characters: 0,
    edits: 0,
  };
}

function frozenContainer({ container, path, hash, edits }: OpenContainer): FrozenContainer {
  return {
    destination: container.destination,
    official: { blake3: hex(container.blake3), size: container.bytes },
    editsPath: path,
    edits,
    patchKey: hash.digest().toString('hex') as Blake3Hex,
  };
}

function hex(digest: Uint8Array): Blake3Hex {
  return Buffer.from(digest).toString('hex') as Blake3Hex;
}

/** Reads the edits of a container in bounded batches. */
export async function* readEdits(
  editsPath: string,
  batch: { readonly edits: number; readonly characters: number },
): AsyncGenerator<readonly FrozenEdit[]> {
  let edits: FrozenEdit[] = [];
  let characters = 0;
  for await (const line of createInterface({ input: createReadStream(editsPath), crlfDelay: Infinity })) {
    edits.push(JSON.parse(line) as FrozenEdit);
    characters += line.length;
    if (edits.length < batch.edits && characters < batch.characters) continue;
    yield edits;
    edits = [];
    characters = 0;
  }
  if (edits.length > 0) yield edits;
}
