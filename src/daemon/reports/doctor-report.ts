import { unixSeconds, type Clock } from '../../platform/process/clock.ts';
import { describeStorageError } from '../database/storage-failure.ts';
import type { ReportHandler } from '../api/define-report.ts';

/** `degraded` needs attention, `failing` is broken. */
export type DoctorStatus = 'ok' | 'degraded' | 'failing';

/** The result of one check. */
export interface DoctorFinding {
  readonly status: DoctorStatus;
  /** The finding, and the advice for it. */
  readonly message: string;
  /** When the check got this status, Unix seconds, if the check knows it; default: when the status was first seen. */
  readonly since?: number;
}

/** One check of the doctor report. */
export interface DoctorCheck {
  /** Stable name, such as `store.writable`. */
  readonly id: string;
  /** Must end soon after the signal is aborted. An error counts as `failing`. */
  run(signal: AbortSignal): Promise<DoctorFinding> | DoctorFinding;
}

export interface DoctorOptions {
  readonly checks: readonly DoctorCheck[];
  readonly clock: Clock;
  /** Maximum number of milliseconds that one check may take; a volume that hangs must not hang the report. */
  readonly timeoutMs: number;
}

const SEVERITY: readonly DoctorStatus[] = ['ok', 'degraded', 'failing'];

/** The report `daemon.doctor`: runs every check and says since when each has had its status. */
export function createDoctorReport({
  checks,
  clock,
  timeoutMs,
}: DoctorOptions): ReportHandler<'daemon.doctor'> {
  const known = new Map<string, { readonly status: DoctorStatus; readonly since: number }>();
  return async (_query, signal) => {
    const findings = await Promise.all(
      checks.map(async (check) => ({ id: check.id, ...(await runBounded(check, clock, timeoutMs, signal)) })),
    );
    const now = unixSeconds(clock);
    const results = findings.map(({ id, status, message }) => {
      const before = known.get(id);
      const since = before?.status === status ? before.since : now;
      known.set(id, { status, since });
      return { id, status, message, since };
    });
    const worst = Math.max(0, ...results.map(({ status }) => SEVERITY.indexOf(status)));
    return { status: SEVERITY[worst] ?? 'failing', checks: results };
  };
}

async function runBounded(
  check: DoctorCheck,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<DoctorFinding> {
  const ended = new AbortController();
  const bounded = AbortSignal.any([signal, ended.signal]);
  const late = clock.sleep(timeoutMs, bounded).then(
    (): DoctorFinding => ({ status: 'failing', message: `no answer within ${timeoutMs} ms` }),
    (): DoctorFinding => ({ status: 'failing', message: 'the report was abandoned' }),
  );
  const found = Promise.resolve()
    .then(() => check.run(bounded))
    .catch((error: unknown): DoctorFinding => ({
      status: 'failing',
      message: describeStorageError(error),
    }));
  try {
    return await Promise.race([found, late]);
  } finally {
    ended.abort();
  }
}
