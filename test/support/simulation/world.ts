import { existsSync, mkdirSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom, type Random } from '../../../demo/game/seeded-random.ts';
import { makeKeys } from '../make-keys.ts';
import { writeReleaseTree, type ReleaseFiles } from '../release-tree.ts';
import { Calls } from './calls.ts';
import { LocalizedReleases } from './localized-releases.ts';
import { Provider } from './provider.ts';
import { sourceText, textFile, TEXT_FILES } from './text-files.ts';
import { Translator } from './translator.ts';
import { healDisk, mountDisk, unmountDisk } from './disk-faults.ts';
import { checkSite, isHealed, serves, type Promises } from './promises.ts';
import { inProgress } from './in-progress.ts';
import { publicKeyOf, Site } from './site.ts';
import { settle } from './turn.ts';

/** Milliseconds since 1970 at which every run begins. */
const START_MS = Date.UTC(2026, 0, 15, 12);
/** How long time passes before the system must be quiet, milliseconds. */
const SLICE_MS = 60_000;
/** The longest time that the clock moves at once, milliseconds: a longer one looks like a process that stood still. */
const TICK_MS = 4_500;
/** How much time passes at most until what is in progress has ended, milliseconds. Work that waits for a fault to end goes on. */
const PATIENCE_MS = 30_000;
/** When those daemons are restarted whose store was exchanged, minutes after the end of every fault. */
const RESTART_MINUTE = 5;
/** The shortest time that passes at once, milliseconds. */
const MOVE_MS = 250;
/** How many minutes a system may take to heal once every fault has ended. */
const HEALING_MINUTES = 30;

/** Where a sync takes no time; elsewhere than on Linux, the temporary folder. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

type KeyName = 'first' | 'second' | 'edge';

/** The keys of the origin, one rotation after the other. */
const ROTATION: readonly (readonly KeyName[])[] = [
  ['first'],
  ['first', 'second'],
  ['second'],
  ['second', 'first'],
];

/** An origin and an edge of it, the upstream of the origin, and what is known of all that they were given. */
export class World {
  readonly origin: Site;
  readonly edge: Site;
  /** The calls that the origin has accepted. */
  readonly calls: Calls;
  readonly provider = new Provider();
  readonly translator: Translator;
  /** The files of every release that upstream ever had, by id. */
  readonly releases = new Map<string, ReleaseFiles>();
  /** The release that upstream has. */
  latest = '';
  readonly #folder: string;
  readonly #random: Random;
  readonly #promises: ReadonlyMap<Site, Promises>;
  readonly #localized = new LocalizedReleases(this.releases);
  readonly #exchanged = new Set<Site>();
  #rotations = 0;
  /** What was in progress when time was up: a fault holds it up, and nobody waits for it again until something else is in progress. */
  #heldUp: string | null = null;

