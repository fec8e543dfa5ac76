import type { ParsedUnit } from '../container/parsed-container.ts';
import { MAX_BATCH_ROWS } from '../index/content-writer.ts';
import type { ContentOutcome, FoundError } from '../index/index-rows.ts';
import type { ParseIndex } from '../index/parse-index.ts';

/** Stores one container of a release while it is parsed. */
export interface ContainerStore {
  /** Takes the next units. The last ones wait in memory, so that a small container takes one transaction in all. */
  add(units: readonly ParsedUnit[]): void;
  /** Drops the units: those of a container that failed are not its whole text. */
  clear(): void;
  /** Completes the container. */
  finish(errors: readonly FoundError[], outcome: ContentOutcome): void;
}

/** Creates the store of the file at a position of a release. */
export function createContainerStore(
  index: Pick<ParseIndex, 'append' | 'finish' | 'start' | 'transaction'>,
  indexId: number,
  position: number,
): ContainerStore {
  let contentId: number | null = null;
  let waiting: readonly ParsedUnit[] = [];
  const write = (): number => {
    contentId ??= index.start(indexId, position);
    if (waiting.length > 0) index.append(contentId, waiting);
    waiting = [];
    return contentId;
  };
  return {
    add: (units) => {
      if (waiting.length > 0) index.transaction(write);
      waiting = units;
    },
    clear: () => {
      waiting = [];
      // A second start drops what the first one has.
      if (contentId !== null) contentId = index.start(indexId, position);
    },
    finish: (errors, outcome) => {
      index.transaction(() => {
        const id = write();
        for (let first = 0; first < errors.length; first += MAX_BATCH_ROWS) {
          index.append(id, [], errors.slice(first, first + MAX_BATCH_ROWS));
        }
        index.finish(id, outcome);
      });
    },
  };
}
