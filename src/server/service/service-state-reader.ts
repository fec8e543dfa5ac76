import { CHANNELS } from '../../domain/release/channel.ts';
import type { DaemonCondition } from '../../domain/service-state/daemon-conditions.ts';
import { decideServiceState } from '../../domain/service-state/decide-service-state.ts';
import type { ServiceAnswer, ServiceFacts } from '../../domain/service-state/service-state.ts';
import type { DaemonState } from '../daemon-client/daemon-presence.ts';
import type { RefreshDiagnostics } from '../serving/attestation-poller.ts';
import type { ServingControl } from '../serving/serving.ts';

/** Where the facts come from. All of them are in memory. */
export interface ServiceStateSources {
  readonly serving: Pick<ServingControl, 'verdict' | 'attestation'>;
  readonly daemon: () => DaemonState;
  readonly refresh: () => RefreshDiagnostics;
  readonly conditions: () => readonly DaemonCondition[] | null;
  readonly isShuttingDown: () => boolean;
}

/** The state of the service as of now. */
export type ReadServiceState = () => ServiceAnswer;

/** Makes the function that collects the facts and decides. It waits for nothing. */
export function createServiceStateReader(sources: ServiceStateSources): ReadServiceState {
  return () => decideServiceState(factsOf(sources));
}

function factsOf(sources: ServiceStateSources): ServiceFacts {
  const { serving } = sources;
  const [official, localized] = CHANNELS.map((channel) => serving.verdict(channel));
  if (official === undefined || localized === undefined) throw new Error('a channel has no verdict');
  const { failure, since } = sources.daemon();
  const { consecutiveFailures: failures, lastErrorCode: code, lastSuccessAt } = sources.refresh();
  return {
    verdicts: { official, localized },
    daemon: { failure, since },
    refresh: { failures, code, since: lastSuccessAt === null ? null : Math.floor(lastSuccessAt / 1000) },
    conditions: sources.conditions(),
    expiresAt: serving.attestation()?.statement.expires_at ?? null,
    isStopping: sources.isShuttingDown(),
  };
}
