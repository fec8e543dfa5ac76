import type { Failpoints } from '../../platform/files/failpoints.ts';
import type { SnapshotFailpoint, STAGING_FAILPOINT } from './snapshot-failpoints.ts';

type WriteStep = SnapshotFailpoint | typeof STAGING_FAILPOINT;

/** Follows the steps of every change of a store. */
export interface WriteSteps {
  /**
   * Called after each step, before the next one begins.
   *
   * @throws to end the change here
   */
  passed(step: WriteStep): void;
}

/**
 * Creates the steps of a writer.
 *
 * @param check called first, throws when the writer may not continue
 */
export function createWriteSteps(failpoints: Failpoints, check: () => void = () => undefined): WriteSteps {
  return {
    passed: (step) => {
      check();
      failpoints.hit(step);
    },
  };
}

/** Gives the places inside a durable write of a file the names of the steps that it belongs to. */
export function durableSteps(
  steps: WriteSteps,
  file: 'snapshot.record' | 'snapshot.history' | 'snapshot.attestation',
): Failpoints {
  return {
    hit: (place) => {
      steps.passed(`${file}.${place.slice('durable:'.length) as DurablePlace}`);
    },
  };
}

type DurablePlace = 'written' | 'synced' | 'renamed';
