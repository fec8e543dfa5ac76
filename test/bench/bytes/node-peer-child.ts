/** A Node server to compare with. Arguments: its kind, and the directory that it serves. Prints its port. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { openSync, read, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import express from 'express';
import sirv from 'sirv';
import { BLOCK_BYTES } from '../../../src/domain/release/blocks.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import type { NodePeerKind } from './node-peer.ts';

const YEAR_SECONDS = 31_536_000;

const KINDS: Readonly<Record<NodePeerKind, (directory: string) => RequestListener>> = {
  'express.static': (directory) =>
    express().use(express.static(directory, { immutable: true, maxAge: '1y' })) as RequestListener,
  sirv: (directory) => sirv(directory, { etag: true, immutable: true, maxAge: YEAR_SECONDS }),
  'node:http': serveFromMemory,
  pread: serveHashedBlocks,
};

/** What is read at once; its blocks are hashed one by one, as by the server. */
const READ_BYTES = 16 * BLOCK_BYTES;
const readBlock = promisify(read);

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

/** The least that a server must do that hashes what it sends: read blocks, hash each, write what is wanted of them. */
function serveHashedBlocks(directory: string): RequestListener {
  const files = new Map<string, { readonly descriptor: number; readonly size: number }>();
  // A new buffer of this size costs more than reading it.
  const free: Buffer[] = [];
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const path = join(directory, name);
    if (statSync(path).isFile())
      files.set(`/${name}`, { descriptor: openSync(path, 'r'), size: statSync(path).size });
  }
  const send = async (
    response: ServerResponse,
    descriptor: number,
    range: { readonly start: number; readonly end: number },
  ): Promise<void> => {
    const last = Math.ceil(range.end / BLOCK_BYTES) * BLOCK_BYTES;
    for (let at = range.start - (range.start % BLOCK_BYTES); at < range.end; at += READ_BYTES) {
      const buffer = free.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES);
      const { bytesRead } = await readBlock(descriptor, buffer, 0, Math.min(READ_BYTES, last - at), at);
      for (let block = 0; block < bytesRead; block += BLOCK_BYTES) {
        blake3Hex(buffer.subarray(block, Math.min(block + BLOCK_BYTES, bytesRead)));
      }
      const wanted = buffer.subarray(Math.max(0, range.start - at), Math.min(bytesRead, range.end - at));
      if (!response.write(wanted, () => free.push(buffer))) await once(response, 'drain');
    }
    response.end();
  };
  return (request: IncomingMessage, response: ServerResponse) => {
    const file = files.get(request.url ?? '');
    if (file === undefined) {
      response.writeHead(404).end();
      return;
    }
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
    const start = Number(range?.[1] ?? 0);
    const end = Number(range?.[2] ?? file.size - 1) + 1;
    response.writeHead(range === null ? 200 : 206, {
      'Content-Length': end - start,
      ...(range === null ? {} : { 'Content-Range': `bytes ${start}-${end - 1}/${file.size}` }),
    });
    if (request.method === 'HEAD') response.end();
    else void send(response, file.descriptor, { start, end }).catch(() => response.destroy());
  };
}

const [kind = '', input = ''] = process.argv.slice(2);
const make = KINDS[kind as NodePeerKind];
const server = createServer({ keepAliveTimeout: 65_000 }, make(input));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log((server.address() as AddressInfo).port);
