import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import type { DestinationKeys } from '../container/destination-keys.ts';
import type { ContainerOutcome, ParsedUnit } from '../container/parsed-container.ts';
import type { ParseWorker } from '../process/parse-worker.ts';
import type { ReleaseFile } from './release-files.ts';

/** Takes what the parser finds, one container after the other. */
export interface ContainerSink {
  /** At most 1,000 units of a container; the next ones come when it has taken them. */
  units(destination: string, units: readonly ParsedUnit[]): Promise<void>;
  /** The outcome of a container, behind its last units. */
  outcome(destination: string, outcome: ContainerOutcome): Promise<void>;
}

export interface ParseFilesOptions {
  readonly files: readonly ReleaseFile[];
  readonly keys: DestinationKeys;
  /** As many containers are parsed at a time. */
  readonly workers: readonly ParseWorker[];
}

/**
 * Parses files and hands over their units in the order of the files. A process that is ahead of its turn waits with its
 * first units, so that the memory does not grow with the files.
 *
 * @throws the reason of the signal; errors of the sink
 */
export async function parseFiles(
  { files, keys, workers }: ParseFilesOptions,
  sink: ContainerSink,
  signal: AbortSignal,
): Promise<void> {
  const idle = [...workers];
  let last = Promise.resolve();
  await forEachConcurrently(files, workers.length, signal, async ({ path, destination }, either) => {
    const worker = idle.pop();
    if (worker === undefined) throw new Error('there are as many workers as containers at a time');
    const turn = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    try {
      const outcome = await worker.parse(
        { path, destination, destinationKey: keys.keyOf(destination) },
        async (units) => {
          await turn;
          await sink.units(destination, units);
        },
        either,
      );
      await turn;
      either.throwIfAborted();
      const ambiguity = keys.ambiguity(destination, outcome.format);
      const issues = ambiguity === null ? outcome.issues : [...outcome.issues, ambiguity];
      await sink.outcome(destination, { ...outcome, issues });
    } finally {
      resolve();
      idle.push(worker);
    }
  });
}
