import { execFile } from 'node:child_process';
import { mkdir, open, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRandom } from '../../demo/game/seeded-random.ts';
import { BYTE_PATHS, etagOf, SMALL } from '../support/byte-path.ts';
import { ask, HttpConnection, renderRequest } from '../support/http-connection.ts';
import { canInjectFaults, injectFaults } from '../support/inject-faults.ts';
import type { RawAnswer } from '../support/raw-http.ts';
import { startServedProcess, type ServedProcess } from '../support/served-process.ts';
import { reusedFixture } from '../support/shared-fixture.ts';
import { startSlowDownload } from '../support/slow-download.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const MIB = 1024 * 1024;
const LARGE = 'MediaResources/large.mp4';
const HUGE = 'MediaResources/huge.mp4';
const random = createRandom(24);
const small = random.bytes(5000);
const large = random.bytes(9 * MIB + 5);
/** More than the system buffers for a client that does not read. */
const huge = random.bytes(20 * MIB + 5);
const hugeNext = random.bytes(huge.length);
const HUGE_FILES = { [SMALL]: small, [HUGE]: huge };
/** Files of their own: a server may still have the file open that another test has replaced. */
const DAMAGED_WHILE_SENT = { truncated: random.bytes(huge.length), flipped: random.bytes(huge.length) };
/** One file each, so that a server has not opened it yet. */
const UNREAD = { failing: random.bytes(5000), limited: random.bytes(5000), denied: random.bytes(5000) };
const canTrace = canInjectFaults();

async function get(served: ServedProcess, name: string): Promise<RawAnswer> {
  return await ask(served.port, 'GET', served.target(name));
}

/** Waits until the server serves again by itself, and checks the bytes. */
async function expectRecovery(served: ServedProcess, files: Readonly<Record<string, Buffer>>): Promise<void> {
  await served.untilReady(true);
  for (const [name, bytes] of Object.entries(files)) {
    const answer = await get(served, name);
    expect([name, answer.status, answer.body.equals(bytes)]).toEqual([name, 200, true]);
  }
}

/** @param where is shown when the answer is another one */
function expectRefused(answer: RawAnswer, code: string, reason?: string, where?: string): void {
  expect(answer.status, where).toBe(503);
  expect(Number(answer.headers['retry-after']), where).toBeGreaterThan(0);
  expect(answer.headers['cache-control'], where).toBe('no-store');
  expect(JSON.parse(answer.body.toString()), where).toMatchObject({
    code,
    ...(reason === undefined ? {} : { reason }),
  });
}

/**
 * Attests the release for some seconds. An attestation that reaches the server only after its end is refused, and followed by
 * another one.
 *
 * @returns when the accepted one ends, Unix milliseconds
 */
async function attestFor(served: ServedProcess, lifetime: number): Promise<number> {
  for (;;) {
    const end = Date.now() + lifetime * 1000;
    served.attest({ official: served.release, lifetime });
    const isAccepted = await until(async () => {
      if ((await served.metric('slipway_attestation_expires_in_seconds')) < 10) return 'accepted';
      return Date.now() > end && 'late';
    });
    if (isAccepted === 'accepted') return end;
  }
}

/** Makes the release of a server current again, until long after the test. */
async function attestAgain(served: ServedProcess): Promise<void> {
  served.attest({ official: served.release });
  await served.untilReady(true, 'r1');
}

/** Overwrites bytes in place, as damage does. */
async function flip(path: string, position: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, position);
    await file.write(Buffer.from([byte[0]! ^ 1]), 0, 1, position);
  } finally {
    await file.close();
  }
}

/** Restores the right bytes, as a repair does. */
async function repair(path: string, bytes: Buffer): Promise<void> {
  await writeFile(`${path}.repaired`, bytes);
  await rm(path, { recursive: true, force: true });
  await rename(`${path}.repaired`, path);
}

