import { describe, expect, it } from 'vitest';
import { createReadTranslations } from '../../../../src/daemon/translation/answer-translations.ts';
import { UNAVAILABLE } from '../../../../src/daemon/translation/work/work-holder.ts';
import { ThreadError } from '../../../../src/platform/threads/thread.ts';

const REQUEST = { releaseId: 'r1', generation: 1, units: [], withHistory: false, maxBytes: 1 };
const NEVER = new AbortController().signal;

type Answer = () => Promise<unknown>;

const read = async (answer: Answer, { signal = NEVER, waitMs = 60_000 } = {}): Promise<unknown> =>
  await createReadTranslations({ call: answer as never }, () => 'ja', waitMs)(REQUEST, signal);

describe('the translations of a page', () => {
  it('are those of the thread, with the source language', async () => {
    expect(await read(() => Promise.resolve({ items: [] }))).toEqual({ items: [], sourceLanguage: 'ja' });
  });

  it.each([
    ['the file', Object.assign(new Error('it is damaged'), { code: UNAVAILABLE }), 'it is damaged'],
    ['the thread', new ThreadError('it has ended'), 'it has ended'],
  ])('are unavailable with the failure of %s', async (_, error, message) => {
    expect(await read(() => Promise.reject(error))).toEqual({
      unavailable: `translation.db cannot be used: ${message}`,
    });
  });

  it('are unavailable while the thread is busy for too long', async () => {
    expect(await read(() => new Promise(() => undefined), { waitMs: 1 })).toEqual({
      unavailable: 'translation.db is busy, for example with the tasks of a release; try again',
    });
  });

  it('fail with an unexpected error, and with the reason of the caller', async () => {
    await expect(read(() => Promise.reject(new TypeError('a bug')))).rejects.toThrow('a bug');
    const gone = AbortSignal.abort(new Error('the caller has left'));
    await expect(read(() => Promise.reject(new ThreadError('x')), { signal: gone })).rejects.toThrow(
      'the caller has left',
    );
  });
});
