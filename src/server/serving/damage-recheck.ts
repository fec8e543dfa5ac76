import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { DamageReport, Evidence } from '../../domain/verdict/evidence.ts';
import { wantedDocuments } from '../../domain/verdict/release-document.ts';
import type { DigestFinder } from './digest-finder.ts';
import type { VerifiedPart } from '../../snapshot/objects/block-list.ts';
import type { InspectObject } from './object-inspector.ts';
import type { SnapshotBinder } from './snapshot-binder.ts';
import { entryHolding } from './snapshot-trouble.ts';

/** Makes the function that checks every damaged object again. */
export function createDamageRecheck(deps: {
  readonly evidence: () => Evidence;
  readonly binder: SnapshotBinder;
  readonly finder: DigestFinder;
  readonly inspect: InspectObject;
  readonly onDamaged: (report: DamageReport) => void;
  readonly onRepaired: (digests: readonly Blake3Hex[]) => void;
}): () => Promise<void> {
  const memories = new WeakMap<DamageReport, unknown>();

  const entryOf = (blake3: Blake3Hex): VerifiedPart | null => {
    for (const [, outcome] of deps.binder.all()) {
      const entry = outcome.ok ? entryHolding(outcome, blake3, deps.finder) : null;
      if (entry !== null) return entry;
    }
    return wantedDocuments(deps.evidence()).get(blake3) ?? null;
  };

  const recheck = async (report: DamageReport): Promise<boolean> => {
    const { blake3 } = report;
    const entry = entryOf(blake3);
    // The reducer drops damage that nothing holds; until every manifest is read, one of the others may hold it.
    if (entry === null) return false;
    const inspection = await deps.inspect(entry, memories.get(report) ?? null);
    if (inspection === null) return false;
    const { sound, kind, message, memory } = inspection;
    if (sound) return true;
    if (deps.evidence().damage.get(blake3)?.report !== report) return false;
    const next = kind === report.kind ? report : { ...report, kind, message };
    memories.set(next, memory);
    if (next !== report) deps.onDamaged(next);
    return false;
  };

  return async () => {
    const repaired: DamageReport[] = [];
    for (const { report } of deps.evidence().damage.values()) {
      if (await recheck(report)) repaired.push(report);
    }
    // A report that arrived during the inspection is newer than the bytes that the inspection read.
    const { damage } = deps.evidence();
    const digests = repaired
      .filter((report) => damage.get(report.blake3)?.report === report)
      .map(({ blake3 }) => blake3);
    if (digests.length > 0) deps.onRepaired(digests);
  };
}
