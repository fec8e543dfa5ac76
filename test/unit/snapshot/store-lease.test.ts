import type { LeaseFiles } from '../../../src/snapshot/volume/lease-files.ts';
import { partial } from '../../support/partial.ts';
import { existsSync, writeFileSync } from 'node:fs';
import {
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';
import { openFencedWriter } from '../../../src/snapshot/fenced-writer.ts';
import { claimLease, LEASE_TAKEOVER_MS } from '../../../src/snapshot/volume/lease-claim.ts';
import { LEASE_VALID_MS } from '../../../src/snapshot/volume/lease-term.ts';
import { acquireStoreLease, type StoreLease } from '../../../src/snapshot/volume/store-lease.ts';
import { StoreRoot } from '../../../src/snapshot/volume/store-root.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** A daemon that wants the lease; each has a clock of its own, as each host has. */
class Candidate {
  readonly clock: FakeClock;
  readonly waits: string[] = [];
  readonly stopping = new AbortController();
  losses = 0;
  lease: StoreLease | null = null;
  readonly #acquired: Promise<void>;
  readonly #root: string;

  constructor(root: string, id: string, clock = new FakeClock()) {
    this.clock = clock;
    this.#root = root;
    this.#acquired = this.#acquire(id).then((lease) => {
      this.lease = lease;
    });
    this.#acquired.catch(() => undefined);
    onTestFinished(async () => {
      this.stopping.abort(new Error('the test has ended'));
      await this.lease?.release();
    });
  }

  async #acquire(id: string): Promise<StoreLease> {
    const volume = await StoreRoot.open(this.#root);
    onTestFinished(async () => await volume.close());
    return await acquireStoreLease({
      volume,
      holder: { id, name: id },
      clock: this.clock,
      logger: createSilentLogger(),
      signal: this.stopping.signal,
      onWait: (reason) => this.waits.push(reason),
      onLost: () => {
        this.losses += 1;
      },
    });
  }

  async acquired(): Promise<StoreLease> {
    await this.#acquired;
    if (this.lease === null) throw new Error('there is no lease');
    return this.lease;
  }

  /** Waits until it has looked at the lease and found that it must wait. */
  async waiting(): Promise<void> {
    await until(() => this.waits.length > 0);
  }

  /** Lets this daemon's clock pass, with time for its file accesses in between. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1000) {
      await this.clock.advance(1000);
      // Each look and each renewal accesses files a few times. They end while as many accesses of this test wait in the
      // same queue, however busy the machine is.
      for (let access = 0; access < 25; access += 1) await stat(this.#root);
    }
  }
}

/** The class of open files, whose methods a test can make fail as a full volume does. */
async function fileHandlePrototype(directory: string): Promise<FileHandle> {
  await using handle = await open(directory);
  return Object.getPrototypeOf(handle) as FileHandle;
}

