/**
 * The isolated workers of a simulation: each program works in this process, without limits. It takes the place of
 * `src/platform/isolation/isolated-worker.ts`.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { IsolatedProgram } from '../../../src/platform/isolation/isolated-messages.ts';
import type {
  IsolatedWorker,
  IsolatedWorkerOptions,
} from '../../../src/platform/isolation/isolated-worker.ts';
import { takeServed } from './serve-jobs.ts';

/** One module is loaded after the other, so that each is known by what it serves. */
let loading: Promise<unknown> = Promise.resolve();

export function createIsolatedWorker<Setup, Job, Piece, Result>({
  program: url,
  setup,
  scratchDirectory: parent,
}: IsolatedWorkerOptions<Setup>): IsolatedWorker<Job, Piece, Result> {
  const loaded = loading.then(async () => {
    await import(url.href);
    const program = takeServed(url.href) as IsolatedProgram<Setup, Job, Piece, Result>;
    return program(setup);
  });
  loading = loaded.catch(() => undefined);
  return {
    prepare: () => undefined,
    run: async (job, onPiece, signal) => {
      const work = await loaded;
      const scratchDirectory = join(parent, randomUUID());
      const send = async (piece: Piece): Promise<void> => {
        signal.throwIfAborted();
        await onPiece(piece);
      };
      try {
        const result = await work(job, { scratchDirectory, send });
        signal.throwIfAborted();
        return { kind: 'done', result };
      } finally {
        await rm(scratchDirectory, { recursive: true, force: true });
      }
    },
    close: () => undefined,
  };
}
