import type { ReportedObject } from '../../contract/formats/damage-report.ts';

/** Accepts the objects that a server found missing or damaged on the volume. Returns before they are checked. */
export type DamageIntake = (reports: readonly ReportedObject[]) => {
  /** Objects that will be checked or are already known to be damaged. */
  readonly accepted: number;
  /** Objects that no kept release contains, or that did not fit into the queue. */
  readonly ignored: number;
};