  private constructor(folder: string, seed: number) {
    this.#folder = folder;
    this.#random = createRandom(seed);
    const given = { startMs: START_MS, random: this.#random };
    this.origin = new Site({
      ...given,
      folder: join(folder, 'origin'),
      keyFiles: [this.#keyFile('first')],
      upstream: () => ({ kind: 'directory', directory: { path: this.#upstream } }),
      provider: () => this.provider.url,
    });
    const trustedKeys = (['first', 'second'] as const).map((name) => publicKeyOf(this.#keyFile(name)));
    this.edge = new Site({
      ...given,
      folder: join(folder, 'edge'),
      keyFiles: [this.#keyFile('edge')],
      upstream: () => ({ kind: 'slipway', slipway: { url: this.origin.server.front.url, trustedKeys } }),
    });
    this.calls = new Calls(this.origin);
    this.translator = new Translator(this.origin, this.#localized);
    this.#promises = new Map(
      this.sites.map((site) => [site, { newestVersion: 0, isFaultless: true, releases: this.releases }]),
    );
  }

  /** Makes a world in which both sites run and serve a first release. */
  static async open(seed: number): Promise<World> {
    const folder = await realpath(await mkdtemp(join(MEMORY, 'slipway-simulation-')));
    const world = new World(folder, seed);
    for (const name of ['first', 'second', 'edge']) await makeKeys(join(folder, 'keys', name));
    const texts = TEXT_FILES.map(
      (name, at) => [name, textFile([3 * at, 3 * at + 1, 3 * at + 2].map(sourceText))] as const,
    );
    await world.publishUpstream(new Map([['files/0.bin', world.#random.bytes(1000)], ...texts]));
    await world.provider.open();
    for (const site of world.sites) {
      mountDisk(site);
      mkdirSync(site.volume);
      await site.open();
      await site.start();
      await world.quiet();
    }
    return world;
  }

  get sites(): readonly [Site, Site] {
    return [this.origin, this.edge];
  }

  async close(): Promise<void> {
    for (const site of this.sites) {
      await site.close();
      unmountDisk(site);
    }
    await this.provider.close();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  /** Gives upstream its next release. */
  async publishUpstream(files: ReleaseFiles): Promise<void> {
    this.latest = `r${this.releases.size + 1}`;
    this.releases.set(this.latest, files);
    await writeReleaseTree(this.#upstream, { id: this.latest, files });
  }

  /** The origin signs with both keys, then with the new one alone, then with both, and so on. Its server trusts both. */
  async rotateKeys(): Promise<void> {
    this.#rotations += 1;
    const names = ROTATION[this.#rotations % ROTATION.length] ?? [];
    const { daemon, server } = this.origin;
    daemon.useKeys(names.map((name) => this.#keyFile(name)));
    server.useKeys((['first', 'second'] as const).map((name) => publicKeyOf(this.#keyFile(name))));
    await server.stop();
    await daemon.control('reload');
    await server.start();
  }

  /** Sets the wall clock of a site. */
  setClock(site: Site, unixMs: number): void {
    this.calls.forgetTimes();
    site.clock.jumpTo(unixMs);
  }

  /** Says that a file may be missing until the world has healed. */
  expectFaults(): void {
    for (const promises of this.#promises.values()) promises.isFaultless = false;
  }

  /** Checks everything that must hold at any time. @throws Error */
  async check(): Promise<void> {
    for (const [site, promises] of this.#promises) {
      await checkSite(site, promises, this.#random);
      await this.#localized.check(site, this.#random);
    }
    await this.calls.check();
    await this.translator.check();
  }

  /** Ends every fault. @throws Error when some minutes later not everything is served everywhere */
  async heal(): Promise<void> {
    await this.#align();
    this.origin.server.front.connect();
    this.provider.heal();
    for (const site of this.sites) {
      site.link.connect();
      if (healDisk(site)) this.#exchanged.add(site);
      this.setClock(site, START_MS + site.clock.monotonic());
      await site.start();
    }
    await this.quiet();
    await this.calls.post('sync');
    await this.#until('the newest release is not served', async (site) => await serves(site, this.latest));
    // A block that a server has in memory hides damage that nobody has read yet.
    for (const { daemon } of this.sites) await daemon.control('verify');
    let isPublished = false;
    await this.#until('it did not heal', async (site) => {
      if (site === this.origin && !isPublished) {
        const { localized } = (await site.daemon.releaseStatus()) ?? {};
        isPublished = localized?.base_release_id === this.latest;
        // A translator tries again until it is published. Damage of what is published heals by itself.
        if (!isPublished && (await this.translator.translate(0))) await this.translator.publish(true);
      }
      return await isHealed(site, this.latest);
    });
    for (const promises of this.#promises.values()) promises.isFaultless = true;
  }

  /** Does what the log asks for when a daemon has written to the other store meanwhile: "restart the daemon to continue". */
  async #restartExchanged(): Promise<void> {
    for (const { daemon } of this.#exchanged) {
      await daemon.stop();
      await daemon.start();
    }
    this.#exchanged.clear();
  }

  /** Lets time pass until both sites are as they should be. @throws Error with what is wrong with them half an hour later */
  async #until(what: string, wrong: (site: Site) => Promise<string | null>): Promise<void> {
    let all: ReadonlyArray<string | null> = [];
    for (let minute = 0; minute < HEALING_MINUTES; minute += 1) {
      await this.quiet();
      all = await Promise.all(this.sites.map(wrong));
      if (all.every((one) => one === null)) return;
      await this.pass(SLICE_MS);
      if (minute === RESTART_MINUTE) await this.#restartExchanged();
    }
    throw new Error(
      `${what}: ${all.map((one, at) => `${this.sites[at]?.folder ?? ''}: ${String(one)}`).join('; ')}`,
    );
  }

  /** Moves both clocks, in slices after which everything that has become due is done. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= SLICE_MS) {
      for (let rest = Math.min(left, SLICE_MS); rest > 0; rest -= TICK_MS) {
        for (const site of this.sites) await site.clock.skip(Math.min(rest, TICK_MS));
        await settle();
      }
      await this.quiet();
    }
  }

  /**
   * Lets time pass until nothing is in progress, or only what a fault holds up. A daemon that has ended is started again, as a kubelet
   * does; one that ends again rests until the next call.
   */
  async quiet(): Promise<void> {
    await this.#align();
    const end = this.origin.clock.monotonic() + PATIENCE_MS;
    const restarted = new Set<Site>();
    for (;;) {
      await settle();
      for (const site of this.sites) {
        if (!site.daemon.hasEnded || restarted.has(site)) continue;
        restarted.add(site);
        await site.daemon.stop();
        await site.daemon.start();
        await settle();
      }
      const states = await Promise.all(this.sites.map(inProgress));
      const busy = JSON.stringify(states);
      if (busy === this.#heldUp || states.every((state) => state === null)) return;
      if (this.origin.clock.monotonic() > end) {
        this.#heldUp = busy;
        return;
      }
      await this.#moveToNext();
    }
  }

  /** Moves the clocks to the moment at which the first of all that waits goes on. */
  async #moveToNext(): Promise<void> {
    const waits = this.sites.map(({ clock }) => clock.nextDue - clock.monotonic());
    const ms = Math.max(MOVE_MS, Math.ceil(Math.min(...waits, TICK_MS)));
    for (const site of this.sites) await site.clock.skip(ms);
  }

  /** The stop of a program takes time at its own site only; the other one follows. */
  async #align(): Promise<void> {
    const newest = Math.max(...this.sites.map((site) => site.clock.monotonic()));
    for (const { clock } of this.sites) {
      while (clock.monotonic() < newest) {
        await clock.skip(Math.min(TICK_MS, newest - clock.monotonic()));
        await settle();
      }
    }
  }

  get #upstream(): string {
    return join(this.#folder, 'upstream');
  }

  #keyFile(name: KeyName): string {
    return join(this.#folder, 'keys', name, 'signing.key');
  }
}
