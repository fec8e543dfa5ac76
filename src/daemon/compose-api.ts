import {
  createDaemonApi,
  type DaemonApi,
  type DaemonApiOptions,
  type DaemonReadiness,
} from './api/api-server.ts';
import { byName } from './api/by-name.ts';
import { createDaemonActions } from './api/daemon-actions.ts';
import { defineReport } from './api/define-report.ts';
import type { ConditionSource } from './api/condition-source.ts';
import { collectFacts, type FactSources } from './conditions/collect-facts.ts';
import { createConditionBoard } from './conditions/condition-board.ts';
import { conditionsOf } from './conditions/conditions-of.ts';
import { createSpanIds, createUlidFactory } from '../platform/process/ids.ts';
import type { DaemonBase, DaemonOptions } from './daemon-base.ts';
import type { DaemonParts } from './daemon-parts.ts';
import {
  crashLoopSinceOf,
  dataChecks,
  databaseCheck,
  laneCheck,
  leaseCheck,
  processCheck,
  secretsCheck,
  storeChecks,
} from './reports/doctor-checks.ts';
import { createDoctor, createDoctorReport, type Doctor, type DoctorCheck } from './reports/doctor-report.ts';
import { releaseChecks } from './reports/release-checks.ts';
import { tokenFileOf } from './settings/config.ts';
import { findWeakSecrets } from './settings/weak-secrets.ts';
import { createLogReport } from './reports/log-report.ts';
import { createDataSpace } from './reports/data-space.ts';
import type { DaemonCondition } from '../domain/service-state/daemon-conditions.ts';
import { createTaskReports } from './reports/task-reports.ts';
import type { SettingsHolder } from './settings/daemon-settings.ts';

const DOCTOR_TIMEOUT_MS = 3000;

/** The routes behind the API: few while the daemon is a standby, all of them after that. */
export type ApiSurface = Pick<
  DaemonApiOptions,
  'reports' | 'actions' | 'attestation' | 'conditions' | 'damage'
>;

/**
 * Creates the API, which listens before the daemon may use its folders.
 *
 * @param surface gives the routes of this moment
 */
export function composeApi(
  options: DaemonOptions,
  settings: SettingsHolder,
  { readiness, surface }: Pick<DaemonApiOptions, 'readiness'> & { readonly surface: () => ApiSurface },
): DaemonApi {
  return createDaemonApi({
    ...options,
    // Getters, because the API reads them for each request.
    get reports() {
      return surface().reports;
    },
    get actions() {
      return surface().actions;
    },
    get attestation() {
      return surface().attestation;
    },
    get conditions() {
      return surface().conditions;
    },
    get damage() {
      return surface().damage;
    },
    readiness,
    createId: createUlidFactory(options),
    createSpanId: createSpanIds(options.randomBytes),
    tokenFile: () => tokenFileOf(settings.current().configuration),
    allowedHosts: () => settings.current().configuration.listen.allowedHosts,
  });
}

/** The readiness of a daemon, and what it waits for while it is a standby. */
export interface StandbyReadiness extends DaemonReadiness {
  /** The condition of the volume that it waits for; none while it waits for a daemon. */
  readonly refused?: readonly DaemonCondition[];
}

/** Creates the routes of a standby: its log, and a doctor that names what it waits for. */
export function standbySurface(
  { options, configuration }: Pick<DaemonBase, 'options' | 'configuration'>,
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
  const doctor = doctorOf(options, [check, space.check]);
  return {
    reports: byName([
      defineReport('daemon.doctor', createDoctorReport(doctor, options.supervision)),
      defineReport('daemon.logs', createLogReport(options.logRing)),
    ]),
    actions: new Map(),
    attestation: { current: () => null, waitForChange: () => Promise.resolve() },
    conditions: {
      current: () => ({ conditions: readiness().refused ?? [], tag: 'standby' }),
      waitForChange: () => Promise.resolve(),
    },
    damage: () => ({ accepted: 0, ignored: 0 }),
  };
}

