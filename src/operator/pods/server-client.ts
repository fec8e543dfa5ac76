import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ControlAction } from '../../contract/actions/actions.ts';
import { ProblemSchema } from '../../contract/problems/problem-schema.ts';
import { AcceptedAnswer, type Accepted } from '../../contract/schemas/answers/admin.ts';
import { HealthRead, type ReadHealth } from '../../contract/schemas/answers/health.ts';
import { ReleaseListReport, ReleaseStatusReport } from '../../contract/reports/report-releases.ts';
import { TaskStatusReport } from '../../contract/reports/report-daemon.ts';
import { ScheduleListReport, type ScheduleSchema } from '../../contract/reports/report-schedules.ts';
import { TranslationStatusRead } from '../../contract/reports/report-translation.ts';
import type { ControlBody } from '../../contract/actions/control-body.ts';
import type { Channel } from '../../domain/release/channel.ts';
import {
  createHttpClient,
  HttpFailure,
  parseJsonAnswer,
  type BoundedAnswer,
  type HttpCall,
} from '../../platform/http/http-client.ts';
import { AdminRefused } from './admin-refused.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';

export type ReportedSchedule = z.output<typeof ScheduleSchema>;
export type ReleaseStatus = z.output<typeof ReleaseStatusReport.schema>;
export type ReleaseRow = z.output<typeof ReleaseListReport.schema>['releases'][number];

export type TranslationStatus = z.output<typeof TranslationStatusRead>;

export type AdminToken = string;

export interface TaskState {
  readonly id: string;
  readonly status: Accepted['status'];
  /** Why it failed, as `code: reason`; `null` when it did not, or when nobody asked. */
  readonly failure: string | null;
}

/** Calls slipway-server in one pod; every call has a deadline. */
export interface ServerClient {
  /** `/healthz`. @throws HttpFailure */
  health(origin: string): Promise<ReadHealth>;
  releaseStatus(origin: string, token: AdminToken): Promise<ReleaseStatus>;
  /** `/admin/releases` of one channel, newest first. @throws AdminRefused, HttpFailure */
  releases(origin: string, token: AdminToken, channel: Channel): Promise<readonly ReleaseRow[]>;
  schedules(origin: string, token: AdminToken): Promise<readonly ReportedSchedule[]>;
  translationStatus(origin: string, token: AdminToken): Promise<TranslationStatus>;
  /** How a task stands. @throws AdminRefused, HttpFailure */
  task(origin: string, token: AdminToken, taskId: string): Promise<TaskState>;
  /**
   * Posts one control action, once.
   *
   * @param call.key calls with an equal key start one task within a day and return its state; `null` for an action that
   *   may be repeated
   * @throws AdminRefused, HttpFailure, the signal's reason
   */
  control(
    origin: string,
    token: AdminToken,
    action: ControlAction,
    body: ControlBody,
    call: { readonly key: string | null; readonly signal: AbortSignal },
  ): Promise<Accepted>;
  close(): void;
}

/** The paths of a server that the operator calls. The table of all operations costs 3 MiB; a test compares the two. */
export const SERVER_PATHS = {
  getHealth: '/healthz',
  getReleaseStatus: '/admin/releases/status',
  listReleaseHistory: '/admin/releases',
  listSchedules: '/admin/schedules',
  getLocalizedStatus: '/admin/translation/status',
  getTaskStatus: '/admin/tasks/status',
  postControl: '/admin/control/{action}',
} as const;

const TaskRead = z.object({
  task: TaskStatusReport.schema.shape.task.pick({ status: true, failure_code: true, failure_reason: true }),
});

const HEALTH_MAX_BYTES = 64 * 1024;
const REPORT_MAX_BYTES = 2 * 1024 * 1024;
const CONNECTIONS_PER_POD = 8;

