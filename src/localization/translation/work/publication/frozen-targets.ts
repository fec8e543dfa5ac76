import { mustRequalify } from '../repetition/requalified-targets.ts';
import { readerOf, type Work, type WorkReader } from '../store/work.ts';
import {
  publishableContainers,
  publishableTargets,
  type PublishableContainers,
  type PublishableContainersQuery,
  type PublishableQuery,
  type PublishableTarget,
} from './publishable-targets.ts';

/**
 * Keeps the targets as they are now, for a localized release, and forgets the moment that was kept before: the log of the database
 * grows meanwhile.
 *
 * @param key of rules and Glossary by which all targets must have been judged; `null`: by any
 * @returns the number of the moment; `null` when targets were judged by something else
 */
export function freezeTargets(work: Work, key: string | null): number | null {
  const { frozen } = work;
  if (frozen.moment !== null) endFreeze(work, frozen.moment.number);
  const snapshot = work.database.openSnapshot();
  const reader = readerOf(snapshot, work.targetLanguage);
  if (key !== null && mustRequalify(reader, key)) {
    snapshot.close();
    return null;
  }
  frozen.last += 1;
  frozen.moment = { number: frozen.last, reader, snapshot };
  return frozen.last;
}

/** Reads targets of the moment; `null` when its tasks are not those of the release and the generation. @throws Error without the moment */
export function frozenTargets(
  work: Work,
  query: PublishableQuery & { readonly moment: number },
): readonly PublishableTarget[] | null {
  return publishableTargets(readerAt(work, query.moment), query);
}

/** Reads containers of the moment, as {@link frozenTargets} reads targets. */
export function frozenContainers(
  work: Work,
  query: PublishableContainersQuery & { readonly moment: number },
): PublishableContainers | null {
  return publishableContainers(readerAt(work, query.moment), query);
}

/** Forgets a moment; one that was forgotten changes nothing. */
export function endFreeze({ frozen }: Work, moment: number): void {
  if (frozen.moment?.number !== moment) return;
  frozen.moment.snapshot.close();
  frozen.moment = null;
}

function readerAt({ frozen: { moment } }: Work, number: number): WorkReader {
  if (moment?.number !== number) throw new Error('the texts of this moment are not kept any longer');
  return moment.reader;
}
