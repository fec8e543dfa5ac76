import {
  createPublishableContainersReader,
  type PublishableContainers,
  type PublishableContainersQuery,
  type PublishableContainersReader,
} from './publishable-containers.ts';
import {
  createPublishableReader,
  type PublishableQuery,
  type PublishableReader,
  type PublishableTarget,
} from './publishable-targets.ts';
import { createWaitingTest } from '../repetition/requalified-targets.ts';
import type { WorkTools } from '../store/work-tools.ts';

/** The targets of one moment for a localized release. One moment is kept at a time: the log of the database grows meanwhile. */
export interface FrozenTargets {
  /**
   * Keeps the targets as they are now, and forgets the moment that was kept before.
   *
   * @param key of rules and Glossary by which all targets must have been judged; `null`: by any
   * @returns the number of the moment; `null` when targets were judged by something else
   */
  freezeTargets(key: string | null): number | null;
  /** Reads targets of the moment; `null` when its tasks are not those of the release and the generation. @throws Error without the moment */
  frozenTargets(query: PublishableQuery & { readonly moment: number }): readonly PublishableTarget[] | null;
  /** Reads containers of the moment, as {@link frozenTargets} reads targets. */
  frozenContainers(
    query: PublishableContainersQuery & { readonly moment: number },
  ): PublishableContainers | null;
  /** Forgets a moment; one that was forgotten changes nothing. */
  endFreeze(moment: number): void;
}

interface Moment {
  readonly number: number;
  readonly read: PublishableReader;
  readonly containers: PublishableContainersReader;
  close(): void;
}

/** Creates the targets of one target language. */
export function createFrozenTargets({ database, targetLanguage }: WorkTools): FrozenTargets {
  let last = 0;
  let kept: Moment | null = null;
  const forget = (): void => {
    kept?.close();
    kept = null;
  };
  const momentOf = (number: number): Moment => {
    if (kept?.number !== number) throw new Error('the texts of this moment are not kept any longer');
    return kept;
  };
  return {
    freezeTargets: (key) => {
      forget();
      const snapshot = database.openSnapshot();
      if (key !== null && createWaitingTest(snapshot, targetLanguage)(key)) {
        snapshot.close();
        return null;
      }
      last += 1;
      kept = {
        number: last,
        read: createPublishableReader(snapshot, targetLanguage),
        containers: createPublishableContainersReader(snapshot, targetLanguage),
        close: () => {
          snapshot.close();
        },
      };
      return last;
    },
    frozenTargets: (query) => momentOf(query.moment).read(query),
    frozenContainers: (query) => momentOf(query.moment).containers(query),
    endFreeze: (moment) => {
      if (kept?.number === moment) forget();
    },
  };
}
