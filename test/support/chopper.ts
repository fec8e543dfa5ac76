import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { AtEnd } from './shared-fixture.ts';

/** How a connection is cut. */
export type CutKind = 'end' | 'reset' | 'silence';

/** Where one connection is cut. */
export interface Cut {
  /** After this many bytes of answers. */
  readonly afterBytes: number;
  /** By FIN, by RST, or by silence: nothing more arrives until the other side gives up. */
  readonly kind: CutKind;
}

/** A TCP proxy that cuts connections where a test says. */
export interface Chopper {
  readonly port: number;
  /** Cuts made so far. */
  readonly cuts: number;
  /**
   * Plans cuts for the answers on the next connections, one each; later connections are not cut. When a connection ends
   * before its cut, the cut moves to a later one.
   */
  plan(cuts: readonly Cut[]): void;
  /** Called for every cut from now on. */
  onCut: (cut: Cut) => void;
}

/** Starts a chopper in front of a port of this machine. */
export async function startChopper(targetPort: number, atEnd: AtEnd): Promise<Chopper> {
  const sockets = new Set<Socket>();
  let planned: Cut[] = [];
  let cuts = 0;
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    // When one side breaks, its close ends the other.
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((client) => {
    let cut: Cut | null = null;
    let left = Number.POSITIVE_INFINITY;
    const origin = connect({ host: '127.0.0.1', port: targetPort });
    track(client);
    track(origin);
    client.setNoDelay(true);
    client.on('data', (chunk) => {
      if (cut === null) {
        cut = planned.shift() ?? null;
        left = cut?.afterBytes ?? left;
      }
      if (!origin.write(chunk)) client.pause();
    });
    origin.on('drain', () => client.resume());
    client.on('close', () => {
      origin.destroy();
      if (cut !== null && left > 0) planned.unshift(cut);
    });
    client.on('end', () => origin.end());
    origin.on('end', () => client.end());
    origin.on('close', () => client.destroySoon());
    origin.on('data', (chunk: Buffer) => {
      if (left === -1) return;
      const passed = chunk.subarray(0, Math.min(chunk.length, left));
      left -= passed.length;
      if (!client.write(passed)) {
        origin.pause();
        client.once('drain', () => origin.resume());
      }
      if (left > 0 || cut === null) return;
      left = -1;
      cuts += 1;
      origin.removeAllListeners('close');
      origin.removeAllListeners('end');
      origin.destroy();
      // The bytes that were passed on arrive, whatever follows them.
      const made = cut;
      client.write('', () => {
        if (made.kind === 'end') client.end();
        if (made.kind === 'reset') client.resetAndDestroy();
        chopper.onCut(made);
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  const chopper: Chopper = {
    port: (server.address() as AddressInfo).port,
    get cuts() {
      return cuts;
    },
    plan: (next) => {
      planned = [...next];
    },
    onCut: () => undefined,
  };
  return chopper;
}
