import { CHANNELS } from '../../domain/release/channel.ts';
import type { DaemonCondition } from '../../domain/service-state/daemon-conditions.ts';
import { OUTLASTING_CONDITIONS } from '../../domain/service-state/lasting-conditions.ts';
import { decideServiceState } from '../../domain/service-state/decide-service-state.ts';
import type { ServiceAnswer, ServiceFacts } from '../../domain/service-state/service-state.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/verdict/attestation.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import type { DaemonState } from '../daemon-client/daemon-presence.ts';
import type { RefreshDiagnostics } from '../serving/attestation-poller.ts';
import type { ServingControl } from '../serving/serving.ts';
import { createStateTimes } from './state-times.ts';

/** Where the facts come from. All of them are in memory. */
export interface ServiceStateSources {
  readonly serving: ServingControl;
  readonly daemon: () => DaemonState;
  readonly refresh: () => RefreshDiagnostics;
  readonly conditions: () => readonly DaemonCondition[] | null;
  /** By how many seconds the clock of the daemon is ahead of the clock here, negative when it is behind; `null` when not known. */
  readonly clockAhead: () => number | null;
  readonly isShuttingDown: () => boolean;
  readonly clock: Clock;
}

/** The state of the service as of now. */
export type ReadServiceState = () => ServiceAnswer;

/** Makes the function that collects the facts and decides. It waits for nothing, and remembers when the state changed. */
export function createServiceStateReader(sources: ServiceStateSources): ReadServiceState {
  const noteTimes = createStateTimes();
  const keepLasting = createConditionMemory();
  return () => {
    const conditions = withClock(keepLasting(sources.conditions()), sources.clockAhead());
    return noteTimes(decideServiceState(factsOf(sources, conditions)), unixSeconds(sources.clock));
  };
}

/** Adds a clock of the daemon that differs too much from the one here: each refuses the times of the other. */
function withClock(told: ServiceFacts['conditions'], ahead: number | null): ServiceFacts['conditions'] {
  if (told === null || ahead === null || Math.abs(ahead) <= CLOCK_SKEW_SECONDS) return told;
  const minutes = Math.round(Math.abs(ahead) / 60);
  const where = ahead > 0 ? 'ahead of' : 'behind';
  const message = `the clock of the daemon is about ${minutes} min ${where} that of this server`;
  return [{ code: 'clock_off', message, since: null, next_try: null }, ...told];
}

/**
 * Makes the function that keeps {@link OUTLASTING_CONDITIONS} among the conditions while the daemon starts: until it
 * has started, it does not report whether they have ended.
 */
function createConditionMemory(): (told: ServiceFacts['conditions']) => ServiceFacts['conditions'] {
  let lasting: readonly DaemonCondition[] = [];
  return (told) => {
    if (told?.some(({ code }) => code === 'starting') === true) return [...told, ...lasting];
    // A poll without a usable answer says nothing about them.
    if (told !== null) lasting = told.filter(({ code }) => OUTLASTING_CONDITIONS.has(code));
    return told ?? (lasting.length === 0 ? null : lasting);
  };
}

function factsOf(sources: ServiceStateSources, conditions: ServiceFacts['conditions']): ServiceFacts {
  const { serving } = sources;
  const [official, localized] = CHANNELS.map((channel) => serving.verdict(channel));
  if (official === undefined || localized === undefined) throw new Error('a channel has no verdict');
  const { failure, since } = sources.daemon();
  const { consecutiveFailures: failures, lastErrorCode: code, lastSuccessAt } = sources.refresh();
  return {
    verdicts: { official, localized },
    daemon: { failure, since },
    refresh: { failures, code, since: lastSuccessAt === null ? null : Math.floor(lastSuccessAt / 1000) },
    conditions,
    expiresAt: serving.attestation()?.statement.expires_at ?? null,
    isStopping: sources.isShuttingDown(),
  };
}
