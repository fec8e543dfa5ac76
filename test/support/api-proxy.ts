import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request as requestSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { KubeApi } from './kube-control-plane.ts';
import type { AtEnd } from './shared-fixture.ts';

/** A request that passes through. */
export interface PassingRequest {
  readonly method: string;
  readonly path: string;
  readonly isWatch: boolean;
  readonly token: string;
  readonly query: URLSearchParams;
}

/** An answer in place of that of the API server. */
export interface ProxyFault {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

/** A proxy between an operator and an API server that injects the faults of a test. */
export interface ApiProxy {
  /** Plain HTTP. */
  readonly url: string;
  /** Requests that were passed on or answered here, in order. */
  readonly passed: PassingRequest[];
  /** Gives the fault for a request, or `null` to pass it on. */
  setFault(fault: ((request: PassingRequest) => ProxyFault | null) | null): void;
  /** Ends every open watch, as a load balancer does. */
  cutWatches(): void;
  /** Stops delivering on the open watches, and keeps them open. */
  freezeWatches(): void;
  /** Watches that are open now. */
  readonly openWatches: number;
}

/** Starts a proxy. By default it ends with the running test. */
export async function startApiProxy(
  plane: Pick<KubeApi, 'url' | 'ca'>,
  atEnd: AtEnd = onTestFinished,
): Promise<ApiProxy> {
  const agent = new Agent({ ca: plane.ca, keepAlive: true });
  const passed: PassingRequest[] = [];
  const watches = new Map<ServerResponse, { frozen: boolean }>();
  let faultFor: Parameters<ApiProxy['setFault']>[0] = null;

  const forward = (request: IncomingMessage, response: ServerResponse, isWatch: boolean): void => {
    const { host: _host, connection: _connection, ...headers } = request.headers;
    const upstream = requestSecure(
      `${plane.url}${request.url ?? ''}`,
      { method: request.method ?? 'GET', headers, agent },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        if (!isWatch) {
          answer.pipe(response);
          return;
        }
        const watch = { frozen: false };
        watches.set(response, watch);
        answer.on('data', (chunk: Buffer) => {
          if (!watch.frozen) response.write(chunk);
        });
        answer.once('end', () => {
          if (!watch.frozen) response.end();
        });
        answer.once('error', () => response.destroy());
      },
    );
    upstream.once('error', () => response.destroy());
    response.once('close', () => {
      watches.delete(response);
      upstream.destroy();
    });
    request.pipe(upstream);
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://proxy');
    const seen: PassingRequest = {
      method: request.method ?? '',
      path: url.pathname,
      isWatch: url.searchParams.get('watch') === 'true',
      token: request.headers.authorization?.replace('Bearer ', '') ?? '',
      query: url.searchParams,
    };
    passed.push(seen);
    const fault = faultFor?.(seen) ?? null;
    if (fault === null) {
      forward(request, response, seen.isWatch);
      return;
    }
    request.resume();
    response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
    response.end(`${JSON.stringify(fault.body)}\n`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    setFault: (fault) => {
      faultFor = fault;
    },
    cutWatches: () => {
      for (const response of watches.keys()) response.destroy();
    },
    freezeWatches: () => {
      for (const watch of watches.values()) watch.frozen = true;
    },
    get openWatches() {
      return watches.size;
    },
  };
}

/** A Status object, as in a refusal of the API server. */
export function statusObject(code: number, reason: string): object {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: `${reason} for the test`,
    reason,
    code,
  };
}
