import { createHash } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../../demo/game/seeded-random.ts';
import {
  contentOf,
  type Content,
  type CrashEvent,
  type CrashLog,
  type FileNode,
  type FolderNode,
  type Node,
} from './crash-log.ts';

/** What a power failure keeps of the changes that are not durable. */
export interface Loss {
  /** Of the names in each folder: all, none, either of both, the first ones, the last one, or any. */
  readonly names: 'all' | 'none' | 'either' | 'first' | 'last' | 'any';
  /** Of the bytes of each file: all, none, zeros in the place of the new ones, whole pages, a beginning, or any of these. */
  readonly bytes: 'all' | 'none' | 'zeros' | 'pages' | 'beginning' | 'any';
  /** Of the commits of the database that do not wait for the disk. */
  readonly commits: 'all' | 'none' | 'any';
}

/** The losses that every point of a record gets before the random ones. */
export const LOSSES: readonly Loss[] = [
  { names: 'all', bytes: 'none', commits: 'all' },
  { names: 'none', bytes: 'all', commits: 'none' },
  { names: 'all', bytes: 'zeros', commits: 'none' },
  { names: 'last', bytes: 'all', commits: 'all' },
  { names: 'either', bytes: 'all', commits: 'none' },
  { names: 'all', bytes: 'all', commits: 'all' },
  { names: 'all', bytes: 'pages', commits: 'none' },
  { names: 'first', bytes: 'any', commits: 'any' },
  { names: 'all', bytes: 'beginning', commits: 'all' },
];

/** What a power failure at one point leaves behind. */
export interface CrashState<Fact> {
  /** Equal for equal states. */
  readonly id: string;
  readonly files: ReadonlyMap<string, Content>;
  readonly folders: readonly string[];
  readonly image: Content | null;
  /** What others knew before. */
  readonly facts: readonly Fact[];
}

/** A loss by chance. */
export function randomLoss(random: Random): Loss {
  return {
    names: random.pick(['first', 'first', 'either', 'any', 'all', 'last', 'none'] as const),
    bytes: random.pick(['any', 'any', 'all', 'none', 'pages'] as const),
    commits: random.pick(['all', 'none', 'any'] as const),
  };
}

const PAGE = 4096;
const EMPTY = contentOf(Buffer.alloc(0));

/**
 * Builds the state that a power failure at one point leaves behind. Only what was synced is sure: a sync of a file keeps its bytes, one of a
 * folder the names in it. A rename happens as a whole; to another folder, the new name may be there before the old one is gone.
 *
 * @param point events of the record that happened before
 * @param dropped sites whose syncs are taken out
 *
 * Source: POSIX.1-2024, fsync() and rename(); Pillai et al., "All File Systems Are Not Created Equal" (OSDI 2014), section 3.
 */
export function crashState<Fact>(
  log: CrashLog<Fact>,
  point: number,
  loss: Loss,
  random: Random,
  dropped: ReadonlySet<string> = new Set(),
): CrashState<Fact> {
  const events = log.events.slice(0, point);
  const durable = durableUntil(events, dropped);
  const applied = appliedNames(events, durable, loss.names, random);
  const names = new Map<FolderNode, Map<string, Node>>();
  const of = (folder: FolderNode): Map<string, Node> => {
    const known = names.get(folder);
    if (known !== undefined) return known;
    const begun = new Map(log.names.get(folder));
    names.set(folder, begun);
    return begun;
  };
  for (const event of events) {
    if (event.kind !== 'names' || !applied.has(event)) continue;
    const folder = of(event.folder);
    for (const [name, node] of event.changes) {
      if (node === null) folder.delete(name);
      else folder.set(name, node);
    }
  }
  const contents = pendingContents(log, events, durable);
  const files = new Map<string, Content>();
  const folders: string[] = [];
  const chosen = new Map<FileNode, Content>();
  const walk = (folder: FolderNode, path: string): void => {
    for (const [name, node] of of(folder)) {
      const below = path === '' ? name : `${path}/${name}`;
      if (node.kind === 'folder') {
        folders.push(below);
        walk(node, below);
        continue;
      }
      const content = chosen.get(node) ?? keptBytes(contents.get(node) ?? [EMPTY], loss.bytes, random);
      chosen.set(node, content);
      files.set(below, content);
    }
  };
  walk(log.root, '');
  const image = keptImage(log, events, loss.commits, random);
  const facts = events.flatMap((event) => (event.kind === 'fact' ? [event.fact] : []));
  return { id: idOf(files, folders, image, facts.length), files, folders, image, facts };
}

/** The number of the first event of each node that may be lost. */
function durableUntil(
  events: ReadonlyArray<CrashEvent<unknown>>,
  dropped: ReadonlySet<string>,
): ReadonlyMap<Node, number> {
  const until = new Map<Node, number>();
  for (const event of events) {
    if (event.kind !== 'sync' || dropped.has(event.site)) continue;
    until.set(event.node, Math.max(until.get(event.node) ?? 0, event.until));
  }
  return until;
}

function appliedNames(
  events: ReadonlyArray<CrashEvent<unknown>>,
  durable: ReadonlyMap<Node, number>,
  kept: Loss['names'],
  random: Random,
): ReadonlySet<CrashEvent<unknown>> {
  const applied = new Set<CrashEvent<unknown>>();
  const pending = new Map<FolderNode, Array<CrashEvent<unknown>>>();
  for (const [at, event] of events.entries()) {
    if (event.kind !== 'names') continue;
    if (at < (durable.get(event.folder) ?? 0)) applied.add(event);
    else pending.set(event.folder, [...(pending.get(event.folder) ?? []), event]);
  }
  for (const waiting of pending.values()) {
    for (const event of keptNames(waiting, kept, random)) applied.add(event);
  }
  for (const event of applied) if (event.kind === 'names' && event.after !== null) applied.add(event.after);
  return applied;
}

