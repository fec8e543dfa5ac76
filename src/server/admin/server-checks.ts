import { parseJsonExact, stringifyJsonExact } from '../../contract/json/json-exact.ts';
import type { ReportBodyOf } from '../../contract/reports/reports.ts';
import { describeLocalized, describeState } from '../../domain/service-state/describe-state.ts';
import type { ServiceAnswer, ServiceStateName } from '../../domain/service-state/service-state.ts';
import type { ReadServiceState } from '../service/service-state-reader.ts';
import { unixSeconds, type Clock } from '../../platform/process/clock.ts';

/** Adds the findings of this server to the doctor report of the daemon, which knows nothing of them. */
export type AddServerChecks = (report: Buffer) => Promise<Buffer>;

type ServerCheck = ReportBodyOf<'daemon.doctor'>['checks'][number];
type DoctorStatus = ServerCheck['status'];

/** The statuses of a check, the worst last. */
const DOCTOR_STATUSES = ['ok', 'degraded', 'failing'] as const;

const STATUS_OF: Readonly<Record<ServiceStateName, DoctorStatus>> = {
  healthy: 'ok',
  degraded: 'degraded',
  starting: 'degraded',
  // This is how every server begins.
  unpublished: 'degraded',
  damaged: 'failing',
  expired: 'failing',
  stale: 'failing',
  withdrawn: 'ok',
  untrusted: 'failing',
  stopping: 'degraded',
};

/** Makes the function. The state of the service is the first check, the other findings of this server are the last. */
export function createServerChecks({
  findWeakSecrets,
  fewOpenFiles,
  service,
  clock,
}: {
  /** Gives one sentence for each weak token of this server, with its remedy. */
  readonly findWeakSecrets: () => Promise<readonly string[]>;
  /** Says that this process may have too few files open, with the remedy; `null` when it may have enough. */
  readonly fewOpenFiles: string | null;
  readonly service: ReadServiceState;
  readonly clock: Clock;
}): AddServerChecks {
  let weakSince: number | null = null;
  const startedAt = unixSeconds(clock);
  return async (report) => {
    const weak = await findWeakSecrets();
    weakSince = weak.length === 0 ? null : (weakSince ?? unixSeconds(clock));
    const doctor = parseJsonExact(report.toString()) as {
      readonly status?: unknown;
      readonly checks?: unknown;
    };
    if (!Array.isArray(doctor.checks)) return report;
    const first = serviceCheck(service());
    const last: ServerCheck[] = [];
    if (weakSince !== null) {
      last.push({
        id: 'server.secrets',
        status: 'degraded',
        message: weak.join('; '),
        since: weakSince,
        evaluated: true,
      });
    }
    if (fewOpenFiles !== null) {
      last.push({
        id: 'server.open_files',
        status: 'degraded',
        message: fewOpenFiles,
        since: startedAt,
        evaluated: true,
      });
    }
    const statuses = new Set([doctor.status, first.status, ...last.map(({ status }) => status)]);
    return Buffer.from(
      stringifyJsonExact({
        ...doctor,
        status: DOCTOR_STATUSES.findLast((status) => statuses.has(status)) ?? doctor.status,
        checks: [first, ...(doctor.checks as unknown[]), ...last],
      }),
    );
  };
}

function serviceCheck(answer: ServiceAnswer): ServerCheck {
  const { state, reason, since } = answer;
  const cause = reason === null ? state : `${state}, ${reason}`;
  const localized = describeLocalized(answer);
  const message = `${cause}: ${describeState(answer)}${localized === null ? '' : `; localized: ${localized}`}`;
  return { id: 'service', status: STATUS_OF[state], message, since, evaluated: true };
}
