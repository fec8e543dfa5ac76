import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import type { CrashLog } from './crash-log.ts';
import { buildState, crashState, LOSSES, randomLoss, type CrashState } from './crash-state.ts';

/** A record, and what must hold after a power failure at each of its points. */
export interface Scenario<Fact> {
  readonly name: string;
  readonly log: CrashLog<Fact>;
  /** Where the database is, relative to the folder. */
  readonly database: string;
  readonly same: Parameters<typeof buildState>[2]['same'];
  /**
   * @param isThorough whether the work that follows is tried as well
   * @throws Error with what does not hold
   */
  check(folder: string, facts: readonly Fact[], isThorough: boolean): Promise<void>;
}

/** A state in which something does not hold. */
export interface Violation {
  readonly scenario: string;
  readonly point: number;
  readonly round: number;
  readonly problem: string;
}

const NONE: ReadonlySet<string> = new Set();

/** An eighth of the states, by their id: the work that follows takes longer than the start. */
const THOROUGH = /[0a]$/;

/** Explores states of one record. */
export interface Explorer {
  /** States that were checked. */
  readonly checked: () => number;
  /**
   * Checks one state: that of a point and a round. Rounds are losses in a fixed order, then random ones.
   *
   * @returns `null` when everything holds, or the state was checked before
   */
  check(point: number, round: number): Promise<Violation | null>;
}

/**
 * @param folder for the states
 * @param dropped sites whose syncs are taken out
 */
export function createExplorer<Fact>(
  scenario: Scenario<Fact>,
  folder: string,
  seed: number,
  dropped: ReadonlySet<string> = new Set(),
): Explorer {
  const { log, database, same } = scenario;
  const shelf = join(folder, 'shelf');
  mkdirSync(shelf, { recursive: true });
  const seen = new Set<string>();
  return {
    checked: () => seen.size,
    check: async (point, round) => {
      const stateWithout = (sites: ReadonlySet<string>): CrashState<Fact> => {
        const random = createRandom(seed + point * 7919 + round * 104_729);
        // The first numbers of a small seed are alike.
        random.bytes(64);
        const loss = LOSSES[round] ?? randomLoss(random);
        return crashState(log, point, loss, random, sites);
      };
      const state = stateWithout(dropped);
      if (seen.has(state.id)) return null;
      // Nothing is different without these syncs.
      if (dropped.size > 0 && stateWithout(NONE).id === state.id) return null;
      seen.add(state.id);
      const place = join(folder, 'state');
      try {
        buildState(state, place, { shelf, database, same });
        await scenario.check(place, state.facts, THOROUGH.test(state.id));
        return null;
      } catch (error) {
        return {
          scenario: scenario.name,
          point,
          round,
          problem: error instanceof Error ? error.message : String(error),
        };
      } finally {
        rmSync(place, { recursive: true, force: true });
      }
    },
  };
}

/** The points of a record: after each of its events. The first one may be what is known at its begin. */
export function pointsOf({ events }: CrashLog<unknown>): readonly number[] {
  return Array.from(events, (_, at) => at + 1);
}

/** Every place of the code that syncs something, in the order of the record. */
export function syncSites({ events }: CrashLog<unknown>): readonly string[] {
  return [...new Set(events.flatMap((event) => (event.kind === 'sync' ? [event.site] : [])))];
}
