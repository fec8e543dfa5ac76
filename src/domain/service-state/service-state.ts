import type { Channel } from '../release/channel.ts';
import type { Verdict } from '../verdict/verdict.ts';
import type { AbsenceKind } from './daemon-absence.ts';
import type { DaemonCondition } from './daemon-conditions.ts';
import type { NextStep, ServiceReason } from './service-reasons.ts';

/** The states of the service or of a channel, and what each means for clients. */
export const SERVICE_STATES = {
  healthy: 'Served, and nothing needs attention.',
  degraded: 'Served, and something needs attention before it ends the service.',
  starting: 'Not served yet; it will be served automatically.',
  unpublished: 'Not served: there is no release.',
  damaged: 'Not served: the release is not complete on the volume.',
  expired: 'Not served: the last attestation has expired.',
  withdrawn: 'Not served: somebody has withdrawn the localized release, and nothing has to be done.',
  stale: 'Not served: the localized release was made for another official release.',
  untrusted: 'Not served: the attestation cannot be trusted.',
  stopping: 'The server is shutting down.',
} as const;

export type ServiceStateName = keyof typeof SERVICE_STATES;

/** All states. */
export const SERVICE_STATE_NAMES = Object.keys(SERVICE_STATES) as ServiceStateName[];

/** Something that depends on the cause, so it has no finding of its own. */
export interface Consequence {
  readonly what: string;
  readonly since: number | null;
}

export interface ServiceState {
  readonly state: ServiceStateName;
  /** The first cause; `null` exactly when healthy. */
  readonly reason: ServiceReason | null;
  readonly message: string;
  readonly since: number;
  /** `null` exactly when healthy. */
  readonly next_step: NextStep | null;
  readonly caused: readonly Consequence[];
}

export interface ServiceAnswer extends ServiceState {
  readonly channels: Readonly<Record<Channel, ServiceState>>;
}

/** The part of a verdict from which the state is decided. */
export interface JudgedVerdict {
  readonly distributable: boolean;
  readonly reason: Verdict['reason'];
  readonly message: string;
  readonly since: number;
  readonly release_id: Verdict['release_id'];
  readonly checks: Verdict['checks'];
  readonly found_by?: Verdict['found_by'];
}

export interface ServiceFacts {
  readonly verdicts: Readonly<Record<Channel, JudgedVerdict>>;
  readonly daemon: {
    readonly failure: AbsenceKind | null;
    readonly since: number | null;
  };
  /** The polls that brought nothing usable since the last good one. */
  readonly refresh: {
    readonly failures: number;
    readonly code: string | null;
    readonly since: number | null;
  };
  /** The conditions that the daemon reported with its last answer; `null` before the first one, and when they are malformed. */
  readonly conditions: readonly DaemonCondition[] | null;
  /** When the accepted attestation expires; `null` without one. */
  readonly expiresAt: number | null;
  readonly isStopping: boolean;
}
