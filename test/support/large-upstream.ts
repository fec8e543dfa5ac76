import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';

const BATCH = 1000;
const PIECE = Buffer.alloc(1024 * 1024, 'film ');

/** A `manifest` upstream of many tiny entries, generated on request. */
export interface LargeUpstream {
  readonly url: string;
  /** Publishes another generation, `scale-<generation>`, in which every hundredth entry is new. */
  readonly publish: (generation: number) => void;
  readonly stop: () => void;
}

/** The bytes of one entry. */
export function largeUpstreamEntry(index: number, generation: number): string {
  return `entry ${index} ${index % 100 === 0 ? generation : 0}\n`;
}

/** The destination of one entry. */
export function largeUpstreamDestination(index: number): string {
  return `dir${index % 997}/entry-${index}.bin`;
}

/** The destination of the one large entry. */
export const LARGE_UPSTREAM_FILM = 'film.bin';

/**
 * Starts the upstream with `count` entries at generation 1, and one entry of `filmMebibytes` beside them unless that is
 * 0.
 */
export async function startLargeUpstream(count: number, filmMebibytes = 0): Promise<LargeUpstream> {
  let generation = 1;
  const film = filmMebibytes === 0 ? null : filmEntry(filmMebibytes);
  const server = createServer((request, response) => {
    const index = /\/entry-(\d+)\.bin$/.exec(request.url ?? '')?.[1];
    if (index !== undefined) {
      response.end(largeUpstreamEntry(Number(index), generation));
    } else if (request.url === `/${LARGE_UPSTREAM_FILM}`) {
      sendFilm(response, filmMebibytes);
    } else if (request.url !== '/release.json') {
      response.writeHead(404).end();
    } else if (request.headers['if-none-match'] === `"${generation}"`) {
      response.writeHead(304, { etag: `"${generation}"` }).end();
    } else {
      response.setHeader('etag', `"${generation}"`);
      sendCatalog(response, film, count, generation);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    publish: (next) => {
      generation = next;
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function filmEntry(mebibytes: number): string {
  let digest = 0;
  for (let piece = 0; piece < mebibytes; piece += 1) digest = crc32(PIECE, digest);
  const size = mebibytes * PIECE.length;
  return JSON.stringify({ destination: LARGE_UPSTREAM_FILM, size, digests: { crc32: String(digest) } });
}

function sendFilm(response: ServerResponse, mebibytes: number): void {
  response.setHeader('content-length', mebibytes * PIECE.length);
  Readable.from(Array.from({ length: mebibytes }, () => PIECE)).pipe(response);
}

function sendCatalog(response: ServerResponse, film: string | null, count: number, generation: number): void {
  response.write(`{"release_id":"scale-${generation}","entries":[${film === null ? '' : `${film},`}`);
  let next = 0;
  const pump = (): void => {
    while (next < count) {
      const entries: string[] = [];
      for (const end = Math.min(count, next + BATCH); next < end; next += 1) {
        const body = largeUpstreamEntry(next, generation);
        const digests = { crc32: String(crc32(body)) };
        entries.push(
          JSON.stringify({ destination: largeUpstreamDestination(next), size: body.length, digests }),
        );
      }
      if (!response.write(`${entries.join(',')}${next < count ? ',' : ''}`)) {
        response.once('drain', pump);
        return;
      }
    }
    response.end(']}');
  };
  pump();
}
