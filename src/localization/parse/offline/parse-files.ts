import { forEachConcurrently } from '../../../platform/process/concurrently.ts';
import type { DestinationKeys } from '../container/destination-keys.ts';
import type { ContainerOutcome, ParsedUnit } from '../container/parsed-container.ts';
import type { ContainerParser } from '../process/container-parser.ts';
import type { ReleaseFile } from './release-files.ts';

export interface ContainerSink {
  /** At most 1,000 units of a container; the next ones come when it has taken them. */
  units(destination: string, units: readonly ParsedUnit[]): Promise<void>;
  outcome(destination: string, outcome: ContainerOutcome): Promise<void>;
}

/**
 * Parses files and hands over their units in the order of the files. A process that is ahead of its turn waits with its
 * first units, so that the memory does not grow with the files.
 *
 * @throws the reason of the signal; errors of the sink
 */
export async function parseFiles(
  {
    files,
    keys,
    parser,
    processes,
  }: {
    readonly files: readonly ReleaseFile[];
    readonly keys: DestinationKeys;
    readonly parser: ContainerParser;
    readonly processes: number;
  },
  sink: ContainerSink,
  signal: AbortSignal,
): Promise<void> {
  let last = Promise.resolve();
  await forEachConcurrently(files, processes, signal, async ({ path, destination }, either) => {
    const turn = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    try {
      const outcome = await parser.parse(
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
    }
  });
}
