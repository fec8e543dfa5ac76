import { createHash } from 'node:crypto';
import { Agent } from 'node:http';
import type { z } from 'zod';
import type { ControlAction } from '../../contract/actions/actions.ts';
import { ProblemSchema } from '../../contract/problems/problem-schema.ts';
import { AcceptedAnswer, type Accepted } from '../../contract/schemas/answers/admin.ts';
import { HealthAnswer, type Health } from '../../contract/schemas/answers/health.ts';
import { ReleaseListReport, ReleaseStatusReport } from '../../contract/reports/report-releases.ts';
import { ScheduleListReport, type ScheduleSchema } from '../../contract/reports/report-schedules.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { exchange, ExchangeFailed, type BoundedResponse } from '../http/bounded-request.ts';
import { AdminRefused } from './admin-refused.ts';

/** A schedule as a daemon reports it. */
export type ReportedSchedule = z.output<typeof ScheduleSchema>;
/** What a daemon says of its current releases. */
export type ReleaseStatus = z.output<typeof ReleaseStatusReport.schema>;
/** A release of the history. */
export type ReleaseRow = z.output<typeof ReleaseListReport.schema>['releases'][number];

/** The token of the admin surface. */
export type AdminToken = string;

/** Speaks with slipway-server in one pod; every call ends within its deadline. */
export interface ServerClient {
  /** `/healthz`. @throws ExchangeFailed */
  health(origin: string): Promise<Health>;
  /** `/admin/releases/status`. @throws AdminRefused, ExchangeFailed */
  releaseStatus(origin: string, token: AdminToken): Promise<ReleaseStatus>;
  /** `/admin/releases` of one channel, newest first. @throws AdminRefused, ExchangeFailed */
  releases(origin: string, token: AdminToken, channel: Channel): Promise<readonly ReleaseRow[]>;
  /** The schedule of this id, or `null`. @throws AdminRefused, ExchangeFailed */
  schedule(origin: string, token: AdminToken, id: string): Promise<ReportedSchedule | null>;
  /**
   * Posts one control action, once.
   *
   * @param call.key calls with an equal key are done once within a day, and are answered with the state of the first
   *   one's task; `null` for an action that may be repeated
   * @throws AdminRefused, ExchangeFailed, the signal's reason
   */
  control(
    origin: string,
    token: AdminToken,
    action: ControlAction,
    body: ControlBody,
    call: { readonly key: string | null; readonly signal: AbortSignal },
  ): Promise<Accepted>;
  /** Closes idle connections. */
  close(): void;
}

/** What is asked of a server. Written down here, because the table of all operations costs 3 MiB; a test compares them. */
export const SERVER_PATHS = {
  getHealth: '/healthz',
  getReleaseStatus: '/admin/releases/status',
  listReleaseHistory: '/admin/releases',
  listSchedules: '/admin/schedules',
  postControl: '/admin/control/{action}',
} as const;

const HEALTH_MAX_BYTES = 64 * 1024;
const REPORT_MAX_BYTES = 2 * 1024 * 1024;
const MAX_SOCKETS_PER_POD = 8;

/** What {@link createServerClient} needs. */
export interface ServerClientOptions {
  /** Milliseconds for one call. */
  readonly timeoutMs: number;
  readonly userAgent: string;
}

/** Makes a client for all pods. */
export function createServerClient({ timeoutMs, userAgent }: ServerClientOptions): ServerClient {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS_PER_POD, maxFreeSockets: 2 });

  const send = async (
    url: string,
    options: {
      readonly method?: string;
      readonly headers?: Record<string, string>;
      readonly body?: string;
      readonly maxBytes: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<BoundedResponse> =>
    await exchange({
      url: new URL(url),
      method: options.method ?? 'GET',
      headers: { accept: 'application/json', 'user-agent': userAgent, ...options.headers },
      body: options.body,
      connection: { agent },
      timeoutMs,
      maxBytes: options.maxBytes,
      signal: options.signal,
    });

  const readAdmin = async <T extends z.ZodType>(
    url: string,
    token: AdminToken,
    schema: T,
  ): Promise<z.output<T>> => {
    const answer = await send(url, {
      headers: { authorization: `Bearer ${token}` },
      maxBytes: REPORT_MAX_BYTES,
    });
    if (answer.status !== 200) throw refusalOf(answer);
    return parseAnswer(answer, schema);
  };

  return {
    health: async (origin) => {
      const answer = await send(`${origin}${SERVER_PATHS.getHealth}`, { maxBytes: HEALTH_MAX_BYTES });
      if (answer.status !== 200) throw new ExchangeFailed(`/healthz answered ${answer.status}`);
      return parseAnswer(answer, HealthAnswer.schema);
    },
    releaseStatus: async (origin, token) =>
      await readAdmin(`${origin}${SERVER_PATHS.getReleaseStatus}`, token, ReleaseStatusReport.schema),
    releases: async (origin, token, channel) => {
      const url = `${origin}${SERVER_PATHS.listReleaseHistory}?channel=${channel}`;
      return (await readAdmin(url, token, ReleaseListReport.schema)).releases;
    },
    schedule: async (origin, token, id) => {
      const url = `${origin}${SERVER_PATHS.listSchedules}?id=${encodeURIComponent(id)}`;
      const { items } = await readAdmin(url, token, ScheduleListReport.schema);
      return items.find((schedule) => schedule.id === id) ?? null;
    },
    control: async (origin, token, action, body, { key, signal }) => {
      const answer = await send(
        `${origin}${SERVER_PATHS.postControl.replace('{action}', encodeURIComponent(action))}`,
        {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            ...(key === null ? {} : { 'idempotency-key': createHash('sha256').update(key).digest('hex') }),
          },
          body: JSON.stringify(body),
          maxBytes: REPORT_MAX_BYTES,
          signal,
        },
      );
      if (answer.status !== 202) throw refusalOf(answer);
      return parseAnswer(answer, AcceptedAnswer.schema);
    },
    close: () => {
      agent.destroy();
    },
  };
}

function parseAnswer<T extends z.ZodType>(answer: BoundedResponse, schema: T): z.output<T> {
  const parsed = schema.safeParse(jsonOf(answer));
  if (parsed.success) return parsed.data;
  throw new ExchangeFailed('the answer is not that of a slipway-server of this version', parsed.error);
}

function jsonOf(answer: BoundedResponse): unknown {
  try {
    return JSON.parse(answer.body.toString('utf8'));
  } catch {
    // Told apart by the schema that is applied next.
    return null;
  }
}

function refusalOf(answer: BoundedResponse): AdminRefused {
  const problem = ProblemSchema.pick({ code: true, detail: true, daemon: true }).safeParse(jsonOf(answer));
  return new AdminRefused(
    answer.status,
    problem.success ? (problem.data.daemon?.code ?? problem.data.code) : null,
    problem.success ? problem.data.detail : `the server answered ${answer.status}`,
  );
}
