import type { ConditionSource, ConditionState } from '../api/condition-source.ts';
import type { Modules, OpenedParts } from '../daemon-parts.ts';
import type { ClockCheck } from '../reports/clock-check.ts';
import type { DataSpace } from '../reports/data-space.ts';
import { crashLoopSinceOf } from '../reports/doctor-checks.ts';
import type { Doctor } from '../reports/doctor-report.ts';
import { collectFacts } from './collect-facts.ts';
import { conditionsOf } from './conditions-of.ts';
import type { DaemonCondition } from '../../domain/service-state/daemon-conditions.ts';
import { pause } from '../../platform/process/pause.ts';
import type { Clock } from '../../platform/process/clock.ts';
import { storageFailureOf } from '../../engine/database/storage-failure.ts';

/** Opens the conditions that servers get beside the attestation. */
export function openConditions(
  { settings, lease, options: { supervision, bootId, clock } }: OpenedParts,
  { engine, releases, localization: { localized } }: Modules,
  watched: { readonly doctor: Doctor; readonly dataSpace: DataSpace; readonly clockCheck: ClockCheck },
): ConditionSource {
  const sources = {
    ...releases,
    releases: releases.repository,
    engine,
    hasUpstream: () => settings.current().configuration.upstream.kind !== 'none',
    ...watched,
    lease,
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

/** Milliseconds for which conditions count as fresh. Finding them costs a few reads of the database. */
const FRESH_MS = 1000;

interface ConditionBoardOptions {
  /** Finds the conditions of this moment. */
  readonly find: () => readonly DaemonCondition[];
  /** Changes with the attestation, so that its conditions are never older than it. */
  readonly attestationVersion: () => number | null;
  /** Makes tags that no other process of the daemon gives. */
  readonly bootId: string;
  readonly clock: Clock;
}

/** A database that cannot be read gives no other condition. */
const DAMAGED: readonly DaemonCondition[] = [
  {
    code: 'database_damaged',
    message: 'the database of the daemon is damaged',
    since: null,
    next_try: null,
  },
];

/** Creates the source of the conditions. It finds them when it is asked, at most once a second for each attestation. */
export function createConditionBoard({
  find,
  attestationVersion,
  bootId,
  clock,
}: ConditionBoardOptions): ConditionSource {
  let state: ConditionState = { conditions: [], tag: `${bootId}-0` };
  let text = '[]';
  let changes = 0;
  let foundAt = -Infinity;
  let foundFor: number | null = null;

  const findAgain = (): readonly DaemonCondition[] => {
    try {
      return find();
    } catch (error) {
      // Another failure of a read passes; until then the last conditions are the best known ones.
      return storageFailureOf(error)?.code === 'data_damaged' ? DAMAGED : state.conditions;
    }
  };

  const current = (): ConditionState => {
    const version = attestationVersion();
    if (version === foundFor && clock.monotonic() - foundAt < FRESH_MS) return state;
    foundAt = clock.monotonic();
    foundFor = version;
    const conditions = findAgain();
    const next = JSON.stringify(conditions);
    if (next === text) return state;
    text = next;
    changes += 1;
    state = { conditions, tag: `${bootId}-${changes}` };
    return state;
  };

  return {
    current,
    waitForChange: async (knownTag, timeoutMs, signal) => {
      const end = clock.monotonic() + timeoutMs;
      while (!signal.aborted && clock.monotonic() < end && current().tag === knownTag) {
        await pause(clock, Math.min(FRESH_MS, end - clock.monotonic()), signal);
      }
    },
  };
}
