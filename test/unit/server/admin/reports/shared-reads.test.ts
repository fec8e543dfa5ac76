import { expect, onTestFinished, test, vi } from 'vitest';
import type { ForwardedRead } from '../../../../../src/server/admin/reports/report-forwarder.ts';
import { shareReads } from '../../../../../src/server/admin/reports/shared-reads.ts';
import type { BoundedAnswer } from '../../../../../src/platform/http/http-client.ts';

const ANSWER: BoundedAnswer = {
  status: 200,
  contentType: 'application/json',
  etag: null,
  body: Buffer.of(1),
};

const TIMEOUT_MS = 5_000;

function read(overrides: Partial<ForwardedRead> = {}): ForwardedRead {
  return {
    report: 'task.list',
    query: new URLSearchParams(),
    requestId: 'request-0001',
    via: '1.1 slipway',
    trace: {},
    signal: new AbortController().signal,
    ...overrides,
  };
}

/** Shares reads of a daemon that answers when the test says so, and cancels a read when its signal is aborted. */
function shared(): {
  readonly ask: (read: ForwardedRead) => Promise<BoundedAnswer>;
  readonly forwarded: ForwardedRead[];
  readonly settle: Array<PromiseWithResolvers<BoundedAnswer>>;
} {
  const forwarded: ForwardedRead[] = [];
  const settle: Array<PromiseWithResolvers<BoundedAnswer>> = [];
  const ask = shareReads({
    timeoutMs: TIMEOUT_MS,
    forward: async (each) => {
      forwarded.push(each);
      const answer = Promise.withResolvers<BoundedAnswer>();
      settle.push(answer);
      each.signal.addEventListener('abort', () => {
        answer.reject(each.signal.reason);
      });
      return await answer.promise;
    },
  });
  return { ask, forwarded, settle };
}

/** Waits until everything that needs no more input is done. */
const quiet = async (): Promise<void> => {
  for (let turn = 0; turn < 8; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
};

test('callers during a read share the next one, and no caller gets data older than its request', async () => {
  const { ask, forwarded, settle } = shared();
  const first = ask(read());
  const next: Array<Promise<BoundedAnswer>> = [];
  for (let caller = 0; caller < 5; caller += 1) {
    await quiet();
    next.push(ask(read({ requestId: `request-100${caller}` })));
  }
  await quiet();
  expect(forwarded.map(({ requestId }) => requestId)).toEqual(['request-0001']);
  settle[0]?.resolve(ANSWER);
  expect(await first).toBe(ANSWER);
  await quiet();
  expect(forwarded.map(({ requestId }) => requestId)).toEqual(['request-0001', 'request-1000']);
  // The second read is running now, so this caller must wait for a third one.
  const last = ask(read({ requestId: 'request-2000' }));
  const newer = { ...ANSWER, body: Buffer.of(2) };
  settle[1]?.resolve(newer);
  expect(new Set(await Promise.all(next))).toEqual(new Set([newer]));
  await quiet();
  expect(forwarded.map(({ requestId }) => requestId)).toEqual([
    'request-0001',
    'request-1000',
    'request-2000',
  ]);
  const newest = { ...ANSWER, body: Buffer.of(3) };
  settle[2]?.resolve(newest);
  expect(await last).toBe(newest);
});

test('a caller that arrives when nothing is running is forwarded without a wait', async () => {
  const { ask, forwarded, settle } = shared();
  for (const requestId of ['request-0001', 'request-0002']) {
    const answer = ask(read({ requestId }));
    expect(forwarded.at(-1)?.requestId).toBe(requestId);
    settle.at(-1)?.resolve(ANSWER);
    await answer;
    await quiet();
  }
});

test('other reports and other queries are requested separately', async () => {
  const { ask, forwarded, settle } = shared();
  const answers = [
    ask(read()),
    ask(read({ query: new URLSearchParams({ limit: '1' }) })),
    ask(read({ report: 'release.list' })),
  ];
  await quiet();
  expect(forwarded.map(({ report, query }) => `${report}?${query.toString()}`)).toEqual([
    'task.list?',
    'task.list?limit=1',
    'release.list?',
  ]);
  for (const each of settle) each.resolve(ANSWER);
  await Promise.all(answers);
});

test('all callers of a read get its failure, and the next caller starts a new read', async () => {
  const { ask, forwarded, settle } = shared();
  const running = ask(read());
  const answers = [ask(read()), ask(read())].map(async (answer) => {
    await expect(answer).rejects.toThrow('no daemon');
  });
  settle[0]?.resolve(ANSWER);
  await running;
  await quiet();
  settle[1]?.reject(new Error('no daemon'));
  await Promise.all(answers);
  await quiet();
  const next = ask(read());
  expect(forwarded).toHaveLength(3);
  settle[2]?.resolve(ANSWER);
  await expect(next).resolves.toBe(ANSWER);
});

test('a caller never shares a read that all others have left', async () => {
  const { ask, forwarded, settle } = shared();
  const gone = new Error('gone');
  const client = new AbortController();
  const left = [0, 1].map(async () => {
    await expect(ask(read({ signal: client.signal }))).rejects.toBe(gone);
  });
  client.abort(gone);
  const stayed = ask(read({ requestId: 'request-0002' }));
  await Promise.all(left);
  await quiet();
  // The second read had not begun when its callers left, so it is not forwarded.
  expect(forwarded.map(({ requestId }) => requestId)).toEqual(['request-0001', 'request-0002']);
  settle[1]?.resolve(ANSWER);
  await expect(stayed).resolves.toBe(ANSWER);
});

test('a caller that leaves does not affect the others; a read that all have left is cancelled', async () => {
  const { ask, forwarded, settle } = shared();
  const running = ask(read());
  const clients = [new AbortController(), new AbortController()];
  const gone = new Error('gone');
  const answers = clients.map(async ({ signal }) => {
    await expect(ask(read({ signal }))).rejects.toBe(gone);
  });
  settle[0]?.resolve(ANSWER);
  await running;
  await quiet();
  clients[0]?.abort(gone);
  await answers[0];
  expect(forwarded[1]?.signal.aborted).toBe(false);
  clients[1]?.abort(gone);
  await answers[1];
  expect(forwarded[1]?.signal.aborted).toBe(true);
  await expect(ask(read({ signal: AbortSignal.abort(gone) }))).rejects.toBe(gone);
  expect(forwarded).toHaveLength(2);
});

test('a caller that joins a read of a hanging daemon waits for one deadline only', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { ask } = shared();
  const outcomes: string[] = [];
  const asking = (name: string): void => {
    ask(read()).then(
      () => outcomes.push(name),
      (error: Error) => outcomes.push(`${name}: ${error.name}: ${error.message}`),
    );
  };
  asking('first');
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1_000);
  asking('second');
  await vi.advanceTimersByTimeAsync(1_000);
  await quiet();
  const reason = `DaemonUnavailable: the daemon gave no complete answer within ${TIMEOUT_MS} ms`;
  expect(outcomes).toEqual([`first: ${reason}`]);
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 1_000);
  await quiet();
  expect(outcomes).toEqual([`first: ${reason}`, `second: ${reason}`]);
});
