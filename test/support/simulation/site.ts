import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../../demo/game/seeded-random.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { Front } from './front.ts';
import { SimulatedDaemon, type DaemonPlace } from './simulated-daemon.ts';
import { SimulatedServer } from './simulated-server.ts';

/** Lines of the logs that are kept for a failure. */
const LOG_LINES = 200;

/** One machine: a clock, a disk with the volume, a data folder, a daemon and a server. */
export class Site {
  readonly folder: string;
  readonly clock: FakeClock;
  readonly daemon: SimulatedDaemon;
  readonly server: SimulatedServer;
  /** Between the server and its daemon. */
  readonly link = new Front();
  /** The newest lines of the logs of both programs. */
  readonly log: string[] = [];

  /**
   * @param keyFiles the private keys of the daemon; the server trusts their public ones
   * @param upstream the setting `upstream` of the daemon
   */
  constructor({
    folder,
    startMs,
    random,
    keyFiles,
    upstream,
    provider = null,
  }: {
    readonly folder: string;
    readonly startMs: number;
    readonly random: Random;
    readonly keyFiles: readonly string[];
    readonly upstream: DaemonPlace['upstream'];
    readonly provider?: DaemonPlace['provider'];
  }) {
    this.folder = folder;
    this.clock = new FakeClock(startMs);
    const log = {
      write: (line: string): void => {
        this.log.push(line);
        if (this.log.length > LOG_LINES) this.log.shift();
      },
    };
    const { clock, volume } = this;
    const { data } = this;
    const socketPath = join(folder, 'api');
    this.link.target = socketPath;
    const shared = { clock, random, volume, log };
    this.daemon = new SimulatedDaemon(
      { ...shared, data, socketPath, upstream, provider, crashFolder: join(folder, 'crash') },
      keyFiles,
    );
    this.server = new SimulatedServer(
      { ...shared, daemonSocket: join(folder, 'link'), daemonToken: join(data, 'api.token') },
      keyFiles.map(publicKeyOf),
    );
    mkdirSync(this.disk, { recursive: true });
  }

  /** The disk that the volume is on; it can have a file system of its own. */
  get disk(): string {
    return join(this.folder, 'disk');
  }

  get volume(): string {
    return join(this.disk, 'volume');
  }

  /** The private folder of the daemon. */
  get data(): string {
    return join(this.folder, 'data');
  }

  /** Opens what is between the programs, which are not started yet. */
  async open(): Promise<void> {
    await this.server.front.open();
    await this.link.open(join(this.folder, 'link'));
  }

  async start(): Promise<void> {
    await this.server.start();
    await this.daemon.start();
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await this.daemon.stop();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.server.front.close();
    await this.link.close();
  }
}

/** The public key file beside a private one. */
export function publicKeyOf(keyFile: string): string {
  return keyFile.replace(/\.key$/, '.pub');
}
