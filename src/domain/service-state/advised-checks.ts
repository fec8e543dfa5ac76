import { FIX_AND_REPAIR } from './damaged-finding.ts';
import { REMEDIES } from './service-reasons.ts';

/** The checks of the doctor that an advice names, by the text that it begins with: a time can follow. */
export const ADVISED_CHECKS: Readonly<Record<string, readonly string[]>> = {
  [REMEDIES.AttestationExpired.text]: ['attestation'],
  [REMEDIES.AttestationFailing.text]: ['attestation'],
  [REMEDIES.OriginNotFollowed.text]: ['upstream'],
  [REMEDIES.SnapshotMissing.text]: ['store.format'],
  [REMEDIES.BaseReleaseChanged.text]: ['localized.automation'],
  [REMEDIES.ClockOff.text]: ['clock'],
  [REMEDIES.CrashLoop.text]: ['process'],
  [REMEDIES.VolumeUnwritable.text]: ['store.lease', 'store.writable', 'data.writable'],
  [FIX_AND_REPAIR.text]: ['verification'],
};