describe('the lease of a snapshot volume', () => {
  it('has one holder; another daemon waits, names it, and takes over at once when the holder ends', async () => {
    const root = await temporaryDirectory();
    const first = await new Candidate(root, 'first').acquired();
    await first.confirm();
    const second = new Candidate(root, 'second');
    await second.waiting();
    expect(second.waits).toEqual(['the daemon first has the lease of the snapshot volume']);
    expect(second.lease).toBeNull();
    await first.release();
    // It claims a released lease at its next look, and no time passes after it.
    await second.pass(1000);
    await (await second.acquired()).confirm();
    expect(second.lease).toMatchObject({ otherWriter: true });
    expect(await readdir(join(root, 'lease'))).toEqual(['2']);
  });

  it('is not taken while the holder renews it, however the clocks differ', async () => {
    const root = await temporaryDirectory();
    const holder = new Candidate(root, 'holder');
    await holder.acquired();
    const standby = new Candidate(root, 'standby');
    await standby.waiting();
    for (let round = 0; round < 20; round += 1) {
      const before = await readFile(join(root, 'lease', '1'));
      await until(async () => {
        await holder.pass(1000);
        return !(await readFile(join(root, 'lease', '1'))).equals(before);
      });
      // The clock of the standby runs fast.
      await standby.pass(LEASE_TAKEOVER_MS - 3000);
    }
    expect(standby.lease).toBeNull();
    expect(holder.losses).toBe(0);
  });

  it('is taken from a holder that stopped to renew, and that one never writes again', async () => {
    const root = await temporaryDirectory();
    const paused = new Candidate(root, 'paused');
    const lease = await paused.acquired();
    await lease.confirm();
    const standby = new Candidate(root, 'standby');
    await standby.waiting();
    await until(async () => {
      await standby.pass(1000);
      return standby.lease !== null;
    });
    await (await standby.acquired()).confirm();
    // The paused process continues; its own clock shows that its time is over.
    paused.clock.jumpTo(paused.clock.now() + LEASE_VALID_MS);
    expect(() => lease.check()).toThrow('could not be renewed');
    await expect(lease.confirm()).rejects.toThrow('was lost to the daemon standby');
    expect(() => lease.check()).toThrow('was lost');
    expect([paused.losses, lease.status().state]).toEqual([1, 'lost']);
    await (await standby.acquired()).confirm();
  });

  it('waits once more when the holder renewed between the last look and the claim', async () => {
    const root = await temporaryDirectory();
    await new Candidate(root, 'holder').acquired();
    const path = join(root, 'lease', '1');
    // The claim reads the clock right after its last look.
    let began: number | null = null;
    class RacingClock extends FakeClock {
      override monotonic(): number {
        const now = super.monotonic();
        began ??= now;
        if (now - began >= LEASE_TAKEOVER_MS) {
          const content = { holder_id: 'holder', holder: 'holder', counter: 1000, released: false };
          writeFileSync(path, `${JSON.stringify(content).padEnd(1023)}\n`);
        }
        return now;
      }
    }
    const standby = new Candidate(root, 'standby', new RacingClock());
    await standby.waiting();
    await until(async () => {
      await standby.pass(1000);
      return existsSync(join(root, 'lease', '2'));
    });
    // On a busy machine its clock may be seconds ahead of the claim.
    await standby.pass(LEASE_TAKEOVER_MS / 2);
    expect(standby.lease).toBeNull();
    await until(async () => {
      await standby.pass(1000);
      return standby.lease !== null;
    });
  });

  it('waits when a daemon took its released lease again between the last look and the claim', async () => {
    const root = await temporaryDirectory();
    await (await new Candidate(root, 'holder').acquired()).release();
    const content = { holder_id: 'holder', holder: 'holder', counter: 1000, released: false };
    // The claim reads the clock right after its last look.
    class RacingClock extends FakeClock {
      override monotonic(): number {
        if (!existsSync(join(root, 'lease', '2'))) {
          writeFileSync(join(root, 'lease', '1'), `${JSON.stringify(content).padEnd(1023)}\n`);
        }
        return super.monotonic();
      }
    }
    const standby = new Candidate(root, 'standby', new RacingClock());
    await until(() => existsSync(join(root, 'lease', '2')));
    await standby.pass(LEASE_TAKEOVER_MS - 2000);
    expect(standby.lease).toBeNull();
    await until(async () => {
      await standby.pass(1000);
      return standby.lease !== null;
    });
  });

  it('is taken again without a wait by a daemon with the same data folder', async () => {
    const root = await temporaryDirectory();
    const killed = new Candidate(root, 'same');
    await (await killed.acquired()).confirm();
    const again = await new Candidate(root, 'same').acquired();
    await again.confirm();
    expect(again.otherWriter).toBe(false);
    expect(await readdir(join(root, 'lease'))).toEqual(['1']);
  });

  it('remembers the other writer over a crash, until its holder has recovered', async () => {
    const root = await temporaryDirectory();
    await (await new Candidate(root, 'other').acquired()).release();
    const crashed = await new Candidate(root, 'same').acquired();
    await crashed.confirm();
    const again = await new Candidate(root, 'same').acquired();
    expect([crashed.otherWriter, again.otherWriter]).toEqual([true, true]);
    again.noteRecovered();
    await again.release();
    const recovered = await new Candidate(root, 'same').acquired();
    expect(recovered.otherWriter).toBe(false);
    await recovered.release();
    const next = await new Candidate(root, 'other').acquired();
    expect(next.otherWriter).toBe(true);
  });

  it('is waited for while the listing of its folder is stale', async () => {
    const root = await temporaryDirectory();
    await mkdir(join(root, 'lease'));
    // Listed, but not there when it is opened.
    await symlink('not-there', join(root, 'lease', '7'));
    const standby = new Candidate(root, 'standby');
    await standby.waiting();
    expect(standby.waits).toEqual([expect.stringContaining('the listing of the volume is stale')]);
    expect(standby.lease).toBeNull();
    await rm(join(root, 'lease', '7'));
    await until(async () => {
      await standby.pass(1000);
      return standby.lease !== null;
    });
    await standby.lease?.confirm();
  });

  it.each([
    ['nothing', null],
    [
      'a lease that was released',
      {
        epoch: 1,
        bytes: Buffer.from('released'),
        content: { holder_id: 'ended', holder: 'ended', counter: 1, released: true, other_writer: false },
      },
    ],
  ])('is looked for once a second while the listing of its folder still shows %s', async (_what, listed) => {
    const clock = new FakeClock();
    const stopping = new AbortController();
    const waits: string[] = [];
    let looks = 0;
    const claim = claimLease(
      partial<LeaseFiles>({
        volume: await StoreRoot.open(await temporaryDirectory()),
        newest: () => {
          looks += 1;
          return looks > 50 ? Promise.reject(new Error('it looks without a wait')) : Promise.resolve(listed);
        },
        read: () => Promise.resolve(listed),
        // The file of another daemon exists.
        create: () => Promise.resolve(false),
      }),
      {
        holder: { id: 'standby', name: 'standby' },
        clock,
        signal: stopping.signal,
        onWait: (reason) => waits.push(reason),
      },
    );
    const ended = expect(claim).rejects.toThrow('the test has ended');
    for (let second = 1; second <= 5; second += 1) {
      await until(() => looks === second);
      await clock.advance(1000);
    }
    expect(waits).toEqual(['another daemon has just taken the lease of the snapshot volume']);
    stopping.abort(new Error('the test has ended'));
    await ended;
  });

  it('has one winner among daemons that start at the same time on an empty volume', async () => {
    const root = join(await temporaryDirectory(), 'not', 'there', 'yet');
    const candidates = ['a', 'b', 'c', 'd'].map((id) => new Candidate(root, id));
    await until(() => candidates.filter(({ waits }) => waits.length > 0).length === 3);
    await until(() => candidates.filter(({ lease }) => lease !== null).length === 1);
    const winner = candidates.find(({ lease }) => lease !== null);
    await winner?.lease?.confirm();
    expect(winner?.lease?.status().state).toBe('held');
  });

  it('has one winner among daemons that see the same holder die', async () => {
    const root = await temporaryDirectory();
    await (await new Candidate(root, 'dead').acquired()).confirm();
    const candidates = ['a', 'b', 'c'].map((id) => new Candidate(root, id));
    await Promise.all(candidates.map((each) => each.waiting()));
    await until(async () => {
      await Promise.all(candidates.map((each) => each.pass(1000)));
      return candidates.some(({ lease }) => lease !== null);
    });
    for (let round = 0; round < 5; round += 1) await Promise.all(candidates.map((each) => each.pass(1000)));
    const held = candidates.filter(({ lease }) => lease?.status().state === 'held');
    expect(held).toHaveLength(1);
  });

  it('is taken from a creator that died before it wrote its name', async () => {
    const root = await temporaryDirectory();
    await mkdir(join(root, 'lease'));
    await writeFile(join(root, 'lease', '4'), '');
    const standby = new Candidate(root, 'standby');
    await standby.waiting();
    expect(standby.waits).toEqual(['an unknown daemon has the lease of the snapshot volume']);
    const since = standby.clock.monotonic();
    await until(async () => {
      await standby.pass(1000);
      return standby.lease !== null;
    });
    expect(standby.clock.monotonic() - since).toBeLessThan(LEASE_TAKEOVER_MS / 2);
    expect(await readdir(join(root, 'lease'))).toEqual(['5']);
  });

  const ENTRIES: ReadonlyArray<readonly [string, (path: string) => Promise<unknown>]> = [
    ['of junk bytes', async (path) => await writeFile(path, Buffer.alloc(300, 0xe9))],
    ['that is too long', async (path) => await writeFile(path, Buffer.alloc(2000, 0xe9))],
    ['that is a folder', async (path) => await mkdir(join(path, 'with', 'content'), { recursive: true })],
    ['that is a link to itself', async (path) => await symlink(path, path)],
  ];

  it.each(ENTRIES)('is taken over from an entry %s', async (_what, make) => {
    const root = await temporaryDirectory();
    await mkdir(join(root, 'lease'));
    await make(join(root, 'lease', '4'));
    const standby = new Candidate(root, 'standby');
    await standby.waiting();
    expect(standby.waits).toEqual(['an unknown daemon has the lease of the snapshot volume']);
    await until(async () => {
      await standby.pass(1000);
      return standby.lease !== null;
    });
    await standby.lease?.confirm();
    expect(await readdir(join(root, 'lease'))).toEqual(['5']);
    await standby.lease?.release();
    await (await new Candidate(root, 'next').acquired()).confirm();
  });

  it.each(ENTRIES)('is repaired by its holder when its file becomes an entry %s', async (_what, make) => {
    const root = await temporaryDirectory();
    const path = join(root, 'lease', '1');
    const holder = new Candidate(root, 'holder');
    const lease = await holder.acquired();
    await lease.confirm();
    await mkdir(join(root, 'objects'));
    await rm(path);
    await make(path);
    holder.clock.jumpTo(holder.clock.now() + LEASE_VALID_MS);
    await lease.confirm();
    expect(holder.losses).toBe(0);
    expect(await readFile(path, 'utf8')).toMatch(/^\{"holder_id":"holder".*\n$/);
  });

  it('is not taken while the file of its holder changes, although it is too long', async () => {
    const root = await temporaryDirectory();
    await mkdir(join(root, 'lease'));
    const path = join(root, 'lease', '4');
    await writeFile(path, '');
    const standby = new Candidate(root, 'standby');
    for (let length = 2000; length < 2010; length += 1) {
      await writeFile(path, Buffer.alloc(length));
      await standby.pass(LEASE_TAKEOVER_MS - 5000);
    }
    expect(standby.lease).toBeNull();
  });

  it('is renewed by its claimant after the volume was full', async () => {
    const root = await temporaryDirectory();
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const write = vi.spyOn(await fileHandlePrototype(root), 'write').mockRejectedValue(full);
    onTestFinished(() => {
      write.mockRestore();
    });
    const holder = new Candidate(root, 'holder');
    const lease = await holder.acquired();
    await expect(lease.confirm()).rejects.toThrow('no space left on device');
    expect(await readdir(join(root, 'lease'))).toEqual([]);
    write.mockRestore();
    await lease.confirm();
    expect([holder.losses, lease.status().state]).toEqual([0, 'held']);
  });

  it('lets nothing write from the moment of its release on', async () => {
    const root = await temporaryDirectory();
    const prototype = await fileHandlePrototype(root);
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const realWrite = Reflect.get(prototype, 'write') as (...from: unknown[]) => Promise<never>;
    const write = vi.spyOn(prototype, 'write').mockImplementation(async function (
      this: FileHandle,
      ...from: unknown[]
    ) {
      // The creation and the first renewal come before the renewal that is in progress at the release.
      if (write.mock.calls.length === 3) await held;
      return await realWrite.apply(this, from);
    });
    onTestFinished(() => {
      letGo();
      write.mockRestore();
    });
    const holder = new Candidate(root, 'holder');
    const lease = await holder.acquired();
    await until(() => write.mock.calls.length === 3);
    const releasing = lease.release();
    expect(() => lease.check()).toThrow('was released');
    await expect(lease.confirm()).rejects.toThrow('was released');
    letGo();
    await releasing;
    expect(() => lease.check()).toThrow('was released');
    await expect(lease.confirm()).rejects.toThrow('was released');
    expect(await readFile(join(root, 'lease', '1'), 'utf8')).toContain('"released":true');
    expect(holder.losses).toBe(0);
  });

  it('is created again when its folder is removed', async () => {
    const root = await temporaryDirectory();
    const holder = new Candidate(root, 'holder');
    const lease = await holder.acquired();
    await mkdir(join(root, 'objects'));
    await rm(join(root, 'lease'), { recursive: true });
    holder.clock.jumpTo(holder.clock.now() + LEASE_VALID_MS);
    await lease.confirm();
    expect(await readdir(join(root, 'lease'))).toEqual(['1']);
  });

  it('has expired after a pause of the process, which is no failure of the volume', async () => {
    const root = await temporaryDirectory();
    const holder = new Candidate(root, 'holder');
    const lease = await holder.acquired();
    holder.clock.jumpTo(holder.clock.now() + 3 * LEASE_VALID_MS);
    expect(lease.status()).toMatchObject({ state: 'expired', replacedBy: null });
    await lease.confirm();
    expect(lease.status().state).toBe('held');
    await rm(join(root, 'lease'), { recursive: true });
    await writeFile(join(root, 'lease'), 'no folder');
    await expect(lease.confirm()).resolves.toBeUndefined();
    holder.clock.jumpTo(holder.clock.now() + LEASE_VALID_MS);
    await expect(lease.confirm()).rejects.toThrow();
    expect(lease.status().state).toBe('unconfirmed');
  });

  it('is not created in the root of a volume that was unmounted', async () => {
    const root = await temporaryDirectory();
    const holder = new Candidate(root, 'holder');
    const lease = await holder.acquired();
    await rm(join(root, 'lease'), { recursive: true });
    holder.clock.jumpTo(holder.clock.now() + LEASE_VALID_MS);
    await expect(lease.confirm()).rejects.toThrow('holds no store anymore; check the mount of the volume');
    expect(await readdir(root)).toEqual([]);
    expect([holder.losses, lease.status().state]).toEqual([0, 'unconfirmed']);
  });

  it('expires when the wall clock jumps forward, and a renewal repairs that', async () => {
    const root = await temporaryDirectory();
    const holder = new Candidate(root, 'holder');
    const lease = await holder.acquired();
    holder.clock.jumpTo(holder.clock.now() + 3_600_000);
    expect(() => lease.check()).toThrow('could not be renewed');
    await lease.confirm();
    lease.check();
  });

  it('ends a wait with the reason of the signal', async () => {
    const root = await temporaryDirectory();
    await new Candidate(root, 'holder').acquired();
    const standby = new Candidate(root, 'standby');
    await standby.waiting();
    standby.stopping.abort(new Error('stopped by the test'));
    await expect(standby.acquired()).rejects.toThrow('stopped by the test');
  });
});

describe('a fenced writer', () => {
  it('changes nothing after its lease was lost, also in the middle of a write', async () => {
    const root = await temporaryDirectory();
    let lost = false;
    const check = (): void => {
      if (lost) throw new Error('the lease was lost');
    };
    const fence = { check, confirm: () => Promise.resolve().then(check) };
    const steps: string[] = [];
    const losing = {
      hit: (name: string): void => {
        steps.push(name);
        lost ||= name === 'snapshot.attestation.written';
      },
    };
    const writer = await openFencedWriter(
      { root: await StoreRoot.open(root), clock: new FakeClock(), failpoints: losing },
      fence,
    );
    await expect(writer.publishAttestation(Buffer.from('{}'), 1)).rejects.toThrow('the lease was lost');
    expect(steps.at(-1)).toBe('snapshot.attestation.written');
    expect(await writer.readCurrentAttestation()).toBeNull();
    const digest = 'a'.repeat(64) as never;
    const changes: Array<() => Promise<unknown>> = [
      () => writer.restoreFormat(),
      () => writer.stagingDirectory('task'),
      () => writer.removeStaging('task'),
      () => writer.commitObject({} as never),
      () => writer.restoreBlockList({} as never),
      () => writer.flush(),
      () => writer.quarantine(digest, 'task'),
      () => writer.writeManifest('task', {} as never, []),
      () => writer.removeManifest(`blake3:${digest as string}` as never),
      () => writer.writeReleaseRecord({} as never),
      () => writer.removeReleaseRecord('official', 'r1' as never),
      () => writer.publishAttestation(Buffer.from('{}'), 2),
      () => writer.sweepObjects(() => false, 0),
      () => writer.sweepManifests(() => false, 0),
      () => writer.sweepQuarantine({ objects: 0, bytes: 0, ageMs: 0 }),
    ];
    for (const change of changes) await expect(change()).rejects.toThrow('the lease was lost');
  });
});
