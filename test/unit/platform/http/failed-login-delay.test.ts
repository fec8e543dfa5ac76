import { expect, it } from 'vitest';
import { createFailedLoginDelay } from '../../../../src/platform/http/failed-login-delay.ts';

it('delays a bounded number of failed logins at the same time', async () => {
  const delay = createFailedLoginDelay({ delayMs: 40, maxWaiting: 2 });
  const ended: string[] = [];
  const start = async (name: string): Promise<void> => {
    await delay();
    ended.push(name);
  };
  const waiting = [start('first'), start('second')];
  await start('third');
  expect(ended).toEqual(['third']);
  await Promise.all(waiting);
  expect(ended).toEqual(['third', 'first', 'second']);
  const begun = performance.now();
  await start('fourth');
  expect(performance.now() - begun).toBeGreaterThan(30);
});