/** Makes a client for all pods. */
export function createServerClient(timeoutMs: number, userAgent: string): ServerClient {
  const client = createHttpClient({ connections: CONNECTIONS_PER_POD, keepAlive: true });

  const send = async (call: Omit<HttpCall, 'timeoutMs'>): Promise<BoundedAnswer> =>
    await client.send({ ...call, timeoutMs, headers: { 'user-agent': userAgent, ...call.headers } });

  const readAdmin = async <T extends z.ZodType>(
    url: string,
    token: AdminToken,
    schema: T,
  ): Promise<z.output<T>> => {
    const answer = await send({ url, token, maxBytes: REPORT_MAX_BYTES });
    if (answer.status !== 200) throw refusalOf(answer);
    return parseAnswer(answer, schema);
  };

  return {
    health: async (origin) => {
      const answer = await send({ url: `${origin}${SERVER_PATHS.getHealth}`, maxBytes: HEALTH_MAX_BYTES });
      if (answer.status !== 200) {
        throw new HttpFailure('answer_invalid', `/healthz answered ${answer.status}`, {
          status: answer.status,
        });
      }
      return parseAnswer(answer, HealthRead);
    },
    releaseStatus: async (origin, token) =>
      await readAdmin(`${origin}${SERVER_PATHS.getReleaseStatus}`, token, ReleaseStatusReport.schema),
    releases: async (origin, token, channel) => {
      const url = `${origin}${SERVER_PATHS.listReleaseHistory}?channel=${channel}`;
      return (await readAdmin(url, token, ReleaseListReport.schema)).releases;
    },
    schedules: async (origin, token) =>
      (await readAdmin(`${origin}${SERVER_PATHS.listSchedules}`, token, ScheduleListReport.schema)).items,
    translationStatus: async (origin, token) =>
      await readAdmin(`${origin}${SERVER_PATHS.getLocalizedStatus}`, token, TranslationStatusRead),
    task: async (origin, token, id) => {
      const url = `${origin}${SERVER_PATHS.getTaskStatus}?task_id=${encodeURIComponent(id)}`;
      const { task } = await readAdmin(url, token, TaskRead);
      const { status, failure_code: code, failure_reason: reason } = task;
      return { id, status, failure: code === null ? null : `${code}: ${reason ?? ''}` };
    },
    control: async (origin, token, action, body, { key, signal }) => {
      const answer = await send({
        url: `${origin}${SERVER_PATHS.postControl.replace('{action}', encodeURIComponent(action))}`,
        method: 'POST',
        token,
        headers: {
          'content-type': JSON_MEDIA_TYPE,
          ...(key === null ? {} : { 'idempotency-key': createHash('sha256').update(key).digest('hex') }),
        },
        body: JSON.stringify(body),
        maxBytes: REPORT_MAX_BYTES,
        signal,
      });
      if (answer.status !== 202) throw refusalOf(answer);
      return parseAnswer(answer, AcceptedAnswer.schema);
    },
    close: () => {
      client.close();
    },
  };
}

function parseAnswer<T extends z.ZodType>(answer: BoundedAnswer, schema: T): z.output<T> {
  const parsed = schema.safeParse(jsonOf(answer));
  if (parsed.success) return parsed.data;
  throw new HttpFailure('answer_invalid', 'the answer does not come from slipway-server of this version', {
    status: answer.status,
    cause: parsed.error,
  });
}

/** @returns `null` for a body that is not JSON, which no schema accepts */
function jsonOf(answer: BoundedAnswer): unknown {
  try {
    return parseJsonAnswer(answer);
  } catch {
    return null;
  }
}

function refusalOf(answer: BoundedAnswer): AdminRefused {
  const problem = ProblemSchema.pick({ code: true, detail: true, daemon: true }).safeParse(jsonOf(answer));
  return new AdminRefused(
    answer.status,
    problem.success ? (problem.data.daemon?.code ?? problem.data.code) : null,
    problem.success ? problem.data.detail : `the server answered ${answer.status}`,
  );
}
