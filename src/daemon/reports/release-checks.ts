import type { DoctorCheck, DoctorFinding, DoctorTrigger } from '../../engine/check.ts';

/** The part of the releases that the checks examine. */
export interface ExaminedReleases {
  diagnostics(): readonly (DoctorFinding & { readonly id: string })[];
  lookAtStore(withinMs: number, maxAgeMs: number): Promise<void>;
}

/** Maximum wait for a look at the store, milliseconds; then the check reports the known facts. */
const STORE_LOOK_MS = 1500;
/**
 * Maximum age of a look at the store, milliseconds. It loads every current manifest and looks for every object of it:
 * about one second of processor time for 200,000 files.
 */
export const STORE_LOOK_MAX_AGE_MS = {
  request: 15_000,
  interval: 15 * 60_000,
} as const satisfies Record<DoctorTrigger, number>;

/** The checks of the releases. The one of the verification looks at the store before it reports. */
export function releaseChecks(releases: ExaminedReleases): readonly DoctorCheck[] {
  return releases.diagnostics().map(({ id }): DoctorCheck => ({
    id,
    run: async (_signal, trigger = 'request') => {
      if (id === 'verification') await releases.lookAtStore(STORE_LOOK_MS, STORE_LOOK_MAX_AGE_MS[trigger]);
      return (
        releases.diagnostics().find((found) => found.id === id) ?? {
          status: 'failing',
          message: 'it has no status',
        }
      );
    },
  }));
}
