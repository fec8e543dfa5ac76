import { useEffect, useState } from 'preact/hooks';
import type { DistributionPage, ReleaseRow } from '../../api/wire.ts';
import type { App } from '../../state/app.ts';
import { startComparison, type Comparison } from './comparison.ts';
import type { ReadEntries } from './entry-cursor.ts';

/** Comparisons of more entries begin when the reader asks for them. */
const MOST_UNASKED = 50_000;

/** A comparison of the page, and how it is started. */
export interface ComparisonControl {
  /** `null` before it was started. */
  readonly comparison: Comparison | null;
  readonly start: () => void;
}

/** Compares two releases while a component shows them; small ones without being asked. */
export function useComparison(app: App, left: ReleaseRow, right: ReleaseRow): ComparisonControl {
  const [comparison, setComparison] = useState<Comparison | null>(null);
  const start = (): void =>
    setComparison(startComparison({ left: readerOf(app, left), right: readerOf(app, right) }));
  const entries = (left.manifest?.entry_count ?? 0) + (right.manifest?.entry_count ?? 0);
  useEffect(() => {
    if (entries <= MOST_UNASKED) start();
  }, [left.manifest?.blake3, right.manifest?.blake3]);
  useEffect(() => () => comparison?.stop(), [comparison]);
  return { comparison, start };
}

function readerOf(app: App, { release_id: id, channel }: ReleaseRow): ReadEntries {
  return async ({ offset, limit }, signal) =>
    (await app.api.read('/v1/distribution', {
      query: { channel, release_id: id, offset: String(offset), limit: String(limit) },
      signal,
    })) as DistributionPage;
}
