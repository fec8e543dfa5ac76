import { getTarget } from '../store/target-store.ts';
import { sameBytes } from '../store/target-rows.ts';
import type { Work } from '../store/work.ts';

/**
 * Reads the targets of units that a person made or accepted, for their present texts. What a machine made is none of them until
 * somebody has accepted it: a model that reads its own answers repeats their mistakes.
 *
 * @returns one for each unit, in their order; `null` without one
 */
export function trustedTargets(
  work: Work,
  units: readonly { readonly unitId: Uint8Array; readonly sourceDigest: Uint8Array }[],
): readonly (string | null)[] {
  return units.map(({ unitId, sourceDigest }) => {
    const target = getTarget(work, unitId);
    if (target === null || !sameBytes(target.sourceDigest, sourceDigest)) return null;
    const isTrusted =
      target.state === 'proofread' ||
      (target.state === 'translated' && TRUSTED_AUTHORS.has(target.authorKind));
    return isTrusted ? target.text : null;
  });
}

const TRUSTED_AUTHORS: ReadonlySet<string> = new Set(['person', 'import', 'memory']);
