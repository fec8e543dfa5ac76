/**
 * Makes this process one in which the simulation decides what happens when: imported first, before any module of Slipway. What
 * would work in a thread or a process of its own then works in this one. `SIMULATED_FAULT` names a fault that is put into the sources.
 */
import { registerHooks } from 'node:module';
import process from 'node:process';
import { plant, PLANTED_FAULTS } from './planted-faults.ts';

// Files are accessed in the order in which they were asked for. Node reads it with the first access.
process.env['UV_THREADPOOL_SIZE'] = '1';

/** The modules with a substitute in this folder; only the substitute itself gets the real one. */
const SUBSTITUTES: Readonly<Record<string, string>> = {
  '/src/platform/threads/thread.ts': new URL('threads.ts', import.meta.url).href,
  '/src/platform/isolation/isolated-worker.ts': new URL('isolated-worker.ts', import.meta.url).href,
  '/src/platform/isolation/serve-jobs.ts': new URL('serve-jobs.ts', import.meta.url).href,
};

const fault = PLANTED_FAULTS.find(({ name }) => name === process.env['SIMULATED_FAULT']);

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    if (fault === undefined || !url.endsWith(`/${fault.file}`)) return loaded;
    return { ...loaded, source: plant(fault, Buffer.from(loaded.source as Uint8Array).toString()) };
  },
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    const substitute = Object.entries(SUBSTITUTES).find(([path]) => resolved.url.endsWith(path))?.[1];
    if (substitute === undefined || context.parentURL === substitute) return resolved;
    return { ...resolved, url: substitute };
  },
});
