import type { DaemonCondition } from '../domain/service-state/daemon-conditions.ts';
import type { DoctorCheck } from '../engine/check.ts';
import { byName, type ApiSurface, type DaemonReadiness } from './api/api-server.ts';
import type { DaemonParts } from './daemon-parts.ts';
import { createDataSpace } from './reports/data-space.ts';
import { createDoctor, doctorReport } from './reports/doctor-report.ts';
import { logReport } from './reports/log-ring.ts';

/** The readiness of a daemon, and what it waits for while it is a standby. */
export interface StandbyReadiness extends DaemonReadiness {
  /** The condition of the volume that it waits for; none while it waits for a daemon. */
  readonly refused?: readonly DaemonCondition[];
}

/** Creates the routes of a standby: its log, and a doctor that names what it waits for. */
export function standbySurface(
  { options, configuration }: DaemonParts,
  readiness: () => StandbyReadiness,
): ApiSurface {
  const check: DoctorCheck = {
    id: 'store.lease',
    run: () => ({
      status: 'degraded',
      message: `this daemon is a standby: ${readiness().waitingFor ?? 'it starts'}`,
    }),
  };
  const space = createDataSpace({ directory: configuration.data.dir, clock: options.clock });
  const doctor = createDoctor({ ...options, checks: [check, space.check] });
  return {
    reports: byName([doctorReport(doctor, options.supervision), logReport(options.logRing)]),
    actions: new Map(),
    attestation: { current: () => null, waitForChange: () => Promise.resolve() },
    conditions: {
      current: () => ({ conditions: readiness().refused ?? [], tag: 'standby' }),
      waitForChange: () => Promise.resolve(),
    },
    reportDamage: () => ({ accepted: 0, ignored: 0 }),
  };
}
