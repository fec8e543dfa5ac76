import { loadSigningKeys } from '../attestation/keys.ts';
import type { DoctorCheck } from '../engine/check.ts';
import { problemsOfRules } from '../localization/parse/rules/load-rules.ts';
import { readOpenFilesLimit } from '../platform/process/open-files.ts';
import { byName, type ApiSurface } from './api/api-server.ts';
import { createDaemonActions } from './api/daemon-actions.ts';
import { openConditions } from './conditions/open-conditions.ts';
import type { Modules, OpenedParts } from './daemon-parts.ts';
import { createClockCheck, recordedTimes } from './reports/clock-check.ts';
import { createDataSpace } from './reports/data-space.ts';
import {
  dataChecks,
  databaseCheck,
  laneCheck,
  leaseCheck,
  openFilesCheck,
  processCheck,
  releaseChecks,
  secretsCheck,
  storeChecks,
} from './reports/doctor-checks.ts';
import { createDoctor, doctorReport, type Doctor } from './reports/doctor-report.ts';
import { logReport } from './reports/log-ring.ts';
import { createTaskReports } from './reports/task-reports.ts';
import { daemonOpenFiles, scheduleIntervals } from './settings/module-settings.ts';
import { createReload } from './settings/reload.ts';
import { createSigningKeyWatch, type SigningKeyWatch } from './settings/signing-key-watch.ts';
import { findWeakSecrets } from './settings/load-settings.ts';

/** The routes of a running daemon, its doctor, and the watch of its signing keys. */
interface Running {
  readonly surface: ApiSurface;
  readonly doctor: Doctor;
  readonly keyWatch: SigningKeyWatch;
}

/**
 * Opens the routes of a running daemon: the actions and reports of its modules, its doctor and its conditions.
 *
 * @param requestRestart starts the shutdown; without `drain` the daemon does not wait for running tasks
 * @throws Error when two modules define an action or a report with the same name
 */
export function openRunning(
  parts: OpenedParts,
  modules: Modules,
  requestRestart: (drain: boolean) => void,
): Running {
  const { configuration, options, settings, closers } = parts;
  const { engine, schedules, upstream, releases, localization } = modules;
  const { clock, logger, supervision } = options;
  const { attestor } = releases;
  const reload = createReload({
    load: options.loadSettings,
    settings,
    upstream,
    attestor,
    problemsOfRules: async ({ parse }) => await problemsOfRules(parse),
    configureSchedules: (next) => {
      schedules.configure(scheduleIntervals(next));
      void localization.catchUp();
    },
    logger,
  });
  const keyWatch = createSigningKeyWatch({ settings, load: loadSigningKeys, attestor, clock, logger });
  const dataSpace = createDataSpace({ directory: configuration.data.dir, clock });
  const clockCheck = createClockCheck(clock, () => recordedTimes(releases));
  const checks = [...checksOf(parts, modules), dataSpace.check, keyWatch.check, clockCheck.check];
  const doctor = createDoctor({ checks, clock, logger });
  closers.add('doctor', async () => await doctor.stop());
  const conditions = openConditions(parts, modules, { doctor, dataSpace, clockCheck });
  const supervised = (): boolean => supervision !== null || settings.current().configuration.supervised;
  const surface: ApiSurface = {
    reports: byName([
      ...createTaskReports(engine),
      ...releases.reports,
      ...schedules.reports,
      ...localization.reports,
      doctorReport(doctor, supervision, async () => await releases.storage.read()),
      logReport(options.logRing),
    ]),
    actions: byName([
      ...releases.actions,
      ...schedules.actions,
      ...localization.actions,
      ...createDaemonActions({ engine, reload, supervised, requestRestart }),
    ]),
    attestation: releases.attestation,
    conditions,
    reportDamage: releases.reportDamage,
  };
  return { surface, doctor, keyWatch };
}

/** The checks of the modules and of the parts that they were opened with. */
function checksOf(
  { configuration, options, settings, database, rebuilt, writer, lease }: OpenedParts,
  { engine, schedules, releases, localization, backup }: Modules,
): readonly DoctorCheck[] {
  const { clock, supervision, bootId } = options;
  return [
    databaseCheck('database.main', database, clock, rebuilt),
    ...dataChecks(configuration.data.dir, bootId),
    leaseCheck(lease),
    ...storeChecks(configuration.snapshot.root, writer, bootId),
    ...releaseChecks(releases),
    processCheck(supervision, clock),
    laneCheck(engine),
    schedules.check,
    ...localization.checks,
    backup.check,
    openFilesCheck(readOpenFilesLimit(), () => daemonOpenFiles(settings.current().configuration)),
    secretsCheck(async () => await findWeakSecrets(settings.current().configuration)),
  ];
}
