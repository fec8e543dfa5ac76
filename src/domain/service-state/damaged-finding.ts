import type { Channel } from '../release/channel.ts';
import type { ServerDamageFinder } from '../verdict/damage-kind.ts';
import { absenceOf, firstCondition, UNWRITABLE, withNextTry, type Finding } from './causes.ts';
import { conditionOf, isMirrored } from './lasting-conditions.ts';
import type { NextStep, ServiceReason } from './service-reasons.ts';
import type { ServiceFacts } from './service-state.ts';
import { isDamaged } from './verdict-state.ts';

const FINDERS: Readonly<Record<ServerDamageFinder, string>> = {
  client: 'found when a client read it',
  scrub: 'found by the scrub',
  loading: 'found when the release was read',
};

/** Damage is repaired by the daemon, so the remedy depends on what the daemon does. */
export function damagedFinding(facts: ServiceFacts, channel: Channel, finding: Finding): Finding {
  const verdict = facts.verdicts[channel];
  const finder = verdict.found_by === undefined ? '' : ` (${FINDERS[verdict.found_by]})`;
  const message = `${verdict.message}${finder}`;
  const absence = absenceOf(facts);
  if (absence !== null) {
    return {
      ...finding,
      message: `${message}; nothing repairs it, because ${absence.message}`,
      next: { ...absence.next, text: `${absence.next.text} It repairs the release.` },
    };
  }
  const hindrance = firstCondition(
    facts,
    ['starting', 'database_damaged', 'crash_loop', ...UNWRITABLE],
    channel,
  );
  if (hindrance !== null) {
    return { ...finding, message: `${message}; ${hindrance.message}`, next: hindrance.next };
  }
  // Only an origin has patched files, so elsewhere a repair cannot bring them back. A publication needs a sound official release first.
  const isPublishedAgain =
    channel === 'localized' &&
    ENTRY_DAMAGE.has(finding.reason) &&
    !isMirrored(facts, channel) &&
    !isDamaged(facts.verdicts.official);
  const failed = conditionOf(facts, 'repair_failed', channel);
  if (failed !== null) {
    const next = isPublishedAgain ? PUBLISH_AGAIN : withNextTry(FIX_AND_REPAIR, failed.next_try);
    return { ...finding, message: `${message}; ${failed.message}`, next };
  }
  const repairing = conditionOf(facts, 'repairing', channel);
  if (repairing === null) {
    if (isPublishedAgain) return { ...finding, message, next: PUBLISH_AGAIN };
    // A daemon that reports its conditions, but no repair, waits for a request.
    const isIdle = facts.conditions !== null && AUTOMATIC.has(finding.reason);
    return { ...finding, message, ...(isIdle ? { next: RUN_REPAIR } : {}) };
  }
  const next = { text: 'Wait for the end of the repair.', action: null };
  return {
    ...finding,
    message: `${message}; ${repairing.message}`,
    next: withNextTry(next, repairing.next_try),
  };
}

const ENTRY_DAMAGE: ReadonlySet<ServiceReason | null> = new Set(['EntryMissing', 'EntryDamaged']);
/** Damage whose remedy is to wait for the automatic repair. */
const AUTOMATIC: ReadonlySet<ServiceReason | null> = new Set([...ENTRY_DAMAGE, 'ManifestDamaged']);

/** The advice after a repair that failed. */
export const FIX_AND_REPAIR: NextStep = {
  text: 'Correct the cause that the check "verification" of the doctor names, then run repair.',
  action: 'repair',
};
const RUN_REPAIR: NextStep = { text: 'Run repair.', action: 'repair' };
const PUBLISH_AGAIN: NextStep = {
  text: 'Publish again from what it was made of, the texts or the same translation file or patch manifest, which builds its patched files again. Run repair for files that are those of the official release.',
  action: 'localized-publish',
};
