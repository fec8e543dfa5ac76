import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { closeGently } from './close-gently.ts';
import { clientKey, UNLIMITED_CONNECTIONS, type ConnectionLimits } from './connection-limits.ts';
import { createNetworkMatcher, plainAddress } from './networks.ts';

export interface Connection {
  readonly socket: Socket;
  responses: number;
  isOpen: boolean;
  /** Monotonic milliseconds since when it is idle. Known only once the server retires. */
  idleSince: number;
  /** A request that had its whole answer before its body had arrived completely. */
  answeredEarly: IncomingMessage | null;
  /** The key of its client, if its connections are counted. */
  readonly client: string | null;
  /** Neighbours among the idle connections. */
  older: Connection | null;
  newer: Connection | null;
}

interface ConnectionsOptions {
  readonly limits?: ConnectionLimits;
  /** Whether the program itself opened a connection to check its listener; a few of these have no limit. */
  readonly isCheck?: (socket: Socket) => boolean;
  /**
   * Milliseconds that a connection must be idle before a closing server closes it. A client that reads the end of a
   * response may send its next request within this time.
   */
  readonly quietMs?: number;
}

/** Why a connection was closed for the sake of the limits. */
export type LimitReason = 'idle' | 'full' | 'address';

/** Maximum number of connections without a limit that are open together. */
const MAX_CHECKS = 8;
/** An idle client has nothing to read, so a closing server does not wait long for its end. */
const IDLE_LINGER = { silentMs: 1_000, totalMs: 1_000 } as const;

/** Knows the open connections of a server: which are idle and since when, how many there may be, and how they end. */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #isTrusted: (address: string) => boolean;
  readonly #isCheck: (socket: Socket) => boolean;
  readonly #quietMs: number;
  readonly #open = new Map<Socket, Connection>();
  readonly #perClient = new Map<string, number>();
  #checks = 0;
  #oldest: Connection | null = null;
  #newest: Connection | null = null;
  #retiredAt: number | null = null;
  #closing = false;
  readonly limited: Record<LimitReason, number> = { idle: 0, full: 0, address: 0 };

  constructor({
    limits = UNLIMITED_CONNECTIONS,
    isCheck = () => false,
    quietMs = 0,
  }: ConnectionsOptions = {}) {
    this.#limits = limits;
    this.#isTrusted = createNetworkMatcher(limits.trustedProxies);
    this.#isCheck = isCheck;
    this.#quietMs = quietMs;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether every response must say `Connection: close`. */
  get retired(): boolean {
    return this.#retiredAt !== null;
  }

  /**
   * Takes a new connection, which is idle until its first request. At the limit the oldest idle connection is closed.
   *
   * @returns `null` when the limits leave no place; then the socket is closed
   */
  admit(socket: Socket): Connection | null {
    const address = plainAddress(socket.remoteAddress ?? '');
    const isCheck = this.#checks < MAX_CHECKS && this.#isCheck(socket);
    const client = isCheck ? null : this.#countedClient(address);
    const reason = isCheck ? null : this.#makeRoom(client);
    if (reason !== null) {
      this.limited[reason] += 1;
      socket.destroy();
      return null;
    }
    const connection: Connection = {
      socket,
      client,
      responses: 0,
      answeredEarly: null,
      isOpen: true,
      idleSince: this.retired ? performance.now() : 0,
      older: null,
      newer: null,
    };
    this.#open.set(socket, connection);
    if (client !== null) this.#perClient.set(client, (this.#perClient.get(client) ?? 0) + 1);
    if (isCheck) this.#checks += 1;
    else this.#append(connection);
    socket.once('close', () => {
      if (isCheck) this.#checks -= 1;
      this.#forget(connection);
    });
    // After a response that says "close", node:http would close the socket and leave bytes of the client unread.
    socket.destroySoon = () => {
      closeGently(socket);
    };
    return connection;
  }

  of(socket: Socket): Connection | undefined {
    return this.#open.get(socket);
  }

  begin(connection: Connection): void {
    if (connection.responses === 0) this.#remove(connection);
    connection.responses += 1;
  }

  /** Ends a response, when the network has taken all of it or the connection is closed. */
  end(connection: Connection): void {
    connection.responses -= 1;
    if (connection.responses > 0 || !connection.isOpen) return;
    this.#append(connection);
    if (this.#retiredAt === null) return;
    connection.idleSince = performance.now();
    if (this.#closing) this.#closeWhenQuiet(connection);
  }

  retire(): void {
    this.#retiredAt ??= performance.now();
  }

  /** Closes every connection once it has been idle for the quiet time. */
  closeIdle(): void {
    this.retire();
    this.#closing = true;
    for (const connection of this.#open.values()) {
      if (connection.responses === 0) this.#closeWhenQuiet(connection);
    }
  }

  cut(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #countedClient(address: string): string | null {
    return this.#limits.connectionsPerAddress === 0 || this.#isTrusted(address) ? null : clientKey(address);
  }

  /** Makes room for one more connection; returns the reason when it cannot. */
  #makeRoom(client: string | null): LimitReason | null {
    const { connections, connectionsPerAddress } = this.#limits;
    if (client !== null && (this.#perClient.get(client) ?? 0) >= connectionsPerAddress) return 'address';
    if (this.#open.size - this.#checks < connections) return null;
    const oldest = this.#oldest;
    if (oldest === null) return 'full';
    this.limited.idle += 1;
    this.#forget(oldest);
    oldest.socket.destroy();
    return null;
  }

  #closeWhenQuiet(connection: Connection): void {
    const { socket, idleSince } = connection;
    const wait = Math.max(this.#retiredAt ?? 0, idleSince) + this.#quietMs - performance.now();
    // Never in this turn: the next request may have been read already.
    setTimeout(
      () => {
        const isStillIdle = connection.responses === 0 && connection.idleSince === idleSince;
        if (isStillIdle && !socket.writableEnded) closeGently(socket, IDLE_LINGER);
      },
      Math.max(0, wait),
    );
  }

  #forget(connection: Connection): void {
    if (!connection.isOpen) return;
    connection.isOpen = false;
    this.#open.delete(connection.socket);
    if (connection.responses === 0) this.#remove(connection);
    const { client } = connection;
    if (client === null) return;
    const left = (this.#perClient.get(client) ?? 1) - 1;
    if (left === 0) this.#perClient.delete(client);
    else this.#perClient.set(client, left);
  }

  #append(connection: Connection): void {
    connection.older = this.#newest;
    connection.newer = null;
    if (this.#newest === null) this.#oldest = connection;
    else this.#newest.newer = connection;
    this.#newest = connection;
  }

  #remove(connection: Connection): void {
    const { older, newer } = connection;
    if (older !== null) older.newer = newer;
    else if (this.#oldest === connection) this.#oldest = newer;
    if (newer !== null) newer.older = older;
    else if (this.#newest === connection) this.#newest = older;
    connection.older = null;
    connection.newer = null;
  }
}
