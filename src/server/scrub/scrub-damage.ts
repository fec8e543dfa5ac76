import type { Serving } from '../serving/serving.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';

/** The damaged objects that the scrub of this process found. */
export interface ScrubDamage {
  note(blake3: string, index: ManifestIndex): void;
  /** The number of objects found in releases that the attestation still names, also of withdrawn ones. */
  count(): number;
}

/** Maximum number of objects that are remembered; a volume that lost more is counted up to this number. */
const NOTED_MAX = 10_000;

/** Creates the memory. The findings of a release that is gone are dropped: they cannot be repaired, and need not be. */
export function createScrubDamage(serving: Pick<Serving, 'state'>): ScrubDamage {
  const found = new Map<string, string>();
  const isGone = (releaseId: string): boolean => {
    const { byReleaseId, pending } = serving.state();
    return !byReleaseId.has(releaseId) && !pending.has(releaseId);
  };
  return {
    note: (blake3, index) => {
      const releases = [...serving.state().byReleaseId.values()];
      const release = releases.find((served) => served.index === index);
      if (release === undefined) return;
      if (found.size >= NOTED_MAX) for (const [each, of] of found) if (isGone(of)) found.delete(each);
      if (found.size < NOTED_MAX) found.set(blake3, release.releaseId);
    },
    count: () => [...found.values()].filter((releaseId) => !isGone(releaseId)).length,
  };
}
