import type { Report } from '../api/wire.ts';

export type DoctorCheck = Report<'daemon.doctor'>['checks'][number];

interface DoctorChecks {
  readonly troubled: readonly DoctorCheck[];
  readonly passed: readonly DoctorCheck[];
  readonly unjudged: readonly DoctorCheck[];
}

export function divideChecks(checks: readonly DoctorCheck[]): DoctorChecks {
  const fine = checks.filter(({ status }) => status === 'ok');
  return {
    troubled: checks.filter(({ status }) => status !== 'ok'),
    passed: fine.filter(({ evaluated }) => evaluated),
    unjudged: fine.filter(({ evaluated }) => !evaluated),
  };
}
