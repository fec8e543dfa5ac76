import type { Report } from '../api/wire.ts';

/** A check of the doctor. */
export type DoctorCheck = Report<'daemon.doctor'>['checks'][number];

/** The checks of the doctor by what they say. */
export interface DoctorChecks {
  /** Found something. */
  readonly troubled: readonly DoctorCheck[];
  readonly passed: readonly DoctorCheck[];
  /** Nothing has happened yet that they judge: they are `ok` and say nothing, so they do not count. */
  readonly unjudged: readonly DoctorCheck[];
}

/** Divides the checks; earlier daemons judge each of theirs. */
export function divideChecks(checks: readonly DoctorCheck[]): DoctorChecks {
  const fine = checks.filter(({ status }) => status === 'ok');
  return {
    troubled: checks.filter(({ status }) => status !== 'ok'),
    passed: fine.filter(({ evaluated }) => evaluated !== false),
    unjudged: fine.filter(({ evaluated }) => evaluated === false),
  };
}
