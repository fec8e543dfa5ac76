import type { DaemonCondition } from '../../domain/service-state/daemon-conditions.ts';
import { CONDITION_HEADERS, renderConditions } from '../../contract/formats/condition-headers.ts';

/** The conditions of the daemon at one moment. */
export interface ConditionState {
  readonly conditions: readonly DaemonCondition[];
  /** Differs from the tags of all other states of the conditions. */
  readonly tag: string;
}

/** Provides the conditions of the daemon to the loopback API. */
export interface ConditionSource {
  current(): ConditionState;
  /** Resolves when the tag is no longer `knownTag`, or after `timeoutMs`, or when the signal is aborted. */
  waitForChange(knownTag: string, timeoutMs: number, signal: AbortSignal): Promise<void>;
}

/** The headers with the conditions of the daemon. */
export function renderConditionHeaders({
  conditions,
  tag,
}: ConditionState): Readonly<Record<string, string>> {
  return {
    [CONDITION_HEADERS.conditions]: renderConditions(conditions),
    [CONDITION_HEADERS.tag]: tag,
  };
}
