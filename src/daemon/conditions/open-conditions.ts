import type { TaskEngine } from '../../engine/tasks/task-engine.ts';
import type { Localized } from '../../localization/localized/localized.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { Releases } from '../../releases/releases.ts';
import type { StoreLease } from '../../snapshot/volume/store-lease.ts';
import type { ConditionSource } from '../api/condition-source.ts';
import type { ClockCheck } from '../reports/clock-check.ts';
import type { DataSpace } from '../reports/data-space.ts';
import { crashLoopSinceOf } from '../reports/doctor-checks.ts';
import type { Doctor } from '../reports/doctor-report.ts';
import type { SettingsHolder } from '../settings/daemon-settings.ts';
import type { Supervision } from '../supervisor/supervision.ts';
import { collectFacts } from './collect-facts.ts';
import { createConditionBoard } from './condition-board.ts';
import { conditionsOf } from './conditions-of.ts';

/** Opens the conditions that servers get beside the attestation. */
export function openConditions({
  settings,
  engine,
  releases,
  localized,
  doctor,
  lease,
  dataSpace,
  clockCheck,
  supervision,
  bootId,
  clock,
}: {
  readonly settings: SettingsHolder;
  readonly engine: TaskEngine;
  readonly releases: Releases;
  readonly localized: Localized;
  readonly doctor: Doctor;
  readonly lease: StoreLease;
  readonly dataSpace: DataSpace;
  readonly clockCheck: ClockCheck;
  readonly supervision: Supervision | null;
  readonly bootId: string;
  readonly clock: Clock;
}): ConditionSource {
  const sources = {
    ...releases,
    releases: releases.repository,
    engine,
    hasUpstream: () => settings.current().configuration.upstream.kind !== 'none',
    doctor,
    lease,
    dataSpace,
    clockCheck,
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
