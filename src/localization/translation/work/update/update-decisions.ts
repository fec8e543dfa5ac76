import { freedState } from '../../../../domain/translation/requalify.ts';
import { unitIdText } from '../../../unit-id-text.ts';
import type { AcceptedFindings } from '../store/accepted-findings.ts';
import type { StoredTarget } from '../store/target-rows.ts';
import type { WorkTools } from '../store/work-tools.ts';
import { NAMED_UNITS, UpdateRefused, refuse, type TaskUpdate } from '../store/task-update.ts';
import type { PlacedUnits } from './update-units.ts';

interface UpdateDecisions {
  override(update: TaskUpdate, units: PlacedUnits, now: number): void;
  waiveAndHold(update: TaskUpdate, units: PlacedUnits, now: number): void;
  claim(update: TaskUpdate, units: PlacedUnits, now: number): void;
}

/** Creates the decisions; one that is not possible throws UpdateRefused. */
export function createUpdateDecisions(
  { database, targetLanguage, targets }: WorkTools,
  accepted: AcceptedFindings,
): UpdateDecisions {
  const hold = database.prepare('INSERT OR IGNORE INTO hold VALUES (?, ?, ?, ?, ?)');
  const addClaim = database.prepare('INSERT OR REPLACE INTO claim VALUES (?, ?, ?, ?)');
  const endClaims = database.prepare('DELETE FROM claim WHERE target_language = ? AND expires_at <= ?');
  const storedOf = (unitId: Uint8Array): StoredTarget | null => targets.get(unitId);
  return {
    override: (update, units, now) => {
      const { override, results } = update;
      if (override === null) return;
      const covered = results.filter(({ qaIdentity }) => qaIdentity === override.qaIdentity);
      if (covered.length === 0) {
        const current = new Set(results.flatMap(({ qaIdentity }) => qaIdentity ?? []));
        const known = [...current].slice(0, NAMED_UNITS).join(', ');
        throw new UpdateRefused(
          refuse(
            'override_stale',
            `no result of this call has the qa_identity of the override; the current ones are: ${known === '' ? 'none' : known}`,
          ),
        );
      }
      for (const { unitId } of covered) accepted.override(units.at(unitId).unitId, update, now);
    },
    waiveAndHold: (update, units, now) => {
      for (const { unitId: named, check, pointer } of update.waive) {
        const { unitId } = units.at(named);
        const target = storedOf(unitId);
        const isFound = target?.findings.some((each) => each.check === check && each.waivable) ?? false;
        if (target === null || !isFound) {
          const message = `${unitIdText(unitId)} has no finding "${check}" that can be waived`;
          throw new UpdateRefused(refuse('invalid_request', message, [{ pointer, message }]));
        }
        accepted.waive(target, check, update, now);
        const isFree = targets.stateOf(unitId) === 'blocked' && accepted.blocking(target).length === 0;
        const otherwise = update.status === 'translated' ? 'translated' : 'draft';
        if (isFree) targets.setState(unitId, freedState(target.stateBefore, otherwise), null, now);
      }
      for (const { unitId } of update.hold) {
        hold.run(units.at(unitId).unitId, targetLanguage, update.reviewer, update.reason, now);
      }
    },
    claim: ({ workerId, leaseSeconds, results, expect, hold: held }, units, now) => {
      if (workerId === null || leaseSeconds === null) return;
      endClaims.run(targetLanguage, now);
      for (const { unitId } of [...results, ...expect, ...held]) {
        addClaim.run(units.at(unitId).unitId, targetLanguage, workerId, now + leaseSeconds);
      }
    },
  };
}
