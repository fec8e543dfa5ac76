import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom, type Random } from '../../../demo/game/seeded-random.ts';
import { makeKeys } from '../make-keys.ts';
import { writeReleaseTree, type ReleaseFiles } from '../release-tree.ts';
import { copyFolder, filesBelow } from './disk-faults.ts';
import { checkSite, isHealed, type Promises } from './promises.ts';
import { Site, turn } from './site.ts';

/** Milliseconds since 1970 at which every run begins. */
const START_MS = Date.UTC(2026, 0, 15, 12);
/** How long time passes before the system must be quiet, milliseconds. */
const SLICE_MS = 60_000;
/** The longest time that the clock moves at once, milliseconds: a longer one looks like a process that stood still. */
const TICK_MS = 2_500;
/** Milliseconds of the machine after which a state that does not come to rest is a fault. */
const PATIENCE_MS = 120_000;
/** Reads of one busy state before the clock moves: requests and threads need turns, back-offs need time. */
const READS_PER_MOVE = 30;
const MOVE_MS = 500;
/** How long a system may take to heal once every fault has ended. */
const HEALING_SLICES = 30;
const HEALING_SLICE_MS = 60_000;
/** How long an idempotency key is remembered, less a margin, seconds. */
const KEY_SECONDS = 23 * 3600;

/** A call that a daemon has accepted. */
interface AcceptedCall {
  readonly key: string;
  readonly action: string;
  readonly task: string;
  /** Unix seconds of the daemon. */
  readonly at: number;
  /** How often the clock had been set by then. */
  readonly settings: number;
}

type KeyName = 'first' | 'second' | 'edge';

/** An origin and an edge of it, the upstream of the origin, and what is known of all that they were given. */
export class World {
  readonly folder: string;
  readonly random: Random;
  readonly origin: Site;
  readonly edge: Site;
  /** The release that upstream has. */
  latest = '';
  /** The files of every release that upstream ever had, by id. */
  readonly releases = new Map<string, ReleaseFiles>();
  readonly #calls: AcceptedCall[] = [];
  readonly #promises: ReadonlyMap<Site, Promises>;
  #keys = 0;
  #clockSettings = 0;
  #rotations = 0;

  private constructor(folder: string, seed: number) {
    this.folder = folder;
    this.random = createRandom(seed);
    const given = { startMs: START_MS, random: this.random };
    this.origin = new Site({
      ...given,
      folder: join(folder, 'origin'),
      keyFiles: [this.#keyFile('first')],
      upstream: () => ({ kind: 'directory', directory: { path: this.#upstream } }),
    });
    this.edge = new Site({
      ...given,
      folder: join(folder, 'edge'),
      keyFiles: [this.#keyFile('edge')],
      upstream: () => ({
        kind: 'slipway',
        slipway: {
          url: this.origin.url,
          trustedKeys: (['first', 'second'] as const).map((name) => publicKeyOf(this.#keyFile(name))),
        },
      }),
    });
    this.#promises = new Map(
      this.sites.map((site) => [site, { newestVersion: 0, isFaultless: true, releases: this.releases }]),
    );
  }

  /** Makes a world in which both sites run and serve a first release. */
  static async open(seed: number): Promise<World> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'slipway-simulation-')));
    const world = new World(folder, seed);
    for (const name of ['first', 'second', 'edge']) await makeKeys(join(folder, 'keys', name));
    await world.publishUpstream(new Map([['files/0.bin', world.random.bytes(1000)]]));
    for (const site of world.sites) {
      mount(site.disk);
      await site.open();
      await site.startServer();
      await site.startDaemon();
      await world.quiet();
    }
    return world;
  }

  get sites(): readonly [Site, Site] {
    return [this.origin, this.edge];
  }

  get #upstream(): string {
    return join(this.folder, 'upstream');
  }

  #keyFile(name: KeyName): string {
    return join(this.folder, 'keys', name, 'signing.key');
  }

