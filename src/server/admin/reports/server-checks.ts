import { parseJsonExact, stringifyJsonExact } from '../../../contract/json/json-exact.ts';
import { unixSeconds, type Clock } from '../../../platform/process/clock.ts';

/** Adds the findings of this server to the doctor report of the daemon, which knows nothing of them. */
export type AddServerChecks = (report: Buffer) => Promise<Buffer>;

export interface ServerChecksOptions {
  /** Gives one sentence for each weak token of this server, with its remedy. */
  readonly findWeakSecrets: () => Promise<readonly string[]>;
  readonly clock: Clock;
}

/** Makes the function; a server without findings leaves the bytes of the daemon as they are. */
export function createServerChecks({ findWeakSecrets, clock }: ServerChecksOptions): AddServerChecks {
  let since: number | null = null;
  return async (report) => {
    const weak = await findWeakSecrets();
    if (weak.length === 0) {
      since = null;
      return report;
    }
    since ??= unixSeconds(clock);
    const doctor = parseJsonExact(report.toString()) as {
      readonly status?: unknown;
      readonly checks?: unknown;
    };
    if (!Array.isArray(doctor.checks)) return report;
    const check = { id: 'server.secrets', status: 'degraded', message: weak.join('; '), since };
    return Buffer.from(
      stringifyJsonExact({
        ...doctor,
        status: doctor.status === 'failing' ? 'failing' : 'degraded',
        checks: [...(doctor.checks as unknown[]), check],
      }),
    );
  };
}