function keptNames<T>(pending: readonly T[], kept: Loss['names'], random: Random): readonly T[] {
  switch (kept) {
    case 'all':
      return pending;
    case 'none':
      return [];
    case 'either':
      return random.below(2) === 0 ? pending : [];
    case 'first':
      return pending.slice(0, random.below(pending.length + 1));
    case 'last':
      return pending.slice(-1);
    case 'any':
      return pending.filter(() => random.below(2) === 0);
  }
}

/** The bytes that each file surely had, then those that it got since. */
function pendingContents(
  { contents }: CrashLog<unknown>,
  events: ReadonlyArray<CrashEvent<unknown>>,
  durable: ReadonlyMap<Node, number>,
): ReadonlyMap<FileNode, readonly Content[]> {
  const pending = new Map<FileNode, readonly Content[]>();
  for (const [file, content] of contents) pending.set(file, [content]);
  for (const [at, event] of events.entries()) {
    if (event.kind !== 'content') continue;
    const isSure = at < (durable.get(event.file) ?? 0);
    pending.set(
      event.file,
      isSure ? [event.content] : [...(pending.get(event.file) ?? [EMPTY]), event.content],
    );
  }
  return pending;
}

function keptBytes(versions: readonly Content[], kept: Loss['bytes'], random: Random): Content {
  const [sure = EMPTY] = versions;
  const last = versions.at(-1) ?? EMPTY;
  if (versions.length < 2) return sure;
  switch (kept) {
    case 'all':
      return last;
    case 'none':
      return sure;
    case 'zeros':
      return contentOf(
        Buffer.concat([
          sure.bytes.subarray(0, last.bytes.length),
          Buffer.alloc(Math.max(0, last.bytes.length - sure.bytes.length)),
        ]),
      );
    case 'pages':
      return keptPages(sure.bytes, last.bytes, random);
    case 'beginning':
      return contentOf(last.bytes.subarray(0, random.below(last.bytes.length + 1)));
    case 'any': {
      const way = random.pick(['all', 'none', 'zeros', 'pages', 'beginning', 'version'] as const);
      return way === 'version' ? random.pick(versions) : keptBytes(versions, way, random);
    }
  }
}

/** Each page is the new one, the old one, or zeros where there was none. */
function keptPages(sure: Buffer, last: Buffer, random: Random): Content {
  const pieces: Buffer[] = [];
  for (let at = 0; at < last.length; at += PAGE) {
    const page = last.subarray(at, at + PAGE);
    const old = Buffer.alloc(page.length);
    sure.subarray(at, at + page.length).copy(old);
    pieces.push(random.below(2) === 0 ? page : old);
  }
  return contentOf(Buffer.concat(pieces));
}

function keptImage(
  log: CrashLog<unknown>,
  events: ReadonlyArray<CrashEvent<unknown>>,
  kept: Loss['commits'],
  random: Random,
): Content | null {
  let possible: Array<Content | null> = [log.image];
  for (const event of events) {
    if (event.kind !== 'commit') continue;
    if (event.isDurable) possible = [event.image];
    else possible.push(event.image);
  }
  if (kept === 'any') return random.pick(possible);
  return (kept === 'all' ? possible.at(-1) : possible[0]) ?? null;
}

function idOf(
  files: ReadonlyMap<string, Content>,
  folders: readonly string[],
  image: Content | null,
  facts: number,
): string {
  const lines = [...files].map(([path, { id }]) => `${path}\0${id}`).concat(folders);
  return createHash('sha1')
    .update(`${lines.toSorted().join('\n')}\0${image?.id ?? ''}\0${facts}`)
    .digest('hex');
}

/** Files of more bytes are linked: nothing changes them in place. */
const COPIED_BYTES = 64 * 1024;

/**
 * Builds a state in an empty folder.
 *
 * @param shelf a folder on the same file system for the bytes of large files
 * @param database where the database is, relative to the folder
 * @param same files that must keep their inode, by the path: their bytes are linked when they are the same
 */
export function buildState(
  { files, folders, image }: CrashState<unknown>,
  folder: string,
  {
    shelf,
    database,
    same,
  }: {
    readonly shelf: string;
    readonly database: string;
    readonly same: ReadonlyMap<string, { readonly path: string; readonly id: string }>;
  },
): void {
  mkdirSync(folder, { recursive: true });
  for (const path of folders) mkdirSync(join(folder, path));
  for (const [path, { id, bytes }] of files) {
    const original = same.get(path);
    if (original?.id === id) {
      linkSync(original.path, join(folder, path));
      continue;
    }
    if (bytes.length <= COPIED_BYTES) {
      writeFileSync(join(folder, path), bytes);
      continue;
    }
    const kept = join(shelf, id);
    if (!existsSync(kept)) writeFileSync(kept, bytes);
    linkSync(kept, join(folder, path));
  }
  const folderOfDatabase = join(folder, database, '..');
  // Without its folder, the database is lost with it.
  if (image !== null && existsSync(folderOfDatabase)) writeFileSync(join(folder, database), image.bytes);
}
