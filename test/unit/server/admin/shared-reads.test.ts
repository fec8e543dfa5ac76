import { expect, test } from 'vitest';
import type { ForwardedRead } from '../../../../src/server/admin/report-forwarder.ts';
import { shareReads } from '../../../../src/server/admin/shared-reads.ts';
import type { BoundedAnswer } from '../../../../src/server/daemon-client/bounded-answer.ts';

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
function shared(): {
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
  });
  return { ask, forwarded, settle };
}

const nextTurn = async (): Promise<void> => {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
};

test('those who ask for the same in the same turn share one answer', async () => {
  const { ask, forwarded, settle } = shared();
  const answers = [ask(read()), ask(read({ requestId: 'request-0002' }))];
  expect(forwarded).toEqual([]);
  await nextTurn();
  expect(forwarded.map(({ requestId }) => requestId)).toEqual(['request-0001']);
  settle[0]?.resolve(ANSWER);
  expect(await Promise.all(answers)).toEqual([ANSWER, ANSWER]);
});

test('nobody gets an answer to a question that was asked before his', async () => {
  const { ask, forwarded, settle } = shared();
  const first = ask(read());
  await nextTurn();
  const second = ask(read());
  await nextTurn();
  expect(forwarded).toHaveLength(2);
  settle[0]?.resolve(ANSWER);
  const newer = { ...ANSWER, body: Buffer.of(2) };
  settle[1]?.resolve(newer);
  expect([await first, await second]).toEqual([ANSWER, newer]);
});

test('other reports and other queries are asked for on their own', async () => {
  const { ask, forwarded, settle } = shared();
  const answers = [
    ask(read()),
    ask(read({ query: new URLSearchParams({ limit: '1' }) })),
    ask(read({ report: 'release.list' })),
  ];
  await nextTurn();
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
  await nextTurn();
  settle[0]?.reject(new Error('no daemon'));
  await Promise.all(answers);
  const next = ask(read());
  await nextTurn();
  settle[1]?.resolve(ANSWER);
  await expect(next).resolves.toBe(ANSWER);
  expect(forwarded).toHaveLength(2);
});

test('who asks in the turn in which all others left is asked for, and only he', async () => {
  const { ask, forwarded, settle } = shared();
  const gone = new Error('gone');
  const client = new AbortController();
  const left = expect(ask(read({ signal: client.signal }))).rejects.toBe(gone);
  client.abort(gone);
  const stayed = ask(read({ requestId: 'request-0002' }));
  await left;
  await nextTurn();
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
  await nextTurn();
  clients[0]?.abort(gone);
  await answers[0];
  expect(forwarded[0]?.signal.aborted).toBe(false);
  clients[1]?.abort(gone);
  await answers[1];
  expect(forwarded[0]?.signal.aborted).toBe(true);
  await expect(ask(read({ signal: AbortSignal.abort(gone) }))).rejects.toBe(gone);
});
