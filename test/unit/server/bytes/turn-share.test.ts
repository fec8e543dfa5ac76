import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TurnShare } from '../../../../src/server/bytes/turn-share.ts';

/** Sends chunks like a response whose bytes are all in memory and whose client takes everything. */
async function send(share: TurnShare, name: string, chunks: number, sent: string[]): Promise<void> {
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    const turn = share.take(100);
    if (turn !== null) await turn;
    sent.push(name);
    await Promise.resolve();
  }
}

test('responses that could run without a pause leave the rest of each turn to others', async () => {
  const share = new TurnShare(250);
  const sent: string[] = [];
  const all = Promise.all(['a', 'b', 'c', 'd'].map(async (name) => await send(share, name, 5, sent)));
  const perTurn: number[] = [];
  while (sent.length < 20) {
    const before = sent.length;
    await nextTurn();
    perTurn.push(sent.length - before);
  }
  await all;
  // At most 250 bytes of one turn are taken by whole chunks of 100.
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(6);
  expect(perTurn.length).toBeGreaterThan(4);
});

test('responses that wait are resumed in order', async () => {
  const share = new TurnShare(100);
  const sent: string[] = [];
  await Promise.all(['a', 'b', 'c'].map(async (name) => await send(share, name, 2, sent)));
  expect(sent.join('')).toBe('abcabc');
});

test('a response larger than a turn is sent', async () => {
  const share = new TurnShare(10);
  const sent: string[] = [];
  await send(share, 'a', 3, sent);
  expect(sent).toEqual(['a', 'a', 'a']);
});
