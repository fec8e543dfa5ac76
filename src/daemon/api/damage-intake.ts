import type { ReportedObject } from '../../contract/formats/damage-report.ts';

/** Takes what a server found missing or damaged on the volume. Returns before the objects are checked. */
export type DamageIntake = (reports: readonly ReportedObject[]) => {
  /** Objects that are checked, or known to be damaged. */
  readonly accepted: number;
  /** Objects that no kept release holds, or that the queue has no room for. */
  readonly ignored: number;
};
