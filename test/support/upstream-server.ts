import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { faultOf, sendFaulty, type UpstreamFault } from './upstream-faults.ts';

/** One request as it arrived. */
export interface RecordedRequest {
  readonly method: string;
  /** Decoded, without the leading slash. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Status of the answer; 0 before it is sent. */
  status: number;
}

/** A running upstream. */
export interface UpstreamServer {
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** The files served now. A change takes effect immediately. */
  readonly files: Map<string, Buffer>;
  /** Beginnings of paths that answer 403. */
  readonly closed: Set<string>;
  /** Queues faults for a path, behind those it already has. */
  addFaults(path: string, ...faults: readonly UpstreamFault[]): void;
  /** Requests of a path, optionally of one method. */
  requestsOf(path: string, method?: string): RecordedRequest[];
  close(): Promise<void>;
  /** Listens at the same address again, after {@link close}. */
  reopen(): Promise<void>;
}

/** Content and options of an upstream. */
export interface UpstreamServerOptions {
  /** By path without the leading slash, decoded. */
  readonly files?: ReadonlyMap<string, Buffer>;
  /** Faults by path. Each answers one request (or `times`), in order; then the path is healthy. */
  readonly faults?: Readonly<Record<string, readonly UpstreamFault[]>>;
  /** `strong` (default) or `none`. */
  readonly validators?: 'strong' | 'none';
}

/** The strong entity tag with which the server serves these bytes. */
export function entityTagOf(bytes: Uint8Array): string {
  return `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
}

/** Starts a real HTTP server on a free loopback port with `ETag`, `If-None-Match`, `Range`, `If-Range` and faults. */
export async function startUpstreamServer(options: UpstreamServerOptions = {}): Promise<UpstreamServer> {
  const files = new Map(options.files);
  const faults = new Map(Object.entries(options.faults ?? {}).map(([path, list]) => [path, [...list]]));
  const closed = new Set<string>();
  const requests: RecordedRequest[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '/').replace(/\?.*$/, '').slice(1));
    const record = { method: request.method ?? '', path, headers: request.headers, status: 0 };
    requests.push(record);
    response.on('error', () => undefined); // the client may be gone
    const writeHead = response.writeHead.bind(response);
    response.writeHead = (status: number, ...rest: [never]) => {
      record.status = status;
      return writeHead(status, ...rest);
    };
    const fault = faultOf(faults.get(path), record.method);
    if (fault?.kind === 'replace') files.set(path, fault.bytes);
    const bytes = files.get(path);
    if (fault?.kind === 'status') {
      const retryAfter = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter };
      response.writeHead(fault.status, { 'content-length': 0, ...retryAfter }).end();
    } else if (fault?.kind === 'redirect') {
      response.writeHead(fault.status ?? 302, { location: fault.location, 'content-length': 0 }).end();
    } else if ([...closed].some((beginning) => path.startsWith(beginning))) {
      response.writeHead(403, { 'content-length': 0 }).end();
    } else if (bytes === undefined) {
      response.writeHead(404, { 'content-length': 0 }).end();
    } else {
      answer(request, response, bytes, { fault, validators: options.validators ?? 'strong' });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    files,
    closed,
    addFaults(path, ...added) {
      faults.set(path, [...(faults.get(path) ?? []), ...added]);
    },
    requestsOf: (path, method) =>
      requests.filter(
        (request) => request.path === path && (method === undefined || request.method === method),
      ),
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
    async reopen() {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, '127.0.0.1', resolve);
      });
    },
  };
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Buffer,
  context: { readonly fault: UpstreamFault | null; readonly validators: 'strong' | 'none' },
): void {
  const { fault, validators } = context;
  const headers: Record<string, string | number> = {
    'accept-ranges': 'bytes',
    'content-type': 'application/octet-stream',
  };
  const etag = entityTagOf(bytes);
  if (validators === 'strong') headers['etag'] = etag;
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  const range = /^bytes=([0-9]+)-$/.exec(request.headers.range ?? '');
  const rangeStands =
    range !== null &&
    [undefined, etag].includes(request.headers['if-range'] as string | undefined) &&
    fault?.kind !== 'ignore-range';
  const start = rangeStands ? Number(range[1]) : 0;
  if (rangeStands && start >= bytes.length) {
    response.writeHead(416, { 'content-range': `bytes */${bytes.length}`, 'content-length': 0 }).end();
    return;
  }
  const shift = fault?.kind === 'wrong-range' ? fault.shift : 0;
  const body = bytes.subarray(start + shift);
  headers['content-length'] = body.length;
  if (rangeStands) {
    headers['content-range'] = `bytes ${start + shift}-${bytes.length - 1}/${bytes.length}`;
  }
  if (fault !== null) changeHead(headers, fault);
  response.writeHead(rangeStands ? 206 : 200, headers);
  if (request.method === 'HEAD') response.end();
  else if (fault === null) response.end(body);
  else sendFaulty(response, body, fault);
}

/** Changes the head of an answer as the fault requires. */
function changeHead(headers: Record<string, string | number>, fault: UpstreamFault): void {
  if (fault.kind === 'content-encoding') headers['content-encoding'] = fault.value;
  if (fault.kind === 'oversize') {
    headers['content-length'] = Number(headers['content-length']) + fault.extraBytes;
  }
  if (fault.kind === 'unsized' || fault.kind === 'endless') delete headers['content-length'];
}