  async close(): Promise<void> {
    for (const site of this.sites) {
      await site.close();
      unmount(site.disk);
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  /** Gives upstream its next release. */
  async publishUpstream(files: ReleaseFiles): Promise<void> {
    this.latest = `r${this.releases.size + 1}`;
    this.releases.set(this.latest, files);
    await writeReleaseTree(this.#upstream, { id: this.latest, files });
  }

  /** Posts an action to the origin with a key of its own. */
  async call(action: string): Promise<void> {
    this.#keys += 1;
    const key = `key-${this.#keys}`;
    const at = this.origin.clock.now() / 1000;
    const task = await this.origin.control(action, {}, key);
    if (task !== null) this.#calls.push({ key, action, task, at, settings: this.#clockSettings });
  }

  /** Repeats an accepted call. @throws Error when it makes another task */
  async repeatCall(pick: number): Promise<void> {
    const call = this.#calls[pick % Math.max(1, this.#calls.length)];
    if (call === undefined) return;
    const age = this.origin.clock.now() / 1000 - call.at;
    if (age > KEY_SECONDS || call.settings !== this.#clockSettings) return;
    const task = await this.origin.control(call.action, {}, call.key);
    if (task !== null && task !== call.task)
      throw new Error(
        `${call.action} with the key ${call.key} made task ${task}; its first call made ${call.task}`,
      );
  }

  /** Sets the wall clock of a site. */
  setClock(site: Site, by: number): void {
    this.#clockSettings += 1;
    site.clock.jumpTo(site.clock.now() + by);
    this.expectFaults();
  }

  /** A file of a store to damage; `null` when there is none. */
  fileToDamage(site: Site, place: number): string | null {
    const files = ['objects', 'manifests'].flatMap((name) => filesBelow(join(site.volume, name)));
    if (files.length > 0) this.expectFaults();
    return files[place % files.length] ?? null;
  }

  /** Cuts the edge off from the origin, or connects it again. */
  cut(): void {
    this.origin.isCut = !this.origin.isCut;
    this.expectFaults();
  }

  /** The origin signs with both keys, then with the new one alone, then with both, and so on. */
  async rotateKeys(): Promise<void> {
    this.#rotations += 1;
    const names: readonly (readonly KeyName[])[] = [
      ['first'],
      ['first', 'second'],
      ['second'],
      ['second', 'first'],
    ];
    const files = names[this.#rotations % names.length]?.map((name) => this.#keyFile(name)) ?? [];
    await this.origin.stopServer();
    await this.origin.rotateKeys(
      files,
      ['first', 'second'].map((name) => publicKeyOf(this.#keyFile(name as KeyName))),
    );
    await this.origin.startServer();
  }

  /** Keeps a copy of the store of a site, for a later replacement. */
  copyStore(site: Site): void {
    rmSync(this.#copyOf(site), { recursive: true, force: true });
    copyFolder(site.volume, this.#copyOf(site));
  }

  /** Mounts another volume in place of that of a site: an older copy of it, or a copy of the other site's. */
  mountOther(site: Site, isOwn: boolean): void {
    const away = `${site.volume}.away`;
    const other = isOwn ? this.#copyOf(site) : (this.sites.find((each) => each !== site)?.volume ?? '');
    if (existsSync(away) || !existsSync(other)) return;
    this.expectFaults();
    renameSync(site.volume, away);
    copyFolder(other, site.volume);
  }

  /** Restores the store of a site from its copy, while nothing runs there. */
  async restoreStore(site: Site): Promise<void> {
    if (!existsSync(this.#copyOf(site)) || existsSync(`${site.volume}.away`)) return;
    this.expectFaults();
    await site.stopServer();
    await site.stopDaemon();
    rmSync(site.volume, { recursive: true });
    copyFolder(this.#copyOf(site), site.volume);
    await site.startDaemon();
    await site.startServer();
  }

  /** Uses up the disk of a site. */
  fill(site: Site): void {
    if (!isMounted(site.disk)) return;
    this.expectFaults();
    const { bavail, bsize } = statfsSync(site.disk);
    execFileSync('fallocate', ['-l', String(bavail * bsize), join(site.disk, 'filler')]);
  }

  /** Says that a file may be missing until the world has healed. */
  expectFaults(): void {
    for (const promises of this.#promises.values()) promises.isFaultless = false;
  }

  /** Checks everything that must hold at any time. @throws Error */
  async check(): Promise<void> {
    for (const [site, promises] of this.#promises) await checkSite(site, promises, this.random);
    for (const { action, task } of this.#calls.slice(-5)) await this.#checkTask(action, task);
  }

  /** Ends every fault. @throws Error when the newest release is not served everywhere some hours later */
  async heal(): Promise<void> {
    this.origin.isCut = false;
    await this.#align();
    for (const site of this.sites) {
      rmSync(join(site.disk, 'filler'), { force: true });
      const away = `${site.volume}.away`;
      if (existsSync(away)) {
        rmSync(site.volume, { recursive: true });
        renameSync(away, site.volume);
      }
      const behind = START_MS + site.clock.monotonic() - site.clock.now();
      if (behind !== 0) this.setClock(site, behind);
      await site.startServer();
      await site.startDaemon();
    }
    await this.quiet();
    await this.call('sync');
    let states: readonly string[] = [];
    for (let slice = 0; slice < HEALING_SLICES; slice += 1) {
      await this.quiet();
      const healed = await Promise.all(this.sites.map(async (site) => await isHealed(site, this.latest)));
      states = healed.filter((state) => state !== null);
      if (states.length === 0) {
        for (const promises of this.#promises.values()) promises.isFaultless = true;
        return;
      }
      if (process.env['SIM_DEBUG']) console.error('\n  ' + states.map((x) => x.slice(0, 700)).join('\n  '));
      await this.pass(HEALING_SLICE_MS);
    }
    throw new Error(`it did not heal: ${states.join('; ')}`);
  }

  /** Moves both clocks, in slices after which everything that has become due is done. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= SLICE_MS) {
      for (let rest = Math.min(left, SLICE_MS); rest > 0; rest -= TICK_MS) {
        for (const site of this.sites) await site.clock.skip(Math.min(rest, TICK_MS));
        await turn();
      }
      await this.quiet();
    }
  }

  /**
   * Waits until nothing is in progress: no task runs or is due, no program starts, and each server knows the newest attestation of its
   * daemon. A daemon that has ended is started again, as a kubelet does.
   *
   * @throws Error when that does not happen
   */
  async quiet(): Promise<void> {
    await this.#align();
    const end = performance.now() + PATIENCE_MS;
    let last = '';
    for (let reads = 1; performance.now() < end; reads += 1) {
      await turn();
      for (const site of this.sites) await site.revive();
      const states = await Promise.all(this.sites.map(async (site) => await readQuiet(site)));
      const text = states.map((state) => state.text).join(' | ');
      if (states.every(({ isQuiet }) => isQuiet) && text === last) return;
      if (text !== last) reads = 1;
      last = text;
      if (reads % READS_PER_MOVE === 0) for (const site of this.sites) await site.clock.skip(MOVE_MS);
    }
    throw new Error(`nothing came to rest: ${last}`);
  }

  /** The stop of a program takes time at its own site only. */
  async #align(): Promise<void> {
    const newest = Math.max(...this.sites.map((site) => site.clock.monotonic()));
    for (const site of this.sites) {
      while (site.clock.monotonic() < newest) {
        await site.clock.skip(Math.min(TICK_MS, newest - site.clock.monotonic()));
        await turn();
      }
    }
  }

  async #checkTask(action: string, task: string): Promise<void> {
    if (!this.origin.hasDaemon) return;
    const list = await this.origin.report('task.list');
    const known = await this.origin.report(`task.status?task_id=${task}`);
    // The daemon may have ended in between.
    if (list !== null && known === null && this.origin.hasDaemon)
      throw new Error(`the origin forgot task ${task}, an accepted ${action}`);
  }

  #copyOf(site: Site): string {
    return `${site.folder}.copy`;
  }
}

function publicKeyOf(keyFile: string): string {
  return keyFile.replace(/\.key$/, '.pub');
}

/** Gives a folder a small file system of its own, where that is allowed: a disk can then be full. */
function mount(folder: string): void {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1500m', 'slipway-simulation', folder], {
      stdio: 'ignore',
    });
  } catch {
    // Without the right to mount, no disk becomes full.
  }
}

function isMounted(folder: string): boolean {
  return readFileSync('/proc/self/mounts', 'utf8').includes(` ${folder} `);
}

function unmount(folder: string): void {
  if (isMounted(folder)) execFileSync('umount', ['-l', folder]);
}

interface QuietState {
  readonly isQuiet: boolean;
  readonly text: string;
}

async function readQuiet(site: Site): Promise<QuietState> {
  if (site.isStarting) return { isQuiet: false, text: 'starting' };
  const tasks = (await site.report('task.list')) as TaskList | null;
  const now = site.clock.now() / 1000;
  const busy = (tasks?.items ?? [])
    .filter(({ status, run_at: at }) =>
      status === 'queued' ? at <= now : ['running', 'cancelling'].includes(status),
    )
    .map(({ kind, status }) => `${kind} ${status}`);
  const attested = await site.attestedVersion();
  const readiness = await site.readiness();
  const isSettled =
    readiness === null ||
    (readiness.reason !== 'SnapshotLoading' &&
      (attested === null || readiness.attestation?.version === attested));
  const text = JSON.stringify([busy, attested, readiness?.attestation?.version, readiness?.reason]);
  return { isQuiet: busy.length === 0 && isSettled, text };
}

interface TaskList {
  readonly items: ReadonlyArray<{ readonly kind: string; readonly status: string; readonly run_at: number }>;
}
