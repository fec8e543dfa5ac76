import { createDaemonApi, type DaemonApi, type DaemonApiOptions } from './api/api-server.ts';
import { byName } from './api/by-name.ts';
import { createDaemonActions } from './api/daemon-actions.ts';
import { defineReport } from './api/define-report.ts';
import type { DaemonBase, DaemonParts } from './daemon-parts.ts';
import {
  clockCheck,
  dataChecks,
  databaseCheck,
  laneCheck,
  secretsCheck,
  storeChecks,
} from './reports/doctor-checks.ts';
import { createDoctorReport, type DoctorCheck } from './reports/doctor-report.ts';
import { tokenFileOf } from './settings/config.ts';
import { findWeakSecrets } from './settings/weak-secrets.ts';
import { createLogReport } from './reports/log-report.ts';
import { createTaskReports } from './reports/task-reports.ts';

const DOCTOR_TIMEOUT_MS = 3000;
/** Maximum wait of the doctor for a look at the store; then it reports the known facts. */
const STORE_LOOK_MS = 1500;

/**
 * Assembles the API from the actions and reports of the daemon's parts.
 *
 * @param requestRestart starts the shutdown; without `drain` the daemon does not wait for running tasks
 * @throws Error when two parts define an action or a report with the same name
 */
export function composeApi(
  base: DaemonBase,
  parts: DaemonParts,
  {
    readiness,
    requestRestart,
  }: Pick<DaemonApiOptions, 'readiness'> & {
    readonly requestRestart: (drain: boolean) => void;
  },
): DaemonApi {
  const { options, settings } = base;
  const { engine, releases, schedules, reload, createId } = parts;
  const doctor = createDoctorReport({
    checks: doctorChecks(base, parts),
    clock: options.clock,
    timeoutMs: DOCTOR_TIMEOUT_MS,
  });
  const daemonActions = createDaemonActions({
    engine,
    reload,
    supervised: () => options.supervision !== null || settings.current().configuration.supervised,
    requestRestart,
  });
  return createDaemonApi({
    ...options,
    reports: byName([
      ...createTaskReports(engine),
      ...releases.reports,
      ...schedules.reports,
      defineReport('daemon.doctor', doctor),
      defineReport('daemon.logs', createLogReport(options.logRing)),
    ]),
    actions: byName([...releases.actions, ...schedules.actions, ...daemonActions]),
    attestation: releases.attestation,
    damage: releases.damageIntake,
    readiness,
    createId,
    tokenFile: () => tokenFileOf(settings.current().configuration),
    allowedHosts: () => settings.current().configuration.listen.allowedHosts,
  });
}

function doctorChecks(
  { configuration, options, settings, database, writer }: DaemonBase,
  { engine, releases, schedules }: DaemonParts,
): readonly DoctorCheck[] {
  const { clock, bootId } = options;
  return [
    databaseCheck('database.main', database, clock),
    ...dataChecks(configuration.data.dir, bootId),
    ...storeChecks(configuration.snapshot.root, writer, bootId),
    ...releases.diagnostics().map(({ id }): DoctorCheck => ({
      id,
      run: async () => {
        if (id === 'verification') await releases.lookAtStore(STORE_LOOK_MS);
        return (
          releases.diagnostics().find((found) => found.id === id) ?? {
            status: 'failing',
            message: 'it has no status',
          }
        );
      },
    })),
    laneCheck(engine),
    schedules.check,
    secretsCheck(async () => await findWeakSecrets(settings.current().configuration)),
    clockCheck(clock),
  ];
}
