import type { UnitLocator } from '../../../exchange/units/unit-record.ts';
import type { AdminApi } from '../admin-api.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { knownUnit, type KnownUnit } from './match-units.ts';
import { unitPages, withOneIndex } from './service-pages.ts';
import {
  sendTargets,
  type TargetToSend,
  type UpdateBatch,
  type UpdatedUnit,
  type UpdateFields,
} from './task-updates.ts';

/** A target whose unit can be read again. */
export interface PlacedTarget extends TargetToSend {
  readonly place: UnitLocator;
}

/** The targets of a batch after it was sent. */
export interface SentBatch<T> {
  readonly stored: readonly { readonly target: T; readonly unit: UpdatedUnit | undefined }[];
  /** Units that have the target already: a repetition of another unit that was just sent. */
  readonly same: readonly T[];
  /** Units that someone has changed since they were read. They are left as they are. */
  readonly changed: readonly T[];
}

/** Times that a batch is sent. Each time the daemon has spread other targets of the same command to its units. */
const MAX_ATTEMPTS = 5;

/**
 * Sends targets that belong into one call. The daemon gives repetitions of a text the targets that were just stored, so the units of
 * a later call can have another revision by then. Such a target is not the work of a person, and the one to send replaces it.
 *
 * @param options `isTrial`: the daemon judges the targets and stores nothing
 * @throws CtlFailure when the daemon refuses the call for another reason
 */
export async function sendWhileFree<T extends PlacedTarget>(
  api: AdminApi,
  batch: UpdateBatch<T>,
  fields: UpdateFields,
  { isTrial }: { readonly isTrial: boolean } = { isTrial: false },
): Promise<SentBatch<T>> {
  const same: T[] = [];
  const changed: T[] = [];
  let left: readonly T[] = batch.targets;
  for (let attempt = 1; left.length > 0; attempt += 1) {
    try {
      const units = await sendTargets(api, { ...batch, targets: left }, fields, { isTrial });
      const stored = left.map((target) => ({ target, unit: units.get(target.unitId) }));
      return { stored, same, changed };
    } catch (error) {
      if (!isRefusal(error) || attempt === MAX_ATTEMPTS) throw error;
      const seen = await readAgain(api, left);
      const before = left;
      left = left.flatMap((target) => {
        const unit = seen.get(target.unitId);
        if (unit === undefined || unit.revision === target.revision) return [target];
        if ((unit.targetText ?? '') === target.text) same.push(target);
        else if (isRepetition(unit)) return [{ ...target, revision: unit.revision }];
        else changed.push(target);
        return [];
      });
      if (left.every((target, at) => target === before[at]) && left.length === before.length) throw error;
    }
  }
  return { stored: [], same, changed };
}

/** Whether a unit has the target of another one, and nobody has reviewed it. */
export function isRepetition({ isPropagated, state }: KnownUnit): boolean {
  return isPropagated && state !== 'proofread';
}

/** Whether the daemon has read a call and refused it. */
export function isRefusal(error: unknown): error is CtlFailure {
  return error instanceof CtlFailure && (error.exit === CTL_EXITS.failed || error.exit === CTL_EXITS.usage);
}

async function readAgain(
  api: AdminApi,
  targets: readonly PlacedTarget[],
): Promise<ReadonlyMap<string, KnownUnit>> {
  const [first] = targets;
  if (first === undefined) return new Map();
  const { destination, archive_entry: entry } = first.place;
  const wanted = new Set(targets.map(({ unitId }) => unitId));
  return await withOneIndex(async () => {
    const seen = new Map<string, KnownUnit>();
    const query = { destination, ...(entry === null ? {} : { archive_entry: entry }) };
    for await (const page of unitPages(api, query)) {
      for (const unit of page.units) {
        const known = wanted.has(unit.unit_id) ? knownUnit(unit) : null;
        if (known !== null) seen.set(known.unitId, known);
      }
    }
    return seen;
  });
}
