import { lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import type * as changes from '../../../src/platform/files/file-changes.ts';
import {
  contentOf,
  type Content,
  type CrashEvent,
  type CrashLog,
  type FileNode,
  type FolderNode,
  type NameChanges,
  type Node,
} from './crash-log.ts';

type FileChanges = typeof changes;
type Call = (...given: never[]) => unknown;

/** The names of the temporary files and of the objects differ between two runs, those of their syncs must not. */
const VARYING: ReadonlyArray<readonly [RegExp, string]> = [
  [/\.?([^/]*)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/, '$1'],
  [/^other-host/, 'host'],
  [/[0-9a-f]{62,64}/g, '<digest>'],
  [/objects\/[0-9a-f]{2}(?=\/|$)/g, 'objects/<xx>'],
  [/tmp\/(?:[0-9A-Z]{26}|sync-[0-9a-f]+)/g, 'tmp/<task>'],
  [/history\/\d+/g, 'history/<version>'],
  [/official\/\d[^/]*\.json/g, 'official/<release>.json'],
  [/backup-\d[\dTZ.-]*\d+Z/g, 'backup-<time>'],
];

/** The daemon keeps the root of the volume open, and writes below its descriptor. */
const DESCRIPTOR = /^\/proc\/\d+\/fd\/\d+\/?\.?$/;

let recording: Recording<unknown> | null = null;

/** Begins to record what happens below a folder; only one record is made at a time. */
export function startRecording<Fact>(folder: string, image: Buffer | null): Recording<Fact> {
  const started = new Recording<Fact>(realpathSync(folder), image);
  recording = started;
  return started;
}

/** The same calls, which are recorded while a record is made. */
export function recordedChanges(real: FileChanges): FileChanges {
  const recorded = (
    name: keyof FileChanges,
    call: (active: Recording<unknown>, given: never[]) => unknown,
  ) => [
    name,
    (...given: never[]): unknown =>
      recording === null ? (real[name] as Call)(...given) : call(recording, given),
  ];
  const around = (
    name: keyof FileChanges,
    note: (active: Recording<unknown>, given: readonly string[]) => void,
  ) =>
    recorded(name, (active, given) => {
      const result = (real[name] as Call)(...given);
      if (!(result instanceof Promise)) {
        note(active, given);
        return result;
      }
      return result.then((value: unknown) => {
        note(active, given);
        return value;
      });
    });
  const look = (active: Recording<unknown>, [path]: readonly string[]): void => active.look(String(path));
  const moved = (active: Recording<unknown>, [from, to]: readonly string[]): void =>
    active.move(String(from), String(to));
  return {
    ...real,
    ...Object.fromEntries([
      around('mkdir', look),
      around('mkdirSync', look),
      around('writeFile', look),
      around('writeFileSync', look),
      around('rename', moved),
      around('renameSync', moved),
      around('rm', look),
      around('rmSync', look),
      around('copyFile', (active, [, target]) => active.look(String(target))),
      around('linkSync', (active, [, target]) => active.look(String(target))),
      recorded('open', async (active, given) => {
        const handle = await real.open(...(given as unknown as Parameters<FileChanges['open']>));
        return active.watch(handle, String(given[0]));
      }),
      recorded('openSync', (active, given) => {
        const descriptor = real.openSync(...(given as unknown as Parameters<FileChanges['openSync']>));
        active.opened(descriptor, String(given[0]));
        return descriptor;
      }),
      recorded('writeSync', (active, given) => {
        const written = (real.writeSync as Call)(...given);
        active.written(Number(given[0]));
        return written;
      }),
      recorded('fsyncSync', (active, given) => {
        const until = active.now;
        (real.fsyncSync as Call)(...given);
        active.synced(Number(given[0]), until);
      }),
    ]),
  };
}

/** The record that is made. Paths of other places are ignored. */
export class Recording<Fact> {
  readonly #folder: string;
  readonly #root: FolderNode = { kind: 'folder', names: new Map() };
  readonly #events: Array<CrashEvent<Fact>> = [];
  readonly #last = new Map<FileNode, Content>();
  readonly #open = new Map<number, { readonly node: Node; readonly path: string }>();
  readonly #inodes = new Map<Node, bigint>();
  readonly #begin: Pick<CrashLog<Fact>, 'names' | 'contents' | 'image'>;

  constructor(folder: string, image: Buffer | null) {
    this.#folder = folder;
    this.#fill(folder);
    const names = new Map<FolderNode, ReadonlyMap<string, Node>>();
    const collect = (node: FolderNode): void => {
      names.set(node, new Map(node.names));
      for (const child of node.names.values()) if (child.kind === 'folder') collect(child);
    };
    collect(this.#root);
    this.#events.length = 0;
    this.#begin = {
      names,
      contents: new Map(this.#last),
      image: image === null ? null : contentOf(image),
    };
  }

  get now(): number {
    return this.#events.length;
  }

  /** Ends the record. */
  stop(): CrashLog<Fact> {
    recording = null;
    return { root: this.#root, ...this.#begin, events: this.#events };
  }

  fact(fact: Fact): void {
    this.#events.push({ kind: 'fact', fact });
  }

  commit(image: Buffer, isDurable: boolean): void {
    this.#events.push({ kind: 'commit', image: contentOf(image), isDurable });
  }

  /** Compares what is at a path with the record, and adds the difference. */
  look(path: string): void {
    const place = this.#placeOf(path);
    if (place === null) return;
    const { folder, name, real } = place;
    const known = folder.names.get(name);
    const found = lstatSync(real, { throwIfNoEntry: false, bigint: true });
    if (found === undefined) {
      if (known !== undefined) this.#forget(folder, name, known);
      return;
    }
    if (known !== undefined && this.#inodes.get(known) === found.ino) {
      if (known.kind === 'file') this.#read(known, real);
      return;
    }
    const node = this.#nodeOf(found.ino) ?? this.#made(found.isDirectory(), found.ino);
    this.#name(folder, [[name, node]]);
    if (node.kind === 'file') this.#read(node, real);
    else this.#fill(real);
  }

  move(from: string, to: string): void {
    const source = this.#placeOf(from);
    const target = this.#placeOf(to);
    if (source === null || target === null) return;
    const node = source.folder.names.get(source.name);
    // It was made by somebody who is not recorded.
    if (node === undefined) {
      this.look(to);
      return;
    }
    if (node.kind === 'file') this.#read(node, target.real);
    if (source.folder === target.folder) {
      this.#name(target.folder, [
        [target.name, node],
        [source.name, null],
      ]);
      return;
    }
    const given = this.#name(target.folder, [[target.name, node]]);
    this.#name(source.folder, [[source.name, null]], given);
  }

  watch(handle: FileHandle, path: string): FileHandle {
    this.look(path);
    const node = this.#find(path);
    if (node === null) return handle;
    const real = `/proc/self/fd/${handle.fd}`;
    const label = this.#labelOf(path);
    for (const name of ['write', 'writev', 'writeFile', 'truncate', 'appendFile'] as const) {
      const call = handle[name].bind(handle) as (...given: unknown[]) => Promise<unknown>;
      Object.assign(handle, {
        [name]: async (...given: unknown[]) => {
          const result = await call(...given);
          if (node.kind === 'file') this.#read(node, real);
          return result;
        },
      });
    }
    for (const name of ['sync', 'datasync'] as const) {
      const call = handle[name].bind(handle);
      Object.assign(handle, {
        [name]: async () => {
          const site = `${label}, in ${callerIn(new Error('site').stack ?? '')}`;
          // What SQLite wrote meanwhile is known only now.
          if (node.kind === 'file') this.#read(node, real);
          const until = this.now;
          await call();
          this.#events.push({ kind: 'sync', node, until, site });
        },
      });
    }
    return handle;
  }

  opened(descriptor: number, path: string): void {
    this.look(path);
    const node = this.#find(path);
    if (node === null) this.#open.delete(descriptor);
    else this.#open.set(descriptor, { node, path });
  }

  written(descriptor: number): void {
    const node = this.#open.get(descriptor)?.node;
    if (node?.kind === 'file') this.#read(node, `/proc/self/fd/${descriptor}`);
  }

  synced(descriptor: number, until: number): void {
    const open = this.#open.get(descriptor);
    if (open === undefined) return;
    const site = `${this.#labelOf(open.path)}, in ${callerIn(new Error('site').stack ?? '')}`;
    this.#events.push({ kind: 'sync', node: open.node, until, site });
  }

  #made(isFolder: boolean, inode: bigint): Node {
    const node: Node = isFolder ? { kind: 'folder', names: new Map() } : { kind: 'file' };
    this.#inodes.set(node, inode);
    return node;
  }

  /** The node of a file that has another name already. */
  #nodeOf(inode: bigint): FileNode | null {
    const search = (folder: FolderNode): FileNode | null => {
      for (const node of folder.names.values()) {
        if (node.kind === 'file' && this.#inodes.get(node) === inode) return node;
        const below = node.kind === 'folder' ? search(node) : null;
        if (below !== null) return below;
      }
      return null;
    };
    return search(this.#root);
  }

  #name(folder: FolderNode, changes: NameChanges, after: CrashEvent<Fact> | null = null): CrashEvent<Fact> {
    for (const [name, node] of changes) {
      if (node === null) folder.names.delete(name);
      else folder.names.set(name, node);
    }
    const event: CrashEvent<Fact> = { kind: 'names', folder, changes, after };
    this.#events.push(event);
    return event;
  }

  /** A folder is removed name by name, as rm does it. */
  #forget(folder: FolderNode, name: string, node: Node): void {
    if (node.kind === 'folder') for (const [below, child] of node.names) this.#forget(node, below, child);
    this.#name(folder, [[name, null]]);
  }

  #fill(path: string): void {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isFile() || entry.isDirectory()) this.look(join(path, entry.name));
    }
  }

  #read(file: FileNode, path: string): void {
    const content = contentOf(readFileSync(path));
    const before = this.#last.get(file);
    if (before?.id === content.id || (before === undefined && content.bytes.length === 0)) return;
    this.#last.set(file, content);
    this.#events.push({ kind: 'content', file, content });
  }

  #find(path: string): Node | null {
    const real = realOf(path);
    if (real === this.#folder) return this.#root;
    const place = this.#placeOf(path);
    return place?.folder.names.get(place.name) ?? null;
  }

  #placeOf(
    path: string,
  ): { readonly folder: FolderNode; readonly name: string; readonly real: string } | null {
    const real = realOf(path);
    if (!real.startsWith(`${this.#folder}/`) || isOfSqlite(real)) return null;
    let folder = this.#root;
    const names = relative(this.#folder, real).split('/');
    const name = names.pop() ?? '';
    for (const [depth, each] of names.entries()) {
      if (!folder.names.has(each)) this.look(join(this.#folder, ...names.slice(0, depth + 1)));
      const next = folder.names.get(each);
      if (next?.kind !== 'folder') return null;
      folder = next;
    }
    return { folder, name, real };
  }

  #labelOf(path: string): string {
    const label = relative(this.#folder, realOf(path)) || '.';
    return VARYING.reduce((text, [pattern, name]) => text.replace(pattern, name), label);
  }
}

/** The path without links, also of a name that is not there, and of the descriptor of a folder. */
function realOf(path: string): string {
  try {
    if (DESCRIPTOR.test(path)) return realpathSync(path);
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return path;
  }
}

/** What SQLite does with its files is not recorded: its own promises are trusted. */
function isOfSqlite(path: string): boolean {
  return /\/(?:main\.db|daemon\.lock)(?:-wal|-shm|-journal)?$/.test(path);
}

/** The function of the product that asks for a sync, without those that only do it. */
function callerIn(stack: string): string {
  for (const line of stack.split('\n')) {
    const found = /at (?:async )?(.+?) \(.*?\/src\/(.+?\.ts)/.exec(line);
    const [, name = '', file = ''] = found ?? [];
    if (found === null || file === 'platform/files/files.ts') continue;
    return name.replace(/^(?:Module|Object)\./, '');
  }
  return 'an unknown function';
}
