import type { DaemonCondition } from '../../domain/service-state/daemon-conditions.ts';
import { pause } from '../../platform/process/pause.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { ConditionSource, ToldConditions } from '../api/condition-source.ts';
import { storageFailureOf } from '../../engine/database/storage-failure.ts';

/** Milliseconds for which conditions count as fresh. Finding them costs a few reads of the database. */
const FRESH_MS = 1000;

export interface ConditionBoardOptions {
  /** Finds the conditions of this moment. */
  readonly find: () => readonly DaemonCondition[];
  /** Changes with the attestation, so that its conditions are never older than it. */
  readonly attestationVersion: () => number | null;
  /** Makes tags that no other process of the daemon gives. */
  readonly bootId: string;
  readonly clock: Clock;
}

/** A database that cannot be read gives no other condition. */
const DAMAGED: readonly DaemonCondition[] = [
  {
    code: 'database_damaged',
    message: 'the database of the daemon is damaged',
    since: null,
    next_try: null,
  },
];

/** Creates the source of the conditions. It looks when it is asked, at most once a second for each attestation. */
export function createConditionBoard({
  find,
  attestationVersion,
  bootId,
  clock,
}: ConditionBoardOptions): ConditionSource {
  let told: ToldConditions = { conditions: [], tag: `${bootId}-0` };
  let text = '[]';
  let changes = 0;
  let foundAt = -Infinity;
  let foundFor: number | null = null;

  const look = (): readonly DaemonCondition[] => {
    try {
      return find();
    } catch (error) {
      // Another failure of a read passes; until then the last conditions are the best known ones.
      return storageFailureOf(error)?.code === 'data_damaged' ? DAMAGED : told.conditions;
    }
  };

  const current = (): ToldConditions => {
    const version = attestationVersion();
    if (version === foundFor && clock.monotonic() - foundAt < FRESH_MS) return told;
    foundAt = clock.monotonic();
    foundFor = version;
    const conditions = look();
    const next = JSON.stringify(conditions);
    if (next === text) return told;
    text = next;
    changes += 1;
    told = { conditions, tag: `${bootId}-${changes}` };
    return told;
  };

  return {
    current,
    waitForChange: async (knownTag, timeoutMs, signal) => {
      const end = clock.monotonic() + timeoutMs;
      while (!signal.aborted && clock.monotonic() < end && current().tag === knownTag) {
        await pause(clock, Math.min(FRESH_MS, end - clock.monotonic()), signal);
      }
    },
  };
}
