import type { Reason } from '../../domain/verdict/reasons.ts';

/** The stages of a verdict that have a condition of their own, in the order of the checks. */
export const STAGES = ['Attested', 'SnapshotBound', 'Represented'] as const;

export type Stage = (typeof STAGES)[number];

/** At which stage each reason of a verdict fails. */
const STAGE_OF: Readonly<Record<Reason, Stage>> = {
  AttestationUnavailable: 'Attested',
  AttestationInvalid: 'Attested',
  AttestationNotYetValid: 'Attested',
  AttestationExpired: 'Attested',
  AttestationRolledBack: 'Attested',
  ReleaseNotAuthorized: 'Attested',
  BaseReleaseChanged: 'Attested',
  SnapshotMissing: 'SnapshotBound',
  ManifestDamaged: 'SnapshotBound',
  SnapshotLoading: 'SnapshotBound',
  EntryMissing: 'Represented',
  EntryDamaged: 'Represented',
};

/** The outcome of a verdict at a stage. Stages after the failed one are undecided. */
export function stageOutcome(reason: Reason | null, stage: Stage): 'passed' | 'failed' | 'undecided' {
  if (reason === null) return 'passed';
  const failed = STAGES.indexOf(STAGE_OF[reason]);
  const asked = STAGES.indexOf(stage);
  if (asked === failed) return 'failed';
  return asked < failed ? 'passed' : 'undecided';
}
