import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** An address that stays while the server behind it is started again, and that can be cut off. */
export class Front {
  /** The port of the server, or its Unix socket; `null` while none runs. */
  target: number | string | null = null;
  #isCut = false;
  readonly #sockets = new Set<Socket>();
  readonly #listener = createServer((client) => {
    this.#pass(client);
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.address() as AddressInfo).port}`;
  }

  /** @param socketPath the Unix socket to listen at; without it, a free port */
  async open(socketPath?: string): Promise<void> {
    if (socketPath === undefined) this.#listener.listen(0, '127.0.0.1');
    else this.#listener.listen(socketPath);
    await once(this.#listener, 'listening');
  }

  /** Cuts the network: every connection breaks, and none is made until {@link connect}. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  connect(): void {
    this.#isCut = false;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  async close(): Promise<void> {
    this.cut();
    this.#listener.close();
    await once(this.#listener, 'close');
  }

  #pass(client: Socket): void {
    if (this.target === null || this.#isCut) {
      client.destroy();
      return;
    }
    const { target } = this;
    const server = typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
