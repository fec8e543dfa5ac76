import { expect, test } from 'vitest';
import type { ForwardedRead } from '../../../../../src/server/admin/reports/report-forwarder.ts';
import { shareReads } from '../../../../../src/server/admin/reports/shared-reads.ts';
import type { BoundedAnswer } from '../../../../../src/server/daemon-client/bounded-answer.ts';
import { until } from '../../../../support/until.ts';

const ANSWER: BoundedAnswer = {
  status: 200,
  contentType: 'application/json',
  etag: null,
  body: Buffer.of(1),
};

function read(overrides: Partial<ForwardedRead> = {}): ForwardedRead {
  return {
    report: 'task.list',
    query: new URLSearchParams(),
    requestId: 'request-0001',
    via: '1.1 slipway',
    signal: new AbortController().signal,
    ...overrides,
  };
}

/** Shares reads of a daemon that answers when it is told to. */
function shared(maxGatherMs?: number): {
  readonly ask: (read: ForwardedRead) => Promise<BoundedAnswer>;
  readonly forwarded: ForwardedRead[];
  readonly settle: Array<PromiseWithResolvers<BoundedAnswer>>;
} {
  const forwarded: ForwardedRead[] = [];
  const settle: Array<PromiseWithResolvers<BoundedAnswer>> = [];
  const ask = shareReads(async (each) => {
    forwarded.push(each);
    const answer = Promise.withResolvers<BoundedAnswer>();
    settle.push(answer);
    return await answer.promise;
  }, maxGatherMs);
  return { ask, forwarded, settle };
}

/** Long enough that nobody else can be expected. */
const quiet = async (): Promise<void> => {
  for (let turn = 0; turn < 8; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
};

test('those who ask for the same one after the other share one answer', async () => {
  const { ask, forwarded, settle } = shared();
  const answers = [ask(read())];
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    answers.push(ask(read({ requestId: `request-100${turn}` })));
  }
  expect(forwarded).toEqual([]);
  await quiet();
  expect(forwarded.map(({ requestId }) => requestId)).toEqual(['request-0001']);
  settle[0]?.resolve(ANSWER);
  expect(new Set(await Promise.all(answers))).toEqual(new Set([ANSWER]));
});

test('nobody gets an answer to a question that was asked before his', async () => {
  const { ask, forwarded, settle } = shared();
  const first = ask(read());
  await quiet();
  const next = [ask(read({ requestId: 'request-0002' })), ask(read({ requestId: 'request-0003' }))];
  await quiet();
  expect(forwarded).toHaveLength(1);
  settle[0]?.resolve(ANSWER);
  expect(await first).toBe(ANSWER);
  await quiet();
  expect(forwarded.map(({ requestId }) => requestId)).toEqual(['request-0001', 'request-0002']);
  const newer = { ...ANSWER, body: Buffer.of(2) };
  settle[1]?.resolve(newer);
  expect(await Promise.all(next)).toEqual([newer, newer]);
});

test('those who were answered together are waited for, but not for long', async () => {
  const { ask, forwarded, settle } = shared();
  const answerAll = async (): Promise<void> => {
    await quiet();
    settle.at(-1)?.resolve(ANSWER);
  };
  const first = [ask(read()), ask(read())];
  await answerAll();
  await Promise.all(first);
  const again = [ask(read())];
  await quiet();
  expect(forwarded).toHaveLength(1);
  again.push(ask(read()));
  await answerAll();
  await Promise.all(again);
  expect(forwarded).toHaveLength(2);
  const alone = ask(read());
  await quiet();
  expect(forwarded).toHaveLength(2);
  await until(() => forwarded.length === 3);
  await answerAll();
  await alone;
  const next = ask(read());
  await answerAll();
  await next;
  expect(forwarded).toHaveLength(4);
});

test('a daemon that does not answer is asked again for those who came later', async () => {
  const { ask, forwarded, settle } = shared(1);
  const first = ask(read());
  await until(() => forwarded.length === 1);
  const second = ask(read());
  await until(() => forwarded.length === 2);
  settle[1]?.resolve(ANSWER);
  expect(await second).toBe(ANSWER);
  settle[0]?.resolve(ANSWER);
  expect(await first).toBe(ANSWER);
});

test('readers who come without a pause keep nobody waiting', async () => {
  const { ask, forwarded, settle } = shared(20);
  const answers: Array<Promise<unknown>> = [];
  while (forwarded.length === 0) {
    answers.push(ask(read()));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  await quiet();
  for (const each of settle) each.resolve(ANSWER);
  await quiet();
  for (const each of settle) each.resolve(ANSWER);
  await Promise.all(answers);
});

test('other reports and other queries are asked for on their own', async () => {
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

test('a failure is told to all, and who asks next is asked for again', async () => {
  const { ask, forwarded, settle } = shared();
  const answers = [ask(read()), ask(read())].map(async (answer) => {
    await expect(answer).rejects.toThrow('no daemon');
  });
  await quiet();
  settle[0]?.reject(new Error('no daemon'));
  await Promise.all(answers);
  const next = ask(read());
  await until(() => forwarded.length === 2);
  settle[1]?.resolve(ANSWER);
  await expect(next).resolves.toBe(ANSWER);
  expect(forwarded).toHaveLength(2);
});

test('who asks when all others have left is asked for, and only he', async () => {
  const { ask, forwarded, settle } = shared();
  const gone = new Error('gone');
  const client = new AbortController();
  const left = expect(ask(read({ signal: client.signal }))).rejects.toBe(gone);
  client.abort(gone);
  const stayed = ask(read({ requestId: 'request-0002' }));
  await left;
  await quiet();
  expect(forwarded.map(({ requestId }) => requestId)).toEqual(['request-0002']);
  settle[0]?.resolve(ANSWER);
  await expect(stayed).resolves.toBe(ANSWER);
});

test('who goes away takes nobody along; when all have gone the daemon is let go', async () => {
  const { ask, forwarded } = shared();
  const clients = [new AbortController(), new AbortController()];
  const gone = new Error('gone');
  const answers = clients.map(async ({ signal }) => {
    await expect(ask(read({ signal }))).rejects.toBe(gone);
  });
  await quiet();
  clients[0]?.abort(gone);
  await answers[0];
  expect(forwarded[0]?.signal.aborted).toBe(false);
  clients[1]?.abort(gone);
  await answers[1];
  expect(forwarded[0]?.signal.aborted).toBe(true);
  await expect(ask(read({ signal: AbortSignal.abort(gone) }))).rejects.toBe(gone);
});
