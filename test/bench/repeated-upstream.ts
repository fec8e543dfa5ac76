import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { blake3Hex } from '../../src/platform/hashing/blake3.ts';

/** The destination of a small entry beside the others, and its size, bytes. */
export const REPEATED_PROBE = 'probe.bin';
export const REPEATED_PROBE_BYTES = 1024;

/** Entries written to the catalog as one piece. */
const BATCH = 1000;
/** Every how many objects a generation changes one. */
const CHANGED_EACH = 100;

/** A `manifest` upstream in which many entries share few objects. */
export interface RepeatedUpstream {
  readonly url: string;
  /** The bytes of the objects that a generation brings; for the first one, of all. */
  bytes(generation: number): number;
  /** Publishes a generation in which a hundredth of the objects is new. */
  publish(generation: number): void;
  stop(): void;
}

export interface RepeatedUpstreamOptions {
  readonly entries: number;
  readonly objects: number;
  /** The mean size of an object, bytes. */
  readonly meanBytes: number;
}

interface OfferedObject {
  readonly size: number;
  readonly generation: number;
  readonly blake3: string;
}

/** Starts the upstream at generation 1. */
export async function startRepeatedUpstream({
  entries,
  objects,
  meanBytes,
}: RepeatedUpstreamOptions): Promise<RepeatedUpstream> {
  // Each object is a part of this block behind its own number.
  const block = createRandom(4711).bytes(2 * meanBytes);
  const bodyOf = (id: number, generation: number, size: number): Buffer => {
    const body = Buffer.from(block.subarray(0, size));
    body.write(`${id} ${generation};`, 0, 'latin1');
    return body;
  };
  const offer = (id: number, generation: number): OfferedObject => {
    // From a tenth to nearly twice the mean, in no order.
    const size =
      id === objects
        ? REPEATED_PROBE_BYTES
        : Math.floor(meanBytes * (0.1 + (1.8 * ((id * 7919) % 1000)) / 999));
    return { size, generation, blake3: blake3Hex(bodyOf(id, generation, size)) };
  };
  const isChanged = (id: number): boolean => id < objects && id % CHANGED_EACH === 0;
  let generation = 1;
  let offered = Array.from({ length: objects + 1 }, (_, id) => offer(id, 1));

  const sendCatalog = (response: ServerResponse): void => {
    response.write(
      `{"release_id":"edges-${generation}","entries":[${entryOf(REPEATED_PROBE, offered[objects])}`,
    );
    let next = 0;
    const pump = (): void => {
      while (next < entries) {
        const lines: string[] = [];
        for (const end = Math.min(entries, next + BATCH); next < end; next += 1) {
          lines.push(
            entryOf(
              `Bundles/${String(next).padStart(7, '0')}-${next % objects}.bundle`,
              offered[next % objects],
            ),
          );
        }
        if (!response.write(`,${lines.join(',')}`)) {
          response.once('drain', pump);
          return;
        }
      }
      response.end(']}');
    };
    pump();
  };
  const server = createServer(({ url = '' }, response) => {
    const number = url === `/${REPEATED_PROBE}` ? objects : Number(/-(\d+)\.bundle$/.exec(url)?.[1]);
    const object = offered[number];
    if (url === '/release.json') sendCatalog(response);
    else if (object === undefined) response.writeHead(404).end();
    else response.end(bodyOf(number, object.generation, object.size));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    bytes: (of) => offered.reduce((sum, { size }, id) => (of === 1 || isChanged(id) ? sum + size : sum), 0),
    publish: (next) => {
      generation = next;
      offered = offered.map((object, id) => (isChanged(id) ? offer(id, next) : object));
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function entryOf(destination: string, object: OfferedObject | undefined): string {
  return JSON.stringify({ destination, size: object?.size, digests: { blake3: object?.blake3 } });
}
