import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
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

/** How a registry differs from the simplest one, which gives everything to everybody. */
export interface RegistrySwitches {
  /** What it wants; `basic` and `bearer` are got with the name `reader` and the password `secret`. */
  readonly access?: 'anonymous' | 'basic' | 'bearer';
  /** Whether `/v2/` says what it wants, as the specification asks. */
  readonly tellsAtV2?: boolean;
  /** Whether it names a token service although it takes a password alone. */
  readonly namesTokenService?: boolean;
  /** How it answers requests for the repository that lack it; a 401 says what it wants. */
  readonly refusal?: 401 | 403 | 404;
  /** How it answers a password where it wants a token. */
  readonly passwordRefusal?: 401 | 403;
  /** For how many requests a token is good. */
  readonly tokenUses?: number;
  readonly head?: 'answers' | 'is refused';
  readonly ranges?: 'honoured' | 'ignored' | 'elsewhere' | 'shorter' | 'refused' | 'not implemented';
  /** What its tags lead to. */
  readonly tags?: 'a manifest' | 'an index of one' | 'an index of two' | 'a Docker image' | 'an image';
}

/** A registry of one bundle. */
export interface FakeRegistry extends SeeingServer {
  /** Decides about each request before the registry does. */
  intercept: Intercept;
  switches: RegistrySwitches;
  /** Bytes of bodies that were sent, without those of refusals. */
  sentBytes(): number;
  /** Replaces the bundle under every tag. */
  push(bundle: string): Promise<void>;
}

