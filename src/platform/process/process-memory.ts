import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';

/** By how many percent the heap may grow before it is collected again. */
const HEAP_GROWTH = { small: 20, busy: 100 } as const;

/** What `node:http` gives beside HTTP; the globals of these names stay. */
const WEB_SOCKET_NAMES = ['WebSocket', 'CloseEvent', 'MessageEvent'] as const;

/**
 * Keeps a process as small as it can be. Call it first of all, before the modules of the program are loaded.
 *
 * - The part of the heap for new objects stays as small as it is, instead of growing with the rate of allocation: our
 *   new objects are small and die at once while the memory they hold outside of the heap (received chunks) is large, so
 *   a larger space would only delay freeing that. Source: V8 flag `semi_space_growth_factor`, read whenever it would grow.
 * - The rest of the heap is collected when it has grown by a fifth, not when it has quadrupled, but for
 *   {@link collectHeapLess}. Source: V8 flag `heap_growing_percent`, read after every collection.
 * - Importing `node:http` from an ES module reads all that it exports, and reading its `WebSocket` loads the whole WHATWG
 *   client of Node, some 10 MiB. Nobody here takes it from there.
 */
export function keepProcessSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setHeapGrowth(HEAP_GROWTH.small);
  const http = process.getBuiltinModule('node:http');
  for (const name of WEB_SOCKET_NAMES) Object.defineProperty(http, name, { value: undefined });
}

/**
 * For a process that waits nearly all the time: its code is interpreted and never compiled to machine code, which saves
 * that code, what is noted for it, and the pages of the compilers themselves, some 20 MiB. Call it before the modules
 * of the program are loaded. Of a compile cache that others have filled such a process takes the stripped types alone.
 * Source: V8 flags `opt`, `maglev`, `sparkplug` and `optimize_for_size`.
 */
export function preferSizeToSpeed(): void {
  for (const flag of ['--no-opt', '--no-maglev', '--no-sparkplug', '--optimize-for-size']) {
    setFlagsFromString(flag);
  }
}

/**
 * Lets the heap double between two collections until told otherwise: where much passes through memory outside of the
 * heap, V8 would otherwise begin one collection after the other, which takes a quarter of the processor time. Threads
 * that start meanwhile find other compiled modules than those before: they are kept for each set of flags.
 *
 * @returns ends it; several may be under way, and the last one to end counts
 */
export function collectHeapLess(): () => void {
  busy += 1;
  if (busy === 1) setHeapGrowth(HEAP_GROWTH.busy);
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    busy -= 1;
    if (busy === 0) setHeapGrowth(HEAP_GROWTH.small);
  };
}

/** How many want the heap collected less. */
let busy = 0;

function setHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/**
 * Saves the modules that were compiled so far, for the next start, when a compile cache is in use. Node does so only
 * when a process ends in order; one that is always killed would strip the types of every file at each start, for which
 * each of its threads keeps a parser of some 17 MiB.
 */
export function saveCompiledModules(): void {
  flushCompileCache();
}
