import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import type { ReportName } from '../../src/contract/reports/reports.ts';
import {
  type ApiSurface,
  type DaemonApiOptions,
  byName,
  createDaemonApi,
} from '../../src/daemon/api/api-server.ts';

import { defineReport, type DefinedReport } from '../../src/engine/define-report.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import type { Listening } from '../../src/platform/http/listen.ts';
import { createSecretMask } from '../../src/platform/logging/secret-mask.ts';
import { createSilentLogger } from '../../src/platform/logging/logging.ts';

/** An answer with its raw bytes. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body parsed as JSON. */
  json(): Record<string, unknown>;
}

/** The optional parts of a request. */
export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A listening daemon API, and a function that sends requests to it. */
export interface TestApi {
  readonly listening: Listening;
  ask(path: string, request?: RawRequest): Promise<RawAnswer>;
  close(): Promise<void>;
}

/** Reports that return the answers of a test, whatever the contract expects of their bodies. */
export function stubReports(
  handlers: Partial<Record<ReportName, (query: unknown) => unknown>>,
): ReadonlyMap<string, DefinedReport> {
  const names = Object.keys(handlers) as ReportName[];
  return byName(names.map((name) => defineReport(name, handlers[name] as never)));
}

/** Starts an API on a free port. Parts that are not given answer nothing. */
export async function startTestApi(
  overrides: Partial<Omit<DaemonApiOptions, 'surface'> & ApiSurface> = {},
): Promise<TestApi> {
  let ids = 0;
  const surface: ApiSurface = {
    reports: new Map(),
    actions: new Map(),
    reportDamage: () => ({ accepted: 0, ignored: 0 }),
    attestation: { current: () => null, waitForChange: async () => undefined },
    conditions: { current: () => ({ conditions: [], tag: 'none' }), waitForChange: () => Promise.resolve() },
    ...overrides,
  };
  const api = createDaemonApi({
    surface: () => surface,
    readiness: () => ({ ready: true, message: 'ready' }),
    clock: systemClock,
    logger: createSilentLogger(),
    version: '0.0.0-test',
    bootId: 'boot-test',
    createId: () => `request-${(ids += 1)}`,
    createSpanId: () => '00f067aa0ba902b8',
    tokenFile: () => null,
    allowedHosts: () => [],
    nameFolders: () => (body) => body,
    secrets: createSecretMask(),
    ...overrides,
  });
  const listening = await api.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await api.close(AbortSignal.abort());
  });
  return {
    listening,
    ask: async (path, request = {}) => await ask(listening.port ?? 0, path, request),
    close: async () => await api.close(),
  };
}

async function ask(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: RawRequest,
): Promise<RawAnswer> {
  return await new Promise<RawAnswer>((resolve, reject) => {
    // `path` is sent as it is: no client normalizes it.
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method, headers, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const bytes = Buffer.concat(chunks);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: bytes,
            json: () => JSON.parse(bytes.toString('utf8')) as Record<string, unknown>,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