/**
 * Starts a registry that gives one bundle under every tag of every repository. It follows the OCI distribution specification as far
 * as a pull needs it, so that a test can make each answer wrong; its switches make it one of those that exist.
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

  let sentBytes = 0;
  const blobOf = async (digest: string): Promise<Buffer | null> =>
    await readFile(join(layout, 'blobs', digest.replace(':', '/'))).catch(() => null);

  const documentAt = async (path: string): Promise<FakeDocument | null> => {
    const [, kind, name = ''] = /\/(manifests|blobs)\/([^/]+)$/.exec(path) ?? [];
    if (kind === undefined) return null;
    const isTag = kind === 'manifests' && !name.includes(':');
    const tagged = isTag ? taggedBy(registry.switches.tags, manifest) : null;
    if (tagged !== null) return tagged;
    const digest = isTag ? manifest : name;
    const bytes = await blobOf(digest);
    return bytes === null ? null : { bytes, digest };
  };

  const send = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { switches } = registry;
    const { url = '', method } = request;
    if (method === 'HEAD' && switches.head === 'is refused') return refuse(response, 405, 'UNSUPPORTED');
    const found = await documentAt(url);
    if (found === null) return refuse(response, 404, 'MANIFEST_UNKNOWN');
    const { bytes, digest, type } = found;
    const range = url.includes('/blobs/') ? rangeOf(request, switches, bytes.length) : null;
    if (range === 'refused') {
      const status = switches.ranges === 'refused' ? 416 : 501;
      response.writeHead(status, { 'content-range': `bytes */${bytes.length}` }).end();
      return;
    }
    const part = range === null ? bytes : bytes.subarray(range.start, range.end);
    response.writeHead(range === null ? 200 : 206, {
      'content-length': part.length,
      'docker-content-digest': digest,
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(range === null ? {} : { 'content-range': `bytes ${range.start}-${range.end - 1}/${bytes.length}` }),
    });
    if (method === 'HEAD') response.end();
    else sentBytes += await sendCounted(response, part);
  };
  const admit = createGate(() => registry);
  const registry: FakeRegistry = {
    ...(await startSeeing((request, response) => {
      if (!registry.intercept(request, response) && !admit(request, response)) void send(request, response);
    })),
    intercept: () => false,
    switches: {},
    sentBytes: () => sentBytes,
    push,
  };
  return registry;
}

interface FakeDocument {
  readonly bytes: Buffer;
  readonly digest: string;
  readonly type?: string;
}

/** Sends a body in pieces. @returns the bytes that were written before the client went away */
async function sendCounted(response: ServerResponse, bytes: Buffer): Promise<number> {
  let sent = 0;
  for (let at = 0; at < bytes.length && !response.destroyed; at += PIECE_BYTES) {
    const piece = bytes.subarray(at, at + PIECE_BYTES);
    sent += piece.length;
    // In one piece where it fits, so that a test can break an answer off.
    if (at + PIECE_BYTES >= bytes.length) break;
    if (!response.write(piece)) await drained(response);
  }
  const last = Math.floor(Math.max(0, bytes.length - 1) / PIECE_BYTES) * PIECE_BYTES;
  if (!response.destroyed) response.end(bytes.subarray(last));
  return sent;
}

/** Waits until more can be written, or the client is gone. */
async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      response.off('drain', end).off('close', end);
      resolve();
    };
    response.on('drain', end).on('close', end);
  });
}

const PIECE_BYTES = 64 * 1024;

function refuse(response: ServerResponse, status: number, code: string, headers: object = {}): void {
  const errors = [{ code, message: `the registry has a reason for ${status}` }];
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ errors }));
}

const PASSWORD = `Basic ${Buffer.from('reader:secret').toString('base64')}`;

/** Makes what lets requests pass. @returns whether a request was answered with a refusal or a token */
function createGate(registryOf: () => FakeRegistry): Intercept {
  let given = 0;
  let left = 0;
  const giveToken = (response: ServerResponse, uses: number): void => {
    given += 1;
    left = uses;
    response.end(JSON.stringify({ token: `token-${given}` }));
  };
  const takeToken = (authorization: string | undefined): boolean => {
    if (authorization !== `Bearer token-${given}` || left <= 0) return false;
    left -= 1;
    return true;
  };
  return (request, response) => {
    const { switches, url } = registryOf();
    const { access = 'anonymous' } = switches;
    const { authorization } = request.headers;
    if (request.url?.startsWith('/token') === true) {
      if (authorization === PASSWORD) giveToken(response, switches.tokenUses ?? Infinity);
      else refuse(response, 401, 'UNAUTHORIZED');
      return true;
    }
    const challenge = {
      'www-authenticate':
        access === 'basic' && switches.namesTokenService !== true
          ? 'Basic realm="r"'
          : `Bearer realm="${url}/token",service="x",scope="any"`,
    };
    if (request.url === '/v2/') {
      if (access === 'anonymous') response.end('{}');
      else if (switches.tellsAtV2 === false) refuse(response, 404, 'NOT_FOUND');
      else refuse(response, 401, 'UNAUTHORIZED', challenge);
      return true;
    }
    if (access === 'anonymous') return false;
    if (access === 'basic' ? authorization === PASSWORD : takeToken(authorization)) return false;
    const status = refusalOf(switches, authorization);
    refuse(response, status, CODES[status], status === 401 ? challenge : {});
    return true;
  };
}

const CODES = { 401: 'UNAUTHORIZED', 403: 'DENIED', 404: 'NAME_UNKNOWN' } as const;

function refusalOf(
  { access, refusal = 401, passwordRefusal }: RegistrySwitches,
  authorization: string | undefined,
): 401 | 403 | 404 {
  return access === 'bearer' && authorization?.startsWith('Basic') === true
    ? (passwordRefusal ?? refusal)
    : refusal;
}

function rangeOf(
  request: IncomingMessage,
  { ranges = 'honoured' }: RegistrySwitches,
  size: number,
): { readonly start: number; readonly end: number } | 'refused' | null {
  const match = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
  if (match === null || ranges === 'ignored') return null;
  if (ranges === 'refused' || ranges === 'not implemented') return 'refused';
  const shift = ranges === 'elsewhere' ? 1 : 0;
  const less = ranges === 'shorter' ? 1 : 0;
  return { start: Number(match[1]) + shift, end: Math.min(size, Number(match[2]) + 1 + shift) - less };
}

const OCI_MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const OCI_INDEX = 'application/vnd.oci.image.index.v1+json';
const DOCKER_IMAGE = 'application/vnd.docker.distribution.manifest.v2+json';

/** The document that a tag leads to in place of the manifest of the bundle. */
function taggedBy(tags: RegistrySwitches['tags'], manifest: string): FakeDocument | null {
  if (tags === undefined || tags === 'a manifest') return null;
  const one = { mediaType: OCI_MANIFEST, digest: manifest, size: 1 };
  const config = { mediaType: 'application/vnd.oci.image.config.v1+json', digest: manifest, size: 1 };
  const [type, members] = {
    'an index of one': [OCI_INDEX, { manifests: [one] }] as const,
    'an index of two': [OCI_INDEX, { manifests: [one, one] }] as const,
    'a Docker image': [DOCKER_IMAGE, { config, layers: [] }] as const,
    'an image': [OCI_MANIFEST, { config, layers: [] }] as const,
  }[tags];
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: type, ...members }));
  return { bytes, digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, type };
}
