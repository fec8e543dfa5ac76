/** A Node server to compare with. Arguments: its kind, and the directory that it serves. Prints its port. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import express from 'express';
import sirv from 'sirv';
import type { NodePeerKind } from './node-peer.ts';

const YEAR_SECONDS = 31_536_000;

const KINDS: Readonly<Record<NodePeerKind, (directory: string) => RequestListener>> = {
  'express.static': (directory) =>
    express().use(express.static(directory, { immutable: true, maxAge: '1y' })) as RequestListener,
  sirv: (directory) => sirv(directory, { etag: true, immutable: true, maxAge: YEAR_SECONDS }),
  'node:http': serveFromMemory,
};

/** The best that node:http itself can do: every file in memory, every field prepared. */
function serveFromMemory(directory: string): RequestListener {
  const files = new Map<
    string,
    { readonly bytes: Buffer; readonly etag: string; readonly modified: string }
  >();
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const path = join(directory, name);
    if (!statSync(path).isFile()) continue;
    const bytes = readFileSync(path);
    const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
    files.set(`/${name}`, { bytes, etag, modified: statSync(path).mtime.toUTCString() });
  }
  return (request: IncomingMessage, response: ServerResponse) => {
    const file = files.get(request.url ?? '');
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { bytes, etag, modified } = file;
    const fields = {
      'Content-Type': 'application/octet-stream',
      'Accept-Ranges': 'bytes',
      ETag: etag,
      'Last-Modified': modified,
      'Cache-Control': `public, max-age=${YEAR_SECONDS}, immutable`,
    };
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304, fields).end();
      return;
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const start = Number(range?.[1] ?? 0);
    const end = Number(range?.[2] ?? bytes.length - 1) + 1;
    response
      .writeHead(range === null ? 200 : 206, {
        ...fields,
        'Content-Length': end - start,
        ...(range === null ? {} : { 'Content-Range': `bytes ${start}-${end - 1}/${bytes.length}` }),
      })
      .end(request.method === 'HEAD' ? undefined : bytes.subarray(start, end));
  };
}

const [kind = '', input = ''] = process.argv.slice(2);
const make = KINDS[kind as NodePeerKind];
const server = createServer({ keepAliveTimeout: 65_000 }, make(input));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log((server.address() as AddressInfo).port);
