import { expect, test } from 'vitest';
import { createClosers } from '../../../src/daemon/closers.ts';
import { createSilentLogger } from '../../../src/platform/logging/logging.ts';

test('parts are closed newest first, also after one that fails', async () => {
  const closers = createClosers(createSilentLogger());
  const closed: string[] = [];
  closers.add('first', () => void closed.push('first'));
  closers.add('broken', () => {
    throw new Error('the disk is gone');
  });
  closers.add('last', () => void closed.push('last'));
  await expect(closers.closeAll()).rejects.toThrow('could not be stopped cleanly');
  expect(closed).toEqual(['last', 'first']);
});

test('a part that is added while the others close is closed before they count as closed', async () => {
  const closers = createClosers(createSilentLogger());
  const closed: string[] = [];
  closers.add('tasks', async () => {
    closers.add('lease', async () => {
      await Promise.resolve();
      closed.push('lease');
    });
    await Promise.resolve();
  });
  await closers.closeAll();
  expect(closed).toEqual(['lease']);
});

test('a part that is added after the others were closed is closed, and its failure does no harm', async () => {
  const closers = createClosers(createSilentLogger());
  const { signal } = new AbortController();
  await closers.closeAll(signal);
  const received = await new Promise((resolve) => {
    closers.add('database', resolve);
  });
  expect(received).toBe(signal);
  closers.add('lock', () => {
    throw new Error('the disk is gone');
  });
  await expect(closers.closeAll()).rejects.toThrow('could not be stopped cleanly');
});