const REPLACEMENTS: ReadonlyArray<readonly [string, (path: string, bytes: Buffer) => Promise<unknown>]> = [
  ['missing', async () => undefined],
  ['a directory', async (path) => await mkdir(path)],
  ['a FIFO', async (path) => await run('mkfifo', [path])],
  [
    'a symbolic link to the very bytes',
    async (path, bytes) => {
      await writeFile(`${path}.real`, bytes);
      await symlink(`${path}.real`, path);
    },
  ],
  ['shorter', async (path, bytes) => await writeFile(path, bytes.subarray(1))],
  ['longer', async (path, bytes) => await writeFile(path, Buffer.concat([bytes, Buffer.from('x')]))],
  [
    'of the right size, with one bit flipped',
    async (path, bytes) => await writeFile(path, flipped(bytes, 4000)),
  ],
];
/** One file each, so that a server has no state of it yet. */
const REPLACED = Object.fromEntries(REPLACEMENTS.map(([what]) => [what, random.bytes(5000)]));

function flipped(bytes: Buffer, position: number): Buffer {
  const damaged = Buffer.from(bytes);
  damaged[position]! ^= 1;
  return damaged;
}

// A server looks at a damaged file again after seconds, so the two wait at the same time.
describe.concurrent.each(BYTE_PATHS)('over the %s', (_name, fastPath) => {
  it('a file that is not what the manifest says is refused before the head, and served again after the repair', async ({
    onTestFinished: atEnd,
  }) => {
    const served = await startServedProcess({
      fastPath,
      release: { releaseId: 'r1', files: REPLACED },
      atEnd,
    });
    for (const [what, replace] of REPLACEMENTS) {
      const bytes = REPLACED[what]!;
      const path = served.store.pathOf(bytes);
      await rm(path);
      await replace(path, bytes);
      const reason = what.startsWith('of the right size') ? 'EntryDamaged' : 'EntryMissing';
      expectRefused(await get(served, what), 'not_distributable', reason, what);
      expect((await ask(served.port, 'HEAD', served.target(what))).status, what).toBe(503);
      expect((await served.untilReady(false)).reason, what).toBe(reason);
      await repair(path, bytes);
      await expectRecovery(served, { [what]: bytes });
    }
  });
});

