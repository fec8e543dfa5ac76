import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { requestHead } from './load.ts';

/** Connections opened concurrently. More would wait in the queue of the listener. */
const BATCH = 100;
/** Descriptors that this process and the server need for other purposes. */
const SPARE_DESCRIPTORS = 1_000;
/**
 * The server may close idle connections after about a minute, and stalled ones after some minutes. Before that they are
 * reopened.
 */
const MAX_AGE_MS = 45_000;

/** Connections that are open and idle. */
export interface HeldConnections {
  readonly count: number;
  /** @throws Error when the server has closed any of them */
  check(): void;
  close(): Promise<void>;
}

/** The wanted number of connections, or fewer if the limit of open files requires it. */
export function holdableConnections(wanted: number): number {
  const hard = /Max open files\s+\S+\s+(\S+)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? '0';
  const most = hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard) - SPARE_DESCRIPTORS;
  if (!(most >= 1)) throw new Error(`only ${hard} open files are allowed (ulimit -Hn)`);
  return Math.min(wanted, most);
}

/** Opens connections that have received one answer and send nothing more. */
export async function holdIdle(url: string, count: number): Promise<HeldConnections> {
  return await hold(
    count,
    async (socket) => {
      socket.write(requestHead('HEAD', url));
      let head = '';
      while (!head.includes('\r\n\r\n')) {
        const [chunk] = (await once(socket, 'data')) as [Buffer];
        head += chunk.toString('latin1');
      }
      expectOk(head);
      socket.resume();
    },
    url,
  );
}

/** Opens downloads whose clients read the beginning of the body and then stop reading. */
export async function holdStalled(url: string, count: number): Promise<HeldConnections> {
  return await hold(
    count,
    async (socket) => {
      socket.write(requestHead('GET', url));
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      socket.pause();
      expectOk(chunk.toString('latin1', 0, 64));
    },
    url,
  );
}

/** Sends half a request head on some connections. Resolves with the seconds until the server closed each of them. */
export async function sendHalfHeads(url: string, count: number): Promise<readonly number[]> {
  const half = requestHead('GET', url).slice(0, -4);
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = await open(url);
      socket.on('error', () => {
        // A reset also counts as closed.
      });
      const startedAt = performance.now();
      const closed = once(socket, 'close');
      socket.write(half);
      socket.resume();
      await closed;
      return (performance.now() - startedAt) / 1000;
    }),
  );
}

/** Keeps connections open: reopens them before they are so old that the server may close them. */
export async function keepHeld(
  openAll: () => Promise<HeldConnections>,
): Promise<{ fresh(): Promise<HeldConnections>; close(): Promise<void> }> {
  let held = await openAll();
  let openedAt = performance.now();
  return {
    fresh: async () => {
      if (performance.now() - openedAt > MAX_AGE_MS) {
        await held.close();
        held = await openAll();
        openedAt = performance.now();
      }
      return held;
    },
    close: async () => {
      await held.close();
    },
  };
}

async function hold(
  count: number,
  begin: (socket: Socket) => Promise<void>,
  url: string,
): Promise<HeldConnections> {
  const sockets: Socket[] = [];
  let isClosing = false;
  let ended = 0;
  const openOne = async (): Promise<void> => {
    const socket = await open(url);
    sockets.push(socket);
    socket.on('error', () => {
      // Handled at its close.
    });
    socket.on('close', () => {
      if (!isClosing) ended += 1;
    });
    await begin(socket);
  };
  while (sockets.length < count) {
    await Promise.all(Array.from({ length: Math.min(BATCH, count - sockets.length) }, openOne));
  }
  return {
    count,
    check: () => {
      if (ended > 0) throw new Error(`the server ended ${ended} of ${count} connections that were to stay`);
    },
    close: async () => {
      isClosing = true;
      await Promise.all(
        sockets.map(async (socket) => {
          if (socket.closed) return;
          const closed = once(socket, 'close');
          socket.resetAndDestroy();
          await closed;
        }),
      );
    },
  };
}

async function open(url: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), noDelay: true });
  await once(socket, 'connect');
  return socket;
}

function expectOk(head: string): void {
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`a connection to be held was answered ${head}`);
}