/**
 * Creates the routes of a running daemon: the actions and reports of its parts.
 *
 * @param requestRestart starts the shutdown; without `drain` the daemon does not wait for running tasks
 * @throws Error when two parts define an action or a report with the same name
 */
export function daemonSurface(
  base: DaemonBase,
  parts: DaemonParts,
  {
    requestRestart,
    doctor,
  }: {
    readonly requestRestart: (drain: boolean) => void;
    readonly doctor: Pick<Doctor, 'examine' | 'latest'>;
  },
): ApiSurface {
  const { options, settings } = base;
  const { engine, releases, schedules, texts, localized, reload } = parts;
  const daemonActions = createDaemonActions({
    engine,
    reload,
    supervised: () => options.supervision !== null || settings.current().configuration.supervised,
    requestRestart,
  });
  return {
    reports: byName([
      ...createTaskReports(engine),
      ...releases.reports,
      ...schedules.reports,
      ...texts.reports,
      defineReport(
        'daemon.doctor',
        createDoctorReport(doctor, options.supervision, async () => await releases.storage.read()),
      ),
      defineReport('daemon.logs', createLogReport(options.logRing)),
    ]),
    actions: byName([
      ...releases.actions,
      ...schedules.actions,
      ...texts.actions,
      ...localized.actions,
      ...daemonActions,
    ]),
    attestation: releases.attestation,
    conditions: composeConditions(base, parts, doctor),
    damage: releases.damageIntake,
  };
}

/** Creates the conditions that servers get beside the attestation. */
function composeConditions(
  { options, settings, lease }: DaemonBase,
  { engine, releases, localized, dataSpace, clockLook }: DaemonParts,
  doctor: Pick<Doctor, 'latest'>,
): ConditionSource {
  const { clock, supervision, bootId } = options;
  const sources: FactSources = {
    ...releases,
    releases: releases.repository,
    engine,
    hasUpstream: () => settings.current().configuration.upstream.kind !== 'none',
    doctor,
    lease,
    dataSpace,
    clockLook,
    crashLoopSince: () => crashLoopSinceOf(supervision, clock),
    automation: () => localized.automation.status(),
    rollbacks: localized.rollbacks,
    repairsAutomatically: () => settings.current().configuration.repair.automatic,
    maxVerifyAgeSeconds: () => settings.current().configuration.attestation.maxVerifyAgeSeconds,
    clock,
  };
  return createConditionBoard({
    find: () => conditionsOf(collectFacts(sources)),
    attestationVersion: () => releases.attestation.current()?.version ?? null,
    bootId,
    clock,
  });
}

/** Creates the doctor over the checks of all parts. */
export function composeDoctor(base: DaemonBase, parts: DaemonParts): Doctor {
  return doctorOf(base.options, doctorChecks(base, parts));
}

function doctorOf({ clock, logger }: DaemonOptions, checks: readonly DoctorCheck[]): Doctor {
  return createDoctor({ checks, clock, logger, timeoutMs: DOCTOR_TIMEOUT_MS });
}

function doctorChecks(
  { configuration, options, settings, database, rebuilt, writer, lease }: DaemonBase,
  { engine, releases, schedules, texts, localized, keyWatch, dataSpace, clockLook }: DaemonParts,
): readonly DoctorCheck[] {
  const { clock, bootId } = options;
  return [
    databaseCheck('database.main', database, clock, rebuilt),
    ...dataChecks(configuration.data.dir, bootId),
    dataSpace.check,
    leaseCheck(lease),
    ...storeChecks(configuration.snapshot.root, writer, bootId),
    ...releaseChecks(releases),
    keyWatch.check,
    processCheck(options.supervision, clock),
    laneCheck(engine),
    schedules.check,
    ...texts.checks,
    ...localized.checks,
    secretsCheck(async () => await findWeakSecrets(settings.current().configuration)),
    clockLook.check,
  ];
}