describe.each(BYTE_PATHS)('over the %s', (_name, fastPath) => {
  /** Each test repairs what it damages, and makes the first release current again. */
  const reused = reusedFixture(
    async (atEnd) =>
      await startServedProcess({
        fastPath,
        release: { releaseId: 'r1', files: { [SMALL]: small, [LARGE]: large } },
        atEnd,
      }),
  );
  /** The same without a cache: every request reads from the disk. */
  const reading = reusedFixture(
    async (atEnd) =>
      await startServedProcess({
        fastPath,
        release: { releaseId: 'r1', files: { ...HUGE_FILES, ...DAMAGED_WHILE_SENT, ...UNREAD } },
        config: { cache: { blockBytes: 0 } },
        atEnd,
      }),
  );

  describe('the evidence', () => {
    it('that expires stops the serving on open connections, from memory and from disk', async () => {
      const served = await reused();
      const connection = await HttpConnection.open(served.port);
      const request = async (): Promise<RawAnswer> => {
        connection.send(renderRequest('GET', served.target(SMALL)));
        return await connection.answer();
      };
      for (let turn = 0; turn < 3; turn += 1) expect((await request()).body.equals(small)).toBe(true);
      await attestFor(served, 4);
      const refused = await until(async () => {
        const answer = await request();
        return answer.status === 200 ? null : answer;
      });
      expectRefused(refused, 'not_distributable', 'AttestationExpired');
      await attestAgain(served);
      expect((await request()).body.equals(small)).toBe(true);
      connection.destroy();
    });

    it('that expired while the process was suspended is not used', async () => {
      const served = await reused();
      expect((await get(served, SMALL)).status).toBe(200);
      const expiry = await attestFor(served, 4);
      served.process.signal('SIGSTOP');
      const connection = await HttpConnection.open(served.port);
      connection.send(renderRequest('GET', served.target(SMALL)));
      await until(() => Date.now() > expiry);
      served.process.signal('SIGCONT');
      expectRefused(await connection.answer(), 'not_distributable', 'AttestationExpired');
      connection.destroy();
      await attestAgain(served);
    });

    it('that another route found damage refuses even bytes in memory', async () => {
      const served = await reused();
      served.daemon.setReport('release.list', { total: 0, releases: [] });
      for (let turn = 0; turn < 4; turn += 1) expect((await get(served, SMALL)).status).toBe(200);
      const path = served.store.pathOf(small);
      await flip(path, 17);
      const found = await fetch(`${served.url}/v1/distribution?destination=${encodeURIComponent(SMALL)}`);
      expect(found.status).toBe(409);
      expectRefused(await get(served, SMALL), 'not_distributable', 'EntryDamaged');
      await repair(path, small);
      await expectRecovery(served, { [SMALL]: small });
    });
  });

  describe('while a file is being sent', () => {
    it.for<readonly [string, keyof typeof DAMAGED_WHILE_SENT, (path: string) => Promise<void>]>([
      ['it is truncated', 'truncated', async (path: string) => await truncate(path, 16 * MIB)],
      ['a bit of it is flipped', 'flipped', async (path: string) => await flip(path, 19 * MIB)],
    ])('%s: the connection is cut, and all bytes sent are right', async ([_what, name, damage]) => {
      const served = await reading();
      const bytes = DAMAGED_WHILE_SENT[name];
      const path = served.store.pathOf(bytes);
      const download = await startSlowDownload(served.port, served.target(name));
      await damage(path);
      const answer = await download.finish();
      expect([answer.status, answer.headers['content-length']]).toEqual([200, String(bytes.length)]);
      expect(answer.wasCut).toBe(true);
      expect(answer.body.equals(bytes.subarray(0, answer.body.length))).toBe(true);
      await served.untilReady(false);
      expectRefused(await get(served, SMALL), 'not_distributable');
      await repair(path, bytes);
      await expectRecovery(served, { ...HUGE_FILES, [name]: bytes });
    });

    it('it is removed or replaced: the open file is sent to its end', async () => {
      const served = await reading();
      const path = served.store.pathOf(huge);
      const download = await startSlowDownload(served.port, served.target(HUGE));
      await repair(path, hugeNext);
      expect((await download.finish()).body.equals(huge)).toBe(true);
      await repair(path, huge);
      await expectRecovery(served, HUGE_FILES);
    });

    it('another release takes over: old and complete, or cut; never a mixture', async () => {
      const served = await reading();
      const next = await served.store.addRelease({
        releaseId: 'r2',
        files: { [SMALL]: Buffer.from(small).reverse(), [HUGE]: hugeNext },
      });
      const current = served.target(HUGE);
      const downloads = [
        await startSlowDownload(served.port, current),
        await startSlowDownload(served.port, current, [['Range', 'bytes=1048576-']]),
        await startSlowDownload(served.port, served.target(HUGE, 'r1')),
      ];
      served.attest({ official: next });
      await served.untilReady(true, 'r2');
      for (const [i, download] of downloads.entries()) {
        const { body, wasCut } = await download.finish();
        const old = huge.subarray(i === 1 ? MIB : 0);
        expect(body.equals(old.subarray(0, body.length))).toBe(true);
        expect(wasCut || body.length === old.length).toBe(true);
      }
      // A client that resumes with the old bytes gets the whole new file, or a failed condition.
      const rest = [['Range', 'bytes=1000-1999']] as const;
      const goneOn = await ask(served.port, 'GET', current, [...rest, ['If-Range', etagOf(huge)]]);
      expect([goneOn.status, goneOn.headers['etag']]).toEqual([200, etagOf(hugeNext)]);
      expect(goneOn.body.equals(hugeNext)).toBe(true);
      expect((await ask(served.port, 'GET', current, [...rest, ['If-Match', etagOf(huge)]])).status).toBe(
        412,
      );
      // The old release is not retained, so its own path is gone.
      expect((await ask(served.port, 'GET', served.target(HUGE, 'r1'), rest)).status).toBe(404);
      await attestAgain(served);
    });

    it('another release takes over: the old one can be completed under its own path while it is retained', async () => {
      const served = await reading();
      const next = await served.store.addRelease({
        releaseId: 'r3',
        files: { [SMALL]: small, [HUGE]: hugeNext },
      });
      const download = await startSlowDownload(served.port, served.target(HUGE, 'r1'));
      const retained_until = Math.floor(Date.now() / 1000) + 3600;
      served.attest({
        official: next,
        retained: [{ ...served.release, result: 'PASSED', channel: 'official', retained_until }],
      });
      await served.untilReady(true, 'r3');
      expect((await download.finish()).body.equals(huge)).toBe(true);
      const part = await ask(served.port, 'GET', served.target(HUGE, 'r1'), [
        ['Range', 'bytes=1000-1999'],
        ['If-Range', etagOf(huge)],
      ]);
      expect([part.status, part.body.equals(huge.subarray(1000, 2000))]).toEqual([206, true]);
      await attestAgain(served);
    });
  });

  describe.skipIf(!canTrace)('a disk that', () => {
    it('fails to read is refused before the head, and used again when it works', async () => {
      const served = await reading();
      const path = served.store.pathOf(UNREAD.failing);
      const faults = await injectFaults(
        { pid: served.process.pid, path, atEnd: onTestFinished },
        'pread64:error=EIO',
      );
      expectRefused(await get(served, 'failing'), 'not_distributable', 'EntryMissing');
      expect((await served.untilReady(false)).reason).toBe('EntryMissing');
      expect(faults.injected).toBeGreaterThan(0);
      await faults.end();
      await expectRecovery(served, { failing: UNREAD.failing });
    });

    it('fails in the middle of a file cuts the connection', async () => {
      const served = await reading();
      const path = served.store.pathOf(huge);
      const download = await startSlowDownload(served.port, served.target(HUGE));
      const faults = await injectFaults(
        { pid: served.process.pid, path, atEnd: onTestFinished },
        'pread64:error=EIO',
      );
      const answer = await download.finish();
      expect([answer.status, answer.wasCut]).toEqual([200, true]);
      expect(answer.body.equals(huge.subarray(0, answer.body.length))).toBe(true);
      await served.untilReady(false);
      await faults.end();
      await expectRecovery(served, HUGE_FILES);
    });

    it('cannot open for a limit means that this server is overloaded, not damage', async () => {
      const served = await reading();
      const path = served.store.pathOf(UNREAD.limited);
      for (const error of ['EMFILE', 'ENFILE', 'ENOMEM']) {
        const faults = await injectFaults(
          { pid: served.process.pid, path, atEnd: onTestFinished },
          `openat:error=${error}`,
        );
        expectRefused(await get(served, 'limited'), 'overloaded', undefined, error);
        expect(faults.injected, error).toBeGreaterThan(0);
        // The release itself is not affected.
        expect((await fetch(`${served.url}/readyz`)).status, error).toBe(200);
        await faults.end();
      }
      expect((await get(served, 'limited')).body.equals(UNREAD.limited)).toBe(true);
    });

    it('denies access to a file means that this entry is missing', async () => {
      const served = await reading();
      const path = served.store.pathOf(UNREAD.denied);
      const faults = await injectFaults(
        { pid: served.process.pid, path, atEnd: onTestFinished },
        'openat:error=EACCES',
      );
      expectRefused(await get(served, 'denied'), 'not_distributable', 'EntryMissing');
      await served.untilReady(false);
      await faults.end();
      await expectRecovery(served, { denied: UNREAD.denied });
    });

    it('is slow delays only the client that reads from it', async () => {
      const served = await reused();
      expect((await get(served, SMALL)).status).toBe(200);
      const path = served.store.pathOf(large);
      const faults = await injectFaults(
        { pid: served.process.pid, path, atEnd: onTestFinished },
        'pread64:delay_enter=2000000',
      );
      let waiting = 8;
      const slow = Array.from({ length: waiting }, async (_none, i) => {
        const answer = await ask(served.port, 'GET', served.target(LARGE), [
          ['Range', `bytes=${i * 1000}-${i * MIB + 5000}`],
        ]);
        waiting -= 1;
        return answer;
      });
      await until(() => faults.injected > 0);
      for (const path of ['/healthz', '/readyz', served.target(SMALL)]) {
        expect([path, (await ask(served.port, 'GET', path)).status]).toEqual([path, 200]);
      }
      expect(waiting).toBeGreaterThan(0);
      await faults.end();
      for (const [i, answer] of (await Promise.all(slow)).entries()) {
        expect(answer.body.equals(large.subarray(i * 1000, i * MIB + 5001))).toBe(true);
      }
    });
  });
});
