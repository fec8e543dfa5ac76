import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A request that a server got. */
export interface SeenRequest {
  /** Method and target. */
  readonly line: string;
  readonly authorization: string | undefined;
}

/** Answers a request. @returns whether it did; if not, the server does */
export type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A server on a loopback port. */
export interface SeeingServer {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly seen: SeenRequest[];
}

/** Starts a server that ends with the test and notes what it gets. */
export async function startSeeing(answer: (...args: Parameters<Intercept>) => void): Promise<SeeingServer> {
  const seen: SeenRequest[] = [];
  const server: Server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    seen.push({ line: `${method} ${url}`, authorization: headers.authorization });
    response.on('error', () => undefined); // the client may be gone
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** A registry of one bundle. */
export interface FakeRegistry extends SeeingServer {
  /** Decides about each request before the registry does. */
  intercept: Intercept;
  /** Replaces the bundle under every tag. */
  push(bundle: string): Promise<void>;
}

/**
 * Starts a registry that gives one bundle under every tag of every repository, and answers ranges. It follows the OCI distribution
 * specification as far as a pull needs it, so that a test can make each answer wrong.
 */
export async function startFakeRegistry(bundle: string): Promise<FakeRegistry> {
  let layout = '';
  let manifest = '';
  const push = async (file: string): Promise<void> => {
    await mkdir(dirname(file), { recursive: true });
    layout = await mkdtemp(join(dirname(file), 'registry-'));
    execFileSync('tar', ['-xf', file, '-C', layout]);
    const index = JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as {
      readonly manifests: readonly [{ readonly digest: string }];
    };
    manifest = index.manifests[0].digest;
  };
  await push(bundle);

  const send = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, kind, name = ''] = /\/(manifests|blobs)\/([^/]+)$/.exec(request.url ?? '') ?? [];
    const digest = kind === 'manifests' && !name.includes(':') ? manifest : name;
    const bytes = await readFile(join(layout, 'blobs', digest.replace(':', '/'))).catch(() => null);
    if (kind === undefined || bytes === null) {
      response.writeHead(404).end();
      return;
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const part = range === null ? bytes : bytes.subarray(Number(range[1]), Number(range[2]) + 1);
    response.writeHead(range === null ? 200 : 206, {
      'content-length': part.length,
      'docker-content-digest': digest,
      ...(range === null ? {} : { 'content-range': `bytes ${range[1]}-${range[2]}/${bytes.length}` }),
    });
    response.end(request.method === 'HEAD' ? undefined : part);
  };
  const registry: FakeRegistry = {
    ...(await startSeeing((request, response) => {
      if (!registry.intercept(request, response)) void send(request, response);
    })),
    intercept: () => false,
    push,
  };
  return registry;
}
