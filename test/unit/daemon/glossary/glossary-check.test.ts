import { describe, expect, it } from 'vitest';
import { createGlossaryCheck } from '../../../../src/daemon/glossary/glossary-check.ts';
import { ThreadError } from '../../../../src/platform/threads/thread.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { settle } from '../../../support/task-engine.ts';

const HOUR_MS = 3_600_000;

describe('the doctor check of the Glossary', () => {
  it('checks the structure of the file every hour, and names damage until it is gone', async () => {
    const clock = new FakeClock();
    const results: (() => string | null)[] = [
      () => 'page 3 is broken',
      () => {
        throw new ThreadError('the thread crashed');
      },
      () => null,
    ];
    let checks = 0;
    const check = createGlossaryCheck({
      path: '/data/glossary.db',
      summary: async () => await Promise.resolve({ counts: { approved: 2 }, generation: 7, pairs: [] }),
      clock,
      checkStructure: async () => {
        checks += 1;
        return await Promise.resolve(results.shift()?.() ?? null);
      },
    });
    const run = async (): Promise<string> => {
      const { message } = await check.run(new AbortController().signal);
      await settle();
      return message;
    };
    const sound = 'sound, terms: 2 approved; generation 7';
    const damaged =
      'the Glossary /data/glossary.db is damaged: page 3 is broken; stop the daemon and restore it from a backup with "slipway restore --database glossary"';
    expect(await run()).toBe(sound);
    expect(checks).toBe(0);
    await clock.advance(HOUR_MS);
    expect([await run(), await run(), await run(), await run()]).toEqual([sound, damaged, damaged, sound]);
    expect(checks).toBe(3);
  });
});
