import type { ReportedObject } from '../../contract/formats/damage-report.ts';
import type { TaskRow } from '../tasks/task-engine.ts';

/** The query of a report, already validated against the contract. */
export type ReportQuery = Readonly<Record<string, unknown>>;

/** The body of a report without the common envelope (`report`, `generated_at`, `daemon`), JSON, int64 as bigint. */
export type ReportBody = Readonly<Record<string, unknown>>;

/** Answers one report of the loopback protocol. Throws ServiceError for what has an answer of its own. */
export type ReportHandler = (query: ReportQuery, signal: AbortSignal) => Promise<ReportBody> | ReportBody;

/** What became of an accepted action. */
export interface ActionOutcome {
  readonly task: TaskRow;
  /** True when an equal task was already queued or running and is returned instead. */
  readonly deduplicated: boolean;
}

/** Starts one control action from its validated body. Throws ServiceError or TaskError when it is refused. */
export type ActionHandler = (
  body: Readonly<Record<string, unknown>>,
  context: { readonly idempotencyKey: string | null; readonly correlationId: string },
) => Promise<ActionOutcome> | ActionOutcome;

/** Takes what a server found missing or damaged on the volume. Returns before the objects are checked. */
export type DamageIntake = (reports: readonly ReportedObject[]) => {
  /** Objects that are checked, or known to be damaged. */
  readonly accepted: number;
  /** Objects that no kept release holds, or that the queue has no room for. */
  readonly ignored: number;
};

/** Where the loopback API finds the attestation. */
export interface AttestationSource {
  /** The newest envelope, or `null` when none was ever issued for this store. */
  current(): { readonly version: number; readonly envelope: Buffer } | null;
  /** Resolves when the version is no longer `knownVersion`, or after `timeoutMs`, or when the signal is aborted. */
  waitForChange(knownVersion: number | null, timeoutMs: number, signal: AbortSignal): Promise<void>;
}
