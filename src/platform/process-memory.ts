import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';

/** What `node:http` gives beside HTTP; the globals of these names stay. */
const WEB_SOCKET_NAMES = ['WebSocket', 'CloseEvent', 'MessageEvent'] as const;

/**
 * Keeps a process as small as it can be. Call it first of all, before the modules of the program are loaded.
 *
 * - The part of the heap for new objects stays as small as it is, instead of growing with the rate of allocation: our
 *   new objects are small and die at once while the memory they hold outside of the heap (received chunks) is large, so
 *   a larger space would only delay freeing that. Source: V8 flag `semi_space_growth_factor`, read whenever it would grow.
 * - The rest of the heap is collected when it has doubled, not when it has quadrupled. Collecting still earlier saves
 *   memory, but where much passes through memory outside of the heap it costs a third of the speed. Source: V8 flag
 *   `heap_growing_percent`, read after every collection.
 * - Importing `node:http` from an ES module reads all that it exports, and reading its `WebSocket` loads the whole WHATWG
 *   client of Node, some 10 MiB. Nobody here takes it from there.
 */
export function keepProcessSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=100');
  const http = process.getBuiltinModule('node:http');
  for (const name of WEB_SOCKET_NAMES) Object.defineProperty(http, name, { value: undefined });
}

/**
 * Saves the modules that were compiled so far, for the next start, when a compile cache is in use. Node does so only
 * when a process ends in order; one that is always killed would strip the types of every file at each start, for which
 * each of its threads keeps a parser of some 17 MiB.
 */
export function saveCompiledModules(): void {
  flushCompileCache();
}
